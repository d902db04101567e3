use super::*;

#[test]
fn round_trips_offsets_of_the_reference() {
    // the example in delta-spark's documentation of its offsets
    let json = r#"{"sourceVersion":1,"reservoirId":"a-b","reservoirVersion":7,"index":3,"isStartingVersion":false}"#;
    let offset = Offset::from_json(json).unwrap();
    assert_eq!(
        (offset.version, offset.index, offset.initial),
        (7, 3, false)
    );
    assert_eq!(offset.to_json(), json);
    let base = json.replace("\"index\":3", "\"index\":-1");
    let offset = Offset::from_json(&base).unwrap();
    assert_eq!(offset.index, BASE);
    assert_eq!(offset.to_json(), base);
}

#[test]
fn rejects_invalid_offsets() {
    let json = r#"{"sourceVersion":1,"reservoirId":"a","reservoirVersion":7,"index":3,"isStartingVersion":false}"#;
    for (from, to) in [
        ("\"sourceVersion\":1", "\"sourceVersion\":2"),
        ("\"sourceVersion\":1", "\"sourceVersion\":4"),
        ("\"sourceVersion\":1,", ""),
        ("\"index\":3", "\"index\":-20"),
        ("\"index\":3", "\"index\":-2"),
        ("Version\":7", "Version\":-7"),
        ("\"a\"", "1"),
        ("false", "null"),
        ("{", "["),
    ] {
        let error = Offset::from_json(&json.replace(from, to)).unwrap_err();
        assert_eq!(error.code(), "follow.offset", "{to}");
    }
}
