use super::*;

#[test]
fn lengths_of_a_dictionary() {
    let bytes = [2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 1, 0, 0, 0, b'c'];
    let lengths = |count| dictionary_lengths(&bytes, count).collect::<Vec<_>>();
    assert_eq!(lengths(3), [2, 0, 1]);
    assert_eq!(lengths(9), [2, 0, 1], "the dictionary ends early");
    assert_eq!(dictionary_lengths(b"", 9).count(), 0);
    assert_eq!(
        dictionary_lengths(&[0xFF; 4], 1).collect::<Vec<_>>(),
        [u32::MAX]
    );
}

#[test]
fn sizes_of_indexed_strings() {
    // apache/parquet-format, Encodings.md: the width, then runs; here five of index 1, one bit each
    assert_eq!(size_of_indexed(&[1, 5 << 1, 1], 5, &[7, 100]), 500);
    assert_eq!(
        size_of_indexed(&[1, 5 << 1, 1], 3, &[7, 100]),
        300,
        "no more than the page has"
    );
    // eight bit-packed indexes: 0b00000101 is 1, 0, 1, 0, ...
    assert_eq!(size_of_indexed(&[1, 3, 5], 8, &[7, 100]), 242);
    assert_eq!(size_of_indexed(&[0, 4 << 1], 4, &[7]), 28);
    // a run of 2^40 of a string of 2^30 bytes
    let run = [1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0];
    let count = 1 << 40;
    assert_eq!(
        size_of_indexed(&run, count, &[1 << 30]),
        u64::MAX,
        "the size saturates"
    );
    for (body, lengths) in [
        (&[][..], &[1][..]),
        (&[33, 2, 0, 0, 0, 0, 0], &[1]), // an index has at most 32 bits
        (&[1, 5 << 1, 1], &[7]),         // no such string
    ] {
        assert_eq!(size_of_indexed(body, 5, lengths), 0, "{body:?}");
    }
    // one index, and padding that is out of range
    assert_eq!(size_of_indexed(&[1, 3, 0xFE], 8, &[7]), 7);
}
