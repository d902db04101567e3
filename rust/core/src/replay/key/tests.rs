use super::*;

#[test]
fn absolute_paths_of_one_file_have_one_key() {
    let keys = Keys::below("file:///data/table");
    let first = keys.key("/some/with%20space/p@%23h", None);
    assert_eq!(first, keys.key("file:/some/with%20space/p@%23h", None));
    assert_eq!(first, keys.key("file:///some/with%20space/p@%23h", None));
    assert_ne!(first, keys.key("some/with%20space/p@%23h", None));
    let keys = Keys::below("s3://bucket/table");
    assert_eq!(keys.key("/x", None), keys.key("s3://bucket/x", None));
}

/// Pairs of paths and whether delta-spark 4.3.0 treats them as equal.
#[test]
fn paths_are_equal_where_the_reference_treats_them_as_equal() {
    let keys = Keys::below("file:///data/table");
    let same = |first: &str, other: &str| keys.key(first, None) == keys.key(other, None);
    for (first, other) in [
        ("%E7%8C%AB", "%e7%8c%ab"),
        ("d=1/a", "d=1//a"),
        ("./a", "a"),
        ("x/../a", "a"),
        ("/data//x", "/data/x"),
        ("/data/x/", "file:/data/x"),
        ("/data/a%20b", "file:///data/a%20b"),
        ("FILE:///data/x", "file:///data/x"),
        ("file:/data/../x", "/x"),
        ("s3://b/x", "s3://b//x"),
    ] {
        assert!(same(first, other), "{first} and {other}");
    }
    for (first, other) in [
        ("%61", "a"),
        ("%E7%8C%AB", "猫"),
        ("a%2Fb", "a/b"),
        ("A", "a"),
        ("file:///data/%61", "/data/a"),
        ("file://localhost/data/x", "file:///data/x"),
        ("../a", "a"),
    ] {
        assert!(!same(first, other), "{first} and {other}");
    }
}

#[test]
fn characters_to_normalize_are_found_at_every_position() {
    let insertions = ["%2a", "%2A", ":", "//", "/.", "/a", "."];
    let cases = (1..70).flat_map(|length| insertions.map(|inserted| (length, inserted)));
    for (length, inserted) in cases {
        for at in 0..=length {
            let path = format!("{}{inserted}{}", "x".repeat(at), "y".repeat(length - at));
            let needs_normalization = [":", "//", "/.", "%2a"].contains(&inserted);
            let is_first = at == 0 && matches!(inserted, "/a" | ".");
            assert_eq!(
                is_plain(path.as_bytes()),
                !needs_normalization && !is_first,
                "{path}"
            );
        }
    }
}

#[test]
fn relative_paths_with_different_escapes_have_different_keys() {
    let keys = Keys::below("file:///data/table");
    assert_ne!(keys.key("x=1/a", None), keys.key("x%3D1/a", None));
    assert_eq!(canonical("x=a:b/c", "file:"), "x=a:b/c");
}

#[test]
fn the_vector_and_its_offset_are_part_of_the_key() {
    let keys = Keys::below("file:///t");
    let all = [
        keys.key("a", None),
        keys.key("a", Some(("u", "v", None))),
        keys.key("a", Some(("u", "v", Some(0)))),
        keys.key("a", Some(("u", "v", Some(1)))),
        keys.key("a", Some(("p", "v", None))),
        keys.key("b", Some(("u", "v", None))),
    ];
    let distinct: KeySet = all.into_iter().collect();
    assert_eq!(distinct.len(), all.len());
}
