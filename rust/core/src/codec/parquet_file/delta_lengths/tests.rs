use super::*;

/// Encodes lengths of strings: one block of 128 values, one miniblock with eight bits for each delta.
fn lengths(numbers: &[u8]) -> Vec<u8> {
    let [first, rest @ ..] = numbers else {
        return vec![0x80, 1, 1, 0, 0];
    };
    let mut bytes = vec![0x80, 1, 1, numbers.len() as u8, first << 1];
    if rest.is_empty() {
        return bytes;
    }
    // the minimum delta -10, and the deltas above it
    bytes.extend([19, 8]);
    bytes.extend(numbers.windows(2).map(|pair| pair[1] + 10 - pair[0]));
    bytes.resize(bytes.len() + 128 - rest.len(), 0);
    bytes
}

fn strings_of(prefixes: &[u8], suffixes: &[u8], text: &[u8]) -> Option<Option<Vec<Share>>> {
    let body = [lengths(prefixes), lengths(suffixes), text.to_vec()].concat();
    strings(&DataPage {
        encoding: Encoding::DELTA_BYTE_ARRAY,
        values: 5,
        repetition: &[],
        body: &body,
    })
}

// the example of Parquet's page "Encodings", "Delta Strings": axis, axle, babble, babyhood
#[test]
fn strings_of_the_specification_are_measured() {
    let actual = strings_of(&[0, 2, 0, 3], &[4, 2, 6, 5], b"axislebabbleyhood");
    let bytes = 4 + 4 + 6 + 8;
    assert_eq!(actual, Some(Some(vec![Share { rows: 5, bytes }])));
    let none = strings_of(&[], &[], b"");
    assert_eq!(none, Some(Some(vec![Share { rows: 5, bytes: 0 }])));
}

#[test]
fn lengths_that_contradict_the_page_are_refused() {
    for (prefixes, suffixes, text) in [
        (
            &[1, 2, 0, 3][..],
            &[4, 2, 6, 5][..],
            &b"axislebabbleyhood"[..],
        ), // no string is before the first
        (&[0, 5, 0, 3], &[4, 2, 6, 5], b"axislebabbleyhood"),
        (&[0, 2, 0, 3], &[4, 2, 6, 6], b"axislebabbleyhood"),
        (&[0, 2, 0], &[4, 2, 6, 5], b"axislebabbleyhood"),
        (&[0, 0, 0, 0, 0, 0], &[1, 1, 1, 1, 1, 1], b"abcdef"),
    ] {
        assert_eq!(strings_of(prefixes, suffixes, text), None, "{prefixes:?}");
    }
}
