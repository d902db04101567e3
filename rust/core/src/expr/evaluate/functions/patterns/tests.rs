use super::*;

/// Expected results are those of `java.util.regex.Pattern.compile(...).matcher(...).find()`.
#[test]
fn patterns_match_as_in_java() {
    for (pattern, text, expected) in [
        ("b", "abc", true),
        ("^b", "abc", false),
        ("c$", "abc", true),
        ("c$", "abc\n", true),
        ("c$", "abc\r\n", true),
        ("c$", "abc\n\n", false),
        (r"c\z", "abc\n", false),
        ("a.c", "a\nc", false),
        ("a.c", "a\u{2028}c", false),
        ("(?s)a.c", "a\nc", true),
        (r"^\d+$", "123", true),
        (r"^\d+$", "١٢٣", false),
        (r"\w", "ä", false),
        (r"\W", "ä", true),
        (r"\s", "\u{a0}", false),
        (r"\S", "\u{a0}", true),
        ("(?i)ABC", "xabcx", true),
        ("(?i)Ä", "ä", false),
        ("(?i)foo|bar", "BAR", true),
        ("(?is)a.b|c", "A\nB", true),
        ("(?i)[a-c]+$", "xABC", true),
        ("(?i)[^a-c]", "ABC", false),
        ("[^a-c]", "ABC", true),
        ("a{2,3}", "xaax", true),
        ("a{3}", "xaax", false),
        ("(a|b)+?c", "ababc", true),
        ("(?:x|y$)", "ay", true),
        ("(?<name>x)", "x", true),
        (r"\.", "a", false),
        (r"\x41\u0042", "AB", true),
        (r"[\d\-_]", "-", true),
        ("", "", true),
        ("ü+", "müüd", true),
    ] {
        let regex = java_regex(pattern).unwrap();
        assert_eq!(regex.is_match(text), expected, "{pattern} in {text:?}");
    }
}

#[test]
fn rejects_constructs_without_an_equivalent() {
    for (pattern, expected) in [
        ("a(?=b)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("a++", "possessive"),
        ("a*+", "possessive"),
        (r"\bword", "boundaries"),
        (r"\p{Lu}", r"\p"),
        ("[a-z&&[^b]]", "&&"),
        ("[a[bc]]", "a class in a class"),
        ("[[:alpha:]]", "class"),
        ("(?m)^a", "flags"),
        ("a(?i)b", "flags"),
        ("(?i:b)", "flags"),
        ("(?P<name>x)", "P"),
        ("a$b", "$ before"),
        (r"[\D]", r"\D"),
        (r"\v", r"\v"),
        ("a{,3}", "repetition"),
        ("a{ 1 }", "white space"),
        ("a{\t1}", "white space"),
        ("(", "unclosed"),
    ] {
        let reason = java_regex(pattern).unwrap_err();
        assert!(reason.contains(expected), "{pattern}: {reason}");
    }
}
