//! Deletion vectors: bitmaps, files, base 85.

use std::collections::BTreeSet;

use deltareplay_core::codec::deletion_vector::{DeletionVector, base85};
use roaring::RoaringTreemap;

use super::{ACCEPTED, Target, feature};

/// The maximum number of rows of a vector that is compared row by row.
const MAX_COMPARED_ROWS: u64 = 1 << 12;

const WORDS: [&[u8]; 6] = [
    &[0xD1, 0xD3, 0x39, 0x64],
    &[0xD0, 0xD3, 0x39, 0x64],
    &[0x3A, 0x30, 0, 0],
    &[0x3B, 0x30, 0, 0],
    &[0x3B, 0x30, 3, 0, 0x0F],
    &[1, 0, 0, 0, 0, 0, 0, 0],
];

/// Asserts the invariants of all vectors; returns the magnitudes of the numbers of rows and ranges.
fn check_invariants(vector: &DeletionVector) -> u64 {
    let (mut rows, mut count, mut end) = (0, 0_u64, None);
    for range in vector.ranges() {
        assert!(
            range.start < range.end && end < Some(range.start),
            "{range:?}"
        );
        rows += range.end - range.start;
        end = Some(range.end);
        count += 1;
    }
    assert_eq!(rows, vector.len());
    assert_eq!(end, vector.max().map(|last| last + 1));
    let encoded = vector.encode().unwrap();
    let again = DeletionVector::decode(&encoded, Some(vector.len())).unwrap();
    assert_eq!(&again, vector);
    assert!(vector.difference(&again).unwrap().is_empty());
    assert_eq!(&vector.union(&again).unwrap(), vector);
    assert_eq!(&vector.intersection(&again).unwrap(), vector);
    let window = vector.min().unwrap_or(0)..vector.min().unwrap_or(0).saturating_add(100_000);
    let deleted = vector.mask(window.clone()).count_set_bits() as u64;
    let live: u64 = vector
        .live_ranges(window.clone())
        .iter()
        .map(|range| range.end - range.start)
        .sum();
    assert_eq!(deleted + live, window.end - window.start);
    assert_eq!(vector.live_mask(window).count_set_bits() as u64, live);
    if rows <= MAX_COMPARED_ROWS {
        let set: BTreeSet<u64> = vector.ranges().flatten().collect();
        assert!(set.iter().all(|row| vector.contains(*row)));
        let theirs = RoaringTreemap::deserialize_from(&encoded[4..]).unwrap();
        assert!(theirs.iter().eq(set));
    }
    let size = |number: u64| u64::from(number.checked_ilog2().unwrap_or(0));
    size(rows).min(20) << 8 | size(count)
}

// a run of four bytes may temporarily be a bitmap of 8 KiB, and one of its bits a range of 16 bytes
pub const BITMAPS: Target = Target {
    name: "bitmaps",
    words: &WORDS,
    memory: |bytes| (1 << 20) + bytes * 200,
    run: run_bitmaps,
};

fn run_bitmaps(input: &[u8]) -> u64 {
    let decoded = DeletionVector::decode(input, None);
    if let Ok(vector) = &decoded
        && let Ok(theirs) = RoaringTreemap::deserialize_from(&input[4..])
        && input[0] == 0xD1
    {
        assert_eq!(vector.len(), theirs.len());
    }
    feature(&decoded.map(|vector| check_invariants(&vector)))
}

pub const VECTOR_FILES: Target = Target {
    name: "vector_files",
    words: &WORDS,
    memory: |bytes| (1 << 20) + bytes * 200,
    run: run_vector_files,
};

fn run_vector_files(input: &[u8]) -> u64 {
    let decoded = DeletionVector::decode_file(input, None);
    // with a valid checksum, the same bytes are decoded further
    let bitmap = input
        .get(5..input.len() - 4.min(input.len()))
        .unwrap_or(&[]);
    let size = u32::try_from(bitmap.len()).unwrap();
    let checksum = crc32fast::hash(bitmap);
    let framed = [&size.to_be_bytes()[..], bitmap, &checksum.to_be_bytes()].concat();
    let forged = DeletionVector::decode_framed(framed.into(), size, None);
    let forged = feature(&forged.map(|vector| check_invariants(&vector)));
    feature(&decoded.map(|vector| check_invariants(&vector))) | (forged.rotate_left(1) & !ACCEPTED)
}

pub const BASE85: Target = Target {
    name: "base85",
    words: &[b"%nSc0", b"%nSc1", b"#####", b"##093", b"\xC3\xA9"],
    memory: |bytes| (1 << 20) + bytes * 200,
    run: run_base85,
};

fn run_base85(input: &[u8]) -> u64 {
    let text = base85::encode(input);
    let mut decoded = base85::decode(&text).unwrap();
    assert!(decoded.len() - input.len() < 4);
    decoded.truncate(input.len());
    assert_eq!(decoded, input);
    let Ok(text) = std::str::from_utf8(input) else {
        return 0;
    };
    let decoded = base85::decode(text);
    if let Ok(bytes) = &decoded
        && bytes.len() % 4 == 0
    {
        assert_eq!(base85::encode(bytes), text);
    }
    let size = u32::try_from(text.len() / 5 * 4).unwrap();
    let vector = DeletionVector::decode_inline(text, size, None);
    let vector = feature(&vector.map(|vector| check_invariants(&vector)));
    feature(&decoded.map(|bytes| bytes.len() as u64 / 4 % 8)) | (vector.rotate_left(1) & !ACCEPTED)
}
