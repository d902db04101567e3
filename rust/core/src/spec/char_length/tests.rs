use super::*;

#[test]
fn parses_declared_lengths() {
    for (declared, expected) in [
        ("char(4)", Some(4)),
        (" CHAR ( 12 ) ", Some(12)),
        ("varchar(4)", None),
        ("char", None),
        ("char(5000000000)", Some(5_000_000_000)),
        ("array<char(3)>", None),
    ] {
        assert_eq!(declared_length(declared, "char"), expected, "{declared}");
    }
}

#[test]
fn pads_to_the_declared_length() {
    for (text, expected, compared) in [
        ("ab", "ab  ", "ab  "),
        ("äbcd", "äbcd", "äbcd"),
        ("ab      ", "ab      ", "ab  "),
        ("abcde ", "abcde ", "abcde"),
        ("", "    ", "    "),
    ] {
        assert_eq!(padded(text, 4), expected);
        assert_eq!(trim_and_pad(text, 4), compared);
    }
}
