use super::*;

fn schema(json: &str) -> StructType {
    StructType::parse(json).unwrap()
}

fn string_and_integer() -> StructType {
    schema(
        r#"{"type":"struct","fields":[
            {"name":"p","type":"string","nullable":true,"metadata":{}},
            {"name":"q","type":"integer","nullable":true,"metadata":{}}]}"#,
    )
}

#[test]
fn names_of_directories_are_unescaped() {
    let values =
        partition_values("p=a b%25c%2Fd%3De/q=01/x.parquet", &string_and_integer()).unwrap();
    let expected = [("p", "a b%c/d=e"), ("q", "1")];
    let expected = expected.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    assert_eq!(values, StringMap::from(expected));
    let null = partition_values(
        "sub/P=__HIVE_DEFAULT_PARTITION__/Q=2/x",
        &string_and_integer(),
    )
    .unwrap();
    assert_eq!(null.get("p"), Some(&None));
}

#[test]
fn rejects_directories_that_do_not_match_the_schema() {
    for path in [
        "x.parquet",
        "p=1/x.parquet",
        "q=1/p=1/x.parquet",
        "p=1/r=1/x.parquet",
        "p=1/q=1/r=1/x.parquet",
        "p=1/q=one/x.parquet",
        "p=1/q=/x.parquet",
        "p=1/between/q=1/x.parquet",
    ] {
        let error = partition_values(path, &string_and_integer()).unwrap_err();
        assert_eq!(
            (error.code(), error.path()),
            ("convert.partition", Some(path))
        );
    }
}

#[test]
fn the_error_quotes_an_invalid_value() {
    let error = partition_values("p=1/q=one/x.parquet", &string_and_integer()).unwrap_err();
    let message = "the value \"one\" of the partition column \"q\" is not of the type Int32";
    assert!(error.message().starts_with(message), "{error}");
}
