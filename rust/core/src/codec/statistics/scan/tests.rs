use super::*;
use proptest::prelude::*;

/// Returns `true` if the text is a single value.
fn is_value(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    skip(&mut cursor).is_some() && cursor.end().is_ok()
}

fn serde_accepts(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

#[test]
fn accepts_valid_json() {
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
        assert!(serde_accepts(text), "{text}");
        assert!(is_value(text), "{text}");
    }
}

#[test]
fn refuses_invalid_json() {
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
        assert!(!serde_accepts(text), "{text}");
        assert!(!is_value(text), "{text}");
    }
}

#[test]
fn accepts_nan_and_infinities() {
    for word in ["NaN", "Infinity", "-Infinity"] {
        assert_eq!(scalar(&mut Cursor::new(word)), Some(Scalar::Number(word)));
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let depth = 1_000_000;
    assert!(is_value(&("[".repeat(depth) + &"]".repeat(depth))));
    assert!(!is_value(&"{\"a\":".repeat(depth)));
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
    for lone_surrogate in [
        r#""\ud83d""#,
        r#""\ud83dx""#,
        r#""\ude80""#,
        r#""\ud83d\u0041""#,
    ] {
        assert_eq!(resolve(lone_surrogate), None, "{lone_surrogate}");
    }
}

proptest! {
    #[test]
    fn scalars_match_serde(text in r#"("a\\?"|[0-9eE.+\-]{1,5}|true|null|"\\u00[0-9a-g]{2}")"#) {
        prop_assert_eq!(is_value(&text), serde_accepts(&text));
    }

    #[test]
    fn skips_exactly_one_value(
        text in r#"([\[\]{},: ]|"[a{\[}]{0,70}(\\["\\])*"|[0-9]|true){0,40}"#,
        tail in "[ ,}]",
    ) {
        if serde_accepts(&text) {
            let longer = format!("{text}{tail}1");
            let mut cursor = Cursor::new(&longer);
            prop_assert_eq!(skip(&mut cursor), Some(()));
            let rest = &longer[cursor.offset()..];
            let expected = format!("{tail}1");
            prop_assert_eq!(rest.trim_start(), expected.trim_start());
        }
    }

    #[test]
    fn strings_round_trip(text in any::<String>()) {
        let json = serde_json::to_string(&text).unwrap();
        let Some(Scalar::Text(inside)) = scalar(&mut Cursor::new(&json)) else {
            panic!("no string: {json}");
        };
        let mut scratch = String::new();
        prop_assert_eq!(inside.strict(&mut scratch), Some(text.as_str()));
    }
}
