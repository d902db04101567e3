use super::*;

#[test]
fn strings_of_maps_and_descriptors_count_as_text() {
    let json = r#"{"path":"pp","tags":{"kk":"vvv"},
        "deletionVector":{"storageType":"u","pathOrInlineDv":"dddd"}}"#;
    let raw = RawFileAction::read(&mut Cursor::new(json)).unwrap();
    let mut builder = FileActionBuilder::new(&[F::Path, F::Tags, F::DeletionVector]);
    builder.append(&raw).unwrap();
    assert_eq!(builder.text_bytes(), 2 + 5 + 5);
    builder.finish().unwrap();
    assert_eq!(builder.text_bytes(), 0);
}
