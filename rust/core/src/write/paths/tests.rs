use super::*;

/// Value `a b:c`, directory `p=a b%3Ac`, path `p=a%20b%253Ac`.
#[test]
fn values_are_escaped_twice() {
    let path = directory([("p", Some("a b:c"))].into_iter());
    if cfg!(windows) {
        assert_eq!(path, "p=a%20b%3Ac/");
        assert_eq!(encoded(&path), "p=a%2520b%253Ac/");
    } else {
        assert_eq!(path, "p=a b%3Ac/");
        assert_eq!(encoded(&path), "p=a%20b%253Ac/");
    }
    let null = directory([("p", None), ("q=", Some("ä"))].into_iter());
    assert_eq!(null, "p=__HIVE_DEFAULT_PARTITION__/q%3D=ä/");
    assert_eq!(
        directory([("p", Some(""))].into_iter()),
        "p=__HIVE_DEFAULT_PARTITION__/"
    );
    assert_eq!(directory([].into_iter()), "");
}

#[test]
fn random_directories_have_the_requested_length() {
    let name = random_directory(5);
    assert_eq!(name.len(), 6);
    assert!(
        name.trim_end_matches('/')
            .chars()
            .all(char::is_alphanumeric)
    );
}
