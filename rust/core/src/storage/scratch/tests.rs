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
