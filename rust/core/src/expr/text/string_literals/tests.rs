use super::*;
use proptest::prelude::*;

#[test]
fn texts_as_spark_reads_them() {
    for (sql, expected) in [
        (r"'a\tb' = \'", None), // does not end
        (r"'a\tb'", Some("a\tb")),
        (r"'it\'s'", Some("it's")),
        ("'it''s'", Some("it's")),
        (r#""it's \"so\"""#, Some("it's \"so\"")),
        (r#""a""b""#, Some("a\"b")),
        (r"'C:\\x\y'", Some(r"C:\xy")),
        (r"'50\% \_'", Some(r"50\% \_")),
        (r"'\u0041\101\U0001F600\uD83D\uDE00\u12'", Some("AA😀😀u12")),
        (r"'\uD83D!'", Some("?!")),
        (r"'\0\Z\b\n\r\18'", Some("\0\u{1a}\u{8}\n\r18")),
        (r"r'\d+\t'", Some(r"\d+\t")),
        (r#"R"a'b\""#, Some(r"a'b\")),
        ("'one'  'two' /* and */ \"three\"", None),
        ("'one'  'two' \"three\"", Some("onetwothree")),
        (r"r'\a' '\n'", Some("\\a\n")),
        (r"r'a''b'", Some("ab")),
    ] {
        let result = canonical(sql).into_owned();
        let inside = result
            .strip_prefix('\'')
            .and_then(|result| result.strip_suffix('\''));
        if let Some(expected) = expected {
            let inside = inside.unwrap().replace("''", "'");
            assert_eq!(value(&inside), expected, "{sql}");
        }
        assert_eq!(canonical(&result), result, "{sql}");
    }
}

#[test]
fn what_is_no_text_stays() {
    for sql in [
        "a > 1 -- it's 'so\n AND b",
        "a /* it's \"so\" */ = 1",
        "`it's` = \u{1F600} \\ x",
        "X'00ff' = b",
        "car = 1",
    ] {
        assert_eq!(canonical(sql), sql);
    }
    assert_eq!(canonical("X'00' 'a'"), "X'00' 'a'");
    assert_eq!(canonical("DATE'2026-01-01'"), "DATE'2026-01-01'");
}

proptest! {
    #[test]
    fn written_once_it_stays(sql in r#"[a'"\\r `/*-]{0,12}"#) {
        let mut once = String::new();
        if rewritten(&sql, &mut once, &mut |_, _| ()).is_some() {
            prop_assert_eq!(canonical(&once).into_owned(), once);
        }
    }
}

#[test]
fn texts_in_double_quotes() {
    let sql = r#""Name" <> 'a "b"' AND `c "d"` = "it""s" -- "e"
"#;
    assert_eq!(double_quoted(sql), ["Name", "it\"s"]);
}
