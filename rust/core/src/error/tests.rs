use super::*;

#[test]
fn displays_the_first_location_that_was_set() {
    let error = Error::corrupt(
        "commit.json",
        "not JSON: ask the writer for the commit again",
    )
    .at_path("_delta_log/00000000000000000003.json")
    .at_line(2)
    .at_offset(17)
    .at_path("elsewhere")
    .at_line(9);
    assert_eq!(
        error.to_string(),
        "not JSON: ask the writer for the commit again \
         (file: _delta_log/00000000000000000003.json, line 2, byte 17)"
    );
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn is_one_word_wide() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
}
