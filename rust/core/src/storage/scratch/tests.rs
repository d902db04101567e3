use super::*;

#[test]
fn dropping_a_scratch_directory_deletes_its_files() {
    let scratch = Scratch::new().unwrap();
    assert!(
        scratch
            .storage()
            .put_if_absent_unsynced("a/b", b"text")
            .unwrap()
    );
    assert_eq!(&scratch.storage().read("a/b").unwrap()[..], b"text");
    let directory = scratch.directory.clone();
    assert!(directory.exists());
    drop(scratch);
    assert!(!directory.exists());
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_a_scratch_directory() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new().unwrap();
    let metadata = fs::metadata(&scratch.directory).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
}
