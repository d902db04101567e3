use super::*;

#[test]
fn a_temporary_file_is_mapped_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let left = || fs::read_dir(directory.path()).unwrap().count();
    let mut file = TemporaryFile::below(directory.path()).unwrap();
    file.write(b"one, ").unwrap();
    file.write(b"two").unwrap();
    let bytes = file.map().unwrap();
    assert_eq!(&bytes[..], b"one, two");
    if cfg!(unix) {
        assert_eq!(left(), 0, "without a name from the start");
    }
    let half = bytes.slice(5..);
    drop(bytes);
    assert_eq!(&half[..], b"two");
    drop(half);
    assert_eq!(left(), 0);
    drop(TemporaryFile::below(directory.path()).unwrap());
    assert_eq!(left(), 0);
}

#[test]
fn a_directory_that_cannot_be_created_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    TemporaryFile::below(&missing).unwrap();
    let file = missing.join("file");
    fs::write(&file, b"").unwrap();
    let below = file.join("below");
    let error = TemporaryFile::below(&below).unwrap_err();
    assert_eq!(error.path(), below.to_str());
    if cfg!(unix) {
        assert_eq!(error.code(), "storage.name");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_as_full() {
    let mut full = TemporaryFile {
        file: File::options().write(true).open("/dev/full").unwrap(),
        directory: "/dev".to_owned(),
    };
    let error = full.write(b"bytes").unwrap_err();
    assert_eq!((error.code(), error.path()), ("storage.full", Some("/dev")));
}
