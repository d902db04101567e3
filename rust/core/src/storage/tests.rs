use super::*;

pub(crate) mod counting;
pub(crate) mod fault;

/// Opens the storage at a path or a URI.
pub(crate) fn open(uri: &str, options: &[(String, String)]) -> Result<Arc<dyn Storage>> {
    open_location(&Location::parse(uri)?, options, None)
}

#[test]
fn opens_the_storage_of_a_path_or_uri() {
    let options = [("aws_region".to_owned(), "eu-west-1".to_owned())];
    for (uri, root, kind) in [
        #[cfg(unix)]
        ("/tmp/t", "file:///tmp/t", "LocalStorage"),
        ("file:///tmp/t", "file:///tmp/t", "LocalStorage"),
        ("memory://open/t", "memory://open/t", "ObjectStorage"),
        ("s3://bucket/t/", "s3://bucket/t", "ObjectStorage"),
    ] {
        let storage = open(uri, &options).unwrap();
        assert_eq!(storage.root(), root);
        assert!(format!("{storage:?}").starts_with(kind), "{storage:?}");
    }
}

#[test]
fn refuses_unknown_options_and_schemes() {
    let options = [("aws_region".to_owned(), "eu-west-1".to_owned())];
    assert_eq!(
        open("gs://bucket/t", &options).unwrap_err().code(),
        "options.unknown"
    );
    assert_eq!(
        open("viewfs://host/t", &[]).unwrap_err().code(),
        "uri.scheme"
    );
}
