use super::*;

#[test]
fn unique_ids_follow_the_protocol() {
    let path = "ab^-aqEH.-t@S}K{vb[*k^";
    for (storage, offset, id) in [
        ("u", Some(4), "uab^-aqEH.-t@S}K{vb[*k^@4"),
        ("u", Some(0), "uab^-aqEH.-t@S}K{vb[*k^@0"),
        ("u", None, "uab^-aqEH.-t@S}K{vb[*k^"),
        ("i", None, "iab^-aqEH.-t@S}K{vb[*k^"),
    ] {
        let descriptor = DeletionVectorDescriptor::new(storage, path, offset, 40, 6).unwrap();
        assert_eq!(descriptor.unique_id(), id);
        assert_eq!(descriptor.to_string(), id);
    }
}

#[test]
fn rejects_invalid_fields() {
    let uuid = "^-aqEH.-t@S}K{vb[*k^";
    for (storage, path, offset, size, cardinality, code) in [
        ("r", uuid, None, 1, 1, "dv.storage_type"),
        ("", uuid, None, 1, 1, "dv.storage_type"),
        ("U", uuid, None, 1, 1, "dv.storage_type"),
        ("u", "^-aqEH.-t@S}K{vb[*k", None, 1, 1, "dv.path"),
        ("p", "", None, 1, 1, "dv.path"),
        ("u", uuid, Some(-1), 1, 1, "dv.offset"),
        ("u", uuid, None, -1, 1, "dv.size"),
        ("u", uuid, None, 1, -1, "dv.cardinality"),
    ] {
        let result = DeletionVectorDescriptor::new(storage, path, offset, size, cardinality);
        assert_eq!(result.unwrap_err().code(), code, "{storage} {path}");
    }
}

#[test]
fn json_has_the_fields_of_the_protocol_and_is_validated() {
    let json = r#"{"storageType":"p","pathOrInlineDv":"s3://b/x.bin","offset":4,"sizeInBytes":40,"cardinality":6}"#;
    let descriptor: DeletionVectorDescriptor = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&descriptor).unwrap(), json);
    assert_eq!((descriptor.position(), descriptor.size_in_bytes()), (4, 40));
    let invalid = json.replace("\"p\"", "\"x\"");
    assert!(serde_json::from_str::<DeletionVectorDescriptor>(&invalid).is_err());
}

#[test]
fn only_an_inline_vector_without_rows_is_empty() {
    let empty = DeletionVectorDescriptor::new("i", "", None, 0, 0).unwrap();
    assert!(empty.is_empty());
    for (storage, path, size, cardinality) in [
        ("i", "", 0, 1),
        ("i", "00000", 4, 0),
        ("u", "^-aqEH.-t@S}K{vb[*k^", 0, 0),
        ("p", "s3://b/x.bin", 0, 0),
    ] {
        let vector = DeletionVectorDescriptor::new(storage, path, None, size, cardinality).unwrap();
        assert!(!vector.is_empty(), "{vector}");
    }
}
