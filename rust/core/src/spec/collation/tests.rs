use super::*;

/// The forms of the protocol's request for comments on collated strings.
#[test]
fn binary_collations_are_ignored() {
    let collation_of = |text: &str| non_binary(&serde_json::from_str(text).unwrap());
    let lower = Some("spark.UTF8_LCASE".to_owned());
    assert_eq!(collation_of(r#"{"s":"spark.UTF8_LCASE"}"#), lower);
    assert_eq!(collation_of(r#"{"s.element":"spark.UTF8_LCASE"}"#), lower);
    assert_eq!(collation_of(r#"{"s":"spark.UTF8_BINARY"}"#), None);
    assert_eq!(collation_of(r#"{"s":"utf8_binary"}"#), None);
    assert_eq!(collation_of("{}"), None);
    assert_eq!(collation_of(r#""ICU.de""#), None);
}
