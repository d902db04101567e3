use super::*;

#[test]
fn words_are_measured_to_the_end_of_their_bytes() {
    assert_eq!(longest(b"\x01\0\0\0a\x03\0\0\0abc\x02\0\0\0ab", 3), 3);
    assert_eq!(longest(b"\x01\0\0\0a\x03\0\0\0abc", 1), 1);
    assert_eq!(longest(b"\x05\0\0\0a", 9), 5);
    assert_eq!(longest(b"", 9), 0);
}
