use super::*;
use proptest::prelude::*;

#[test]
fn decodes_literals_as_spark() {
    for (sql, expected) in [
        (r"'a\tb'", "a\tb"),
        (r"'it\'s'", "it's"),
        ("'it''s'", "it's"),
        (r#""it's \"so\"""#, "it's \"so\""),
        (r#""a""b""#, "a\"b"),
        (r"'C:\\x\y'", r"C:\xy"),
        (r"'50\% \_'", r"50\% \_"),
        (r"'\u0041\101\U0001F600\uD83D\uDE00\u12'", "AA😀😀u12"),
        (r"'\uD83D!'", "?!"),
        (r"'\0\Z\b\n\r\18'", "\0\u{1a}\u{8}\n\r18"),
        (r"r'\d+\t'", r"\d+\t"),
        (r#"R"a'b\""#, r"a'b\"),
        ("'one'  'two' /* and */ \"three\"", "onetwothree"),
        ("'one'  'two' \"three\"", "onetwothree"),
        (r"r'\a' '\n'", "\\a\n"),
        (r"r'a''b'", "ab"),
    ] {
        let result = canonical(sql);
        let token = result
            .strip_prefix('\'')
            .unwrap()
            .strip_suffix('\'')
            .unwrap();
        assert_eq!(value(&token.replace("''", "'")), expected, "{sql}");
        assert_eq!(canonical(&result), result, "{sql}");
    }
}

#[test]
fn keeps_comments_names_and_bytes() {
    for sql in [
        "a > 1 -- it's 'so\n AND b",
        "a /* it's \"so\" */ = 1",
        "a /* x /* y */ it's */ = 1",
        "a /*/ it's */ = 1",
        "`it's` = \u{1F600} \\ x",
        "X'00ff' = b",
        "car = 1",
    ] {
        assert_eq!(canonical(sql), sql);
    }
    assert_eq!(canonical("X'00' 'a'"), "X'00' 'a'");
    assert_eq!(canonical("DATE'2026-01-01'"), "DATE'2026-01-01'");
}

#[test]
fn an_unterminated_literal_stays_unterminated() {
    assert_eq!(canonical(r"'a\tb' = \'c"), "'a\tb' = \\'");
}

proptest! {
    #[test]
    fn the_canonical_form_is_stable(sql in r#"[a'"\\r `/*-]{0,12}"#) {
        let mut written = String::new();
        if rewrite(&sql, &mut written, &mut |_, _| ()).is_some() {
            prop_assert_eq!(canonical(&written).into_owned(), written);
        }
    }
}

#[test]
fn double_quoted_ignores_other_quotes_and_comments() {
    let sql = r#""Name" <> 'a "b"' AND `c "d"` = "it""s" -- "e"
"#;
    assert_eq!(double_quoted(sql), ["Name", "it\"s"]);
}
