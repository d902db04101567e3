use super::*;
use proptest::prelude::*;

/// Returns `true` if a text is a single value.
fn passes(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    skip(&mut cursor).is_some() && cursor.end().is_ok()
}

fn serde_says(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

#[test]
fn takes_what_json_allows() {
    for text in [
        "{}",
        " [ ] ",
        "0",
        "-0.5e+10",
        r#""""#,
        r#"{"a":[1,{"b":null}],"c":"\u00e9\"\\"}"#,
        "[[[]],{},true]",
        r#""abcdefghijklmnop\"q""#,
        r#"{"a":"}]\\"}"#,
    ] {
        assert!(serde_says(text), "{text}");
        assert!(passes(text), "{text}");
    }
}

#[test]
fn refuses_what_json_does_not() {
    for text in [
        "",
        "{",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "tru",
        "\"\n\"",
        r#""\x""#,
        r#""\u12g4""#,
        "[1}]",
        "1 1",
        "\"abc",
        r#"{"a":"}"#,
        r#"["\"]"#,
        "nan",
        "-NaN",
    ] {
        assert!(!serde_says(text), "{text}");
        assert!(!passes(text), "{text}");
    }
}

#[test]
fn passes_the_words_for_no_number() {
    for word in ["NaN", "Infinity", "-Infinity"] {
        assert_eq!(scalar(&mut Cursor::new(word)), Some(Scalar::Number(word)));
    }
}

#[test]
fn depth_costs_no_stack() {
    let depth = 1_000_000;
    assert!(passes(&("[".repeat(depth) + &"]".repeat(depth))));
    assert!(!passes(&"{\"a\":".repeat(depth)));
}

#[test]
fn resolves_escapes() {
    let resolve = |text: &str| {
        let Some(Scalar::Text(inside)) = scalar(&mut Cursor::new(text)) else {
            panic!("no string: {text}");
        };
        inside.strict(&mut String::new()).map(str::to_owned)
    };
    assert_eq!(
        resolve(r#""a\/\b\f\n\r\t\u0041\\\"z""#).unwrap(),
        "a/\u{8}\u{c}\n\r\tA\\\"z"
    );
    assert_eq!(resolve(r#""\ud83d\uDE80!""#).unwrap(), "🚀!");
    for half in [
        r#""\ud83d""#,
        r#""\ud83dx""#,
        r#""\ude80""#,
        r#""\ud83d\u0041""#,
    ] {
        assert_eq!(resolve(half), None, "{half}");
    }
}

proptest! {
    #[test]
    fn scalars_as_serde(text in r#"("a\\?"|[0-9eE.+\-]{1,5}|true|null|"\\u00[0-9a-g]{2}")"#) {
        prop_assert_eq!(passes(&text), serde_says(&text));
    }

    #[test]
    fn skips_exactly_one_value(
        text in r#"([\[\]{},: ]|"[a{\[}]{0,70}(\\["\\])*"|[0-9]|true){0,40}"#,
        tail in "[ ,}]",
    ) {
        if serde_says(&text) {
            let longer = format!("{text}{tail}1");
            let mut cursor = Cursor::new(&longer);
            prop_assert_eq!(skip(&mut cursor), Some(()));
            let rest = &longer[cursor.offset()..];
            let expected = format!("{tail}1");
            prop_assert_eq!(rest.trim_start(), expected.trim_start());
        }
    }

    #[test]
    fn strings_survive(text in any::<String>()) {
        let json = serde_json::to_string(&text).unwrap();
        let Some(Scalar::Text(inside)) = scalar(&mut Cursor::new(&json)) else {
            panic!("no string: {json}");
        };
        let mut scratch = String::new();
        prop_assert_eq!(inside.strict(&mut scratch), Some(text.as_str()));
    }
}
