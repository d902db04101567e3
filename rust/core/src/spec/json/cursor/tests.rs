use proptest::prelude::*;

use super::*;

fn decoded(text: &str) -> String {
    Cursor::new(text).string().unwrap().decode().into_owned()
}

#[test]
fn reads_and_skips_values_of_an_object() {
    let mut cursor =
        Cursor::new(r#" {"a": 1, "b":{"x":[1,2,{"y":null}]}, "c":"t\"é\ud83d\ude80", "d":true} "#);
    cursor.begin_object().unwrap();
    let mut first = true;
    let mut seen = Vec::new();
    while let Some(key) = cursor.next_key(&mut first).unwrap() {
        let key = key.decode().into_owned();
        let value = match key.as_str() {
            "a" => cursor.i64().unwrap().to_string(),
            "c" => cursor.string().unwrap().decode().into_owned(),
            _ => cursor.skip().unwrap().to_owned(),
        };
        seen.push((key, value));
    }
    cursor.end().unwrap();
    let pairs: Vec<_> = seen.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(
        pairs,
        [
            ("a", "1"),
            ("b", r#"{"x":[1,2,{"y":null}]}"#),
            ("c", "t\"é🚀"),
            ("d", "true")
        ]
    );
}

#[test]
fn lone_surrogates_are_replaced() {
    assert_eq!(decoded(r#""a\ud83dz""#), "a\u{FFFD}z");
    assert_eq!(decoded(r#""\ud83d\u0041""#), "\u{FFFD}A");
    assert_eq!(decoded(r#""\udc00""#), "\u{FFFD}");
}

#[test]
fn whole_numbers_may_be_written_as_doubles() {
    assert_eq!(Cursor::new("7.0").i64(), Ok(7));
    assert_eq!(Cursor::new("-9223372036854775808").i64(), Ok(i64::MIN));
    assert!(Cursor::new("7.5").i64().is_err());
    assert!(Cursor::new("99999999999999999999").i64().is_err());
}

#[test]
fn depth_is_bounded() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Cursor::new(&deep(1_000)).skip().is_ok());
    assert!(Cursor::new(&deep(1_001)).skip().is_err());
    assert!(Cursor::new(&"{\"a\":".repeat(10_000)).skip().is_err());
}

#[test]
fn every_proper_prefix_is_an_error() {
    let text = r#"{"a":[1,{"b":"c\n\u00e9"},true,null],"d":-1.5e3}"#;
    assert_eq!(Cursor::new(text).skip(), Ok(text));
    for end in 0..text.len() {
        if let Some(prefix) = text.get(..end) {
            assert!(Cursor::new(prefix).skip().is_err(), "{prefix}");
        }
    }
}

proptest! {
    #[test]
    fn decodes_encoded_strings(text in any::<String>()) {
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(decoded(&json), text);
    }

    #[test]
    fn accepts_what_serde_json_accepts(text in r#"[\[\]{}:,"\\a0-9tnu. -]{0,24}"#) {
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            let mut cursor = Cursor::new(&text);
            prop_assert!(cursor.skip().is_ok() && cursor.end().is_ok());
        }
    }
}
