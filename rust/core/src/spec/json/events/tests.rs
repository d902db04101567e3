use super::*;
use proptest::prelude::*;

fn accepts(text: &str) -> bool {
    let mut reader = JsonReader::new(text, MAX_DEPTH);
    loop {
        match reader.next() {
            Ok(Event::End) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

#[test]
fn accepts_the_same_texts_as_serde() {
    for text in [
        "1",
        " -0.5e+10 ",
        "01",
        "1.",
        ".5",
        "-",
        "1e",
        "1e5x",
        "+1",
        "true",
        "tru",
        "nullx",
        "\"a\"",
        "\"a",
        "\"\\u00e9\\n\"",
        "\"\\x\"",
        "\"\u{1}\"",
        "[]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":[{}, [true , null]]}",
        "[}",
        "{]",
        "",
        "  ",
        "[1]]",
        "{\"a\":1}{\"a\":2}",
        "[\"\\ud83d\\ude00\"]",
        "[\"\\ud83d\"]",
        "\u{feff}1",
    ] {
        let serde = serde_json::from_str::<serde_json::Value>(text).is_ok();
        assert_eq!(accepts(text), serde, "{text:?}");
    }
}

#[test]
fn every_proper_prefix_is_an_error() {
    let text = r#"{"a":[1,"x\"y",{"b":null}],"c":{"d":false}}"#;
    assert!(accepts(text));
    for end in 0..text.len() {
        assert!(!accepts(&text[..end]), "{end}");
    }
}

#[test]
fn deep_nesting_is_an_error_at_its_offset() {
    let text = "[".repeat(1_000_000);
    let mut reader = JsonReader::new(&text, 500);
    let error = loop {
        if let Err(error) = reader.next() {
            break error;
        }
    };
    assert_eq!(error.offset, 500);
    assert_eq!(error.message, "brackets are nested too deep");
}

#[test]
fn for_each_entry_returns_the_text_of_values() {
    let mut seen = Vec::new();
    let fail = |error: JsonError| error.corrupt("x", "y");
    let text = r#" {"a": {"b":[1, 2]} , "n":null, "k\n":"v\"", "z":-1.50} "#;
    for_each_entry(text, fail, |key, value| {
        seen.push((key.to_owned(), value));
        Ok(())
    })
    .unwrap();
    let expected = [
        ("a", r#"{"b":[1, 2]}"#),
        ("k\n", r#""v\"""#),
        ("z", "-1.50"),
    ]
    .map(|(k, v)| (k.to_owned(), v));
    assert_eq!(seen, expected);
    assert!(for_each_entry("[1]", fail, |_, _| Ok(())).is_err());
    assert!(for_each_entry("{} x", fail, |_, _| Ok(())).is_err());
    assert!(for_each_entry(r#"{"a":}"#, fail, |_, _| Ok(())).is_err());
    assert!(for_each_entry(r#"{"a":"#, fail, |_, _| Ok(())).is_err());
}

proptest! {
    #[test]
    fn accepts_the_same_random_texts_as_serde(text in r#"[\[\]{}",:0-9eE.+\-a-z\\ ]{0,24}"#) {
        prop_assert_eq!(accepts(&text), serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
}
