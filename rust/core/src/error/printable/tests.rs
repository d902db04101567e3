use super::*;

#[test]
fn control_and_invisible_characters_are_escaped() {
    for (text, safe) in [
        ("größe, 列, 👍🏽", "größe, 列, 👍🏽"),
        ("\u{1b}]52;c;eA==\u{7}", "\\x1b]52;c;eA==\\x07"),
        ("\u{9b}31m\u{85}\u{7f}\0", "\\x9b31m\\x85\\x7f\\x00"),
        (
            "gpj.\u{202e}exe\u{2066}\u{200b}",
            "gpj.\\u202eexe\\u2066\\u200b",
        ),
        ("a\r\nINFO: b\tc\u{2028}d", "a\\r\\nINFO: b\\tc\\u2028d"),
        ("quoted\n  a = \n      ^", "quoted\n  a = \n      ^"),
        ("a\u{200d}b\u{200c}c", "a\u{200d}b\u{200c}c"),
    ] {
        assert_eq!(printable(text), safe);
    }
}
