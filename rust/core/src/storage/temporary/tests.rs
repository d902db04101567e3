use super::*;

#[test]
fn a_temporary_file_is_mapped_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let num_files = || fs::read_dir(directory.path()).unwrap().count();
    let mut file = TemporaryFile::new_in(directory.path()).unwrap();
    file.write(b"one, ").unwrap();
    file.write(b"two").unwrap();
    let bytes = file.map().unwrap();
    assert_eq!(&bytes[..], b"one, two");
    if cfg!(unix) {
        assert_eq!(num_files(), 0, "its name is removed at once");
    }
    let half = bytes.slice(5..);
    drop(bytes);
    assert_eq!(&half[..], b"two");
    drop(half);
    assert_eq!(num_files(), 0);
    drop(TemporaryFile::new_in(directory.path()).unwrap());
    assert_eq!(num_files(), 0, "not mapped");
}

#[test]
fn a_missing_directory_is_created() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("a").join("b");
    TemporaryFile::new_in(&missing).unwrap();
    assert!(missing.is_dir());
}

#[test]
fn the_error_names_a_directory_that_cannot_be_created() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    let below = file.join("below");
    let error = TemporaryFile::new_in(&below).unwrap_err();
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
