//! Deletion vectors: bitmaps, files, base 85.

use std::collections::BTreeSet;

use deltareplay_core::codec::deletion_vector::{DeletionVector, FileBuilder, base85};
use roaring::RoaringTreemap;

use super::{TAKEN, feature, fuzz};

/// Vectors that expand to more rows than this are not held against sets row by row.
const FEW: u64 = 1 << 12;

/// Rows in every form of container, in several places.
fn vectors() -> Vec<DeletionVector> {
    let several: [Vec<u64>; 7] = [
        vec![],
        vec![0],
        vec![3, 4, 7, 11, 18, 29],
        (10..300).collect(),
        (0..5)
            .flat_map(|chunk| [chunk << 16, (chunk << 16) + 9])
            .collect(),
        vec![1 << 32, (1 << 32) + 1, 7 << 40],
        (0..2000)
            .chain([70_000, 70_002])
            .chain((1 << 33)..(1 << 33) + 50)
            .collect(),
    ];
    several
        .into_iter()
        .map(|rows| DeletionVector::from_rows(rows).unwrap())
        .collect()
}

fn bitmaps() -> Vec<Vec<u8>> {
    let mut seeds: Vec<_> = vectors().iter().map(|one| one.encode().unwrap()).collect();
    // The layout of older writers: length in place of key.
    for seed in seeds.clone() {
        if seed.len() > 12 && seed[4] == 1 {
            let length = u32::try_from(seed.len() - 16).unwrap();
            let head = [0xD0, 0xD3, 0x39, 0x64, 1, 0, 0, 0];
            seeds.push([&head[..], &length.to_le_bytes(), &seed[16..]].concat());
        }
    }
    // A bit map of 8 KiB.
    let dense = DeletionVector::from_rows((0..9000).map(|row| row * 7)).unwrap();
    seeds.push(dense.encode().unwrap());
    seeds
}

const WORDS: [&[u8]; 6] = [
    &[0xD1, 0xD3, 0x39, 0x64],
    &[0xD0, 0xD3, 0x39, 0x64],
    &[0x3A, 0x30, 0, 0],
    &[0x3B, 0x30, 0, 0],
    &[0x3B, 0x30, 3, 0, 0x0F],
    &[1, 0, 0, 0, 0, 0, 0, 0],
];

/// What must hold for every vector, wherever its bytes came from.
fn sound(vector: &DeletionVector) -> u64 {
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
    assert!(vector.difference(&again).is_empty());
    assert_eq!(&vector.union(&again), vector);
    assert_eq!(&vector.intersection(&again), vector);
    let window = vector.min().unwrap_or(0)..vector.min().unwrap_or(0).saturating_add(100_000);
    let deleted = vector.count_within(window.clone());
    let live: u64 = vector
        .live_ranges(window.clone())
        .iter()
        .map(|range| range.end - range.start)
        .sum();
    assert_eq!(deleted + live, window.end - window.start);
    assert_eq!(vector.mask(window.clone()).count_set_bits() as u64, deleted);
    assert_eq!(vector.live_mask(window).count_set_bits() as u64, live);
    if rows <= FEW {
        let set: BTreeSet<u64> = vector.ranges().flatten().collect();
        assert!(set.iter().all(|row| vector.contains(*row)));
        let theirs = RoaringTreemap::deserialize_from(&encoded[4..]).unwrap();
        assert!(theirs.iter().eq(set));
    }
    let size = |number: u64| u64::from(number.checked_ilog2().unwrap_or(0));
    size(rows).min(20) << 8 | size(count)
}

#[test]
fn bitmaps_of_deletion_vectors() {
    // A run of four bytes may be a bit map of 8 KiB in between, a bit of it a range of 16 bytes.
    fuzz(
        &bitmaps(),
        &WORDS,
        |bytes| (1 << 20) + bytes * 200,
        |input| {
            let decoded = DeletionVector::decode(input, None);
            if let Ok(vector) = &decoded
                && let Ok(theirs) = RoaringTreemap::deserialize_from(&input[4..])
                && input[0] == 0xD1
            {
                assert_eq!(vector.len(), theirs.len());
            }
            feature(&decoded.map(|vector| sound(&vector)))
        },
    );
}

#[test]
fn files_of_deletion_vectors() {
    let mut packed = FileBuilder::new([7; 16], "");
    for vector in vectors() {
        packed.push(&vector).unwrap();
    }
    let mut seeds = vec![packed.finish()];
    for vector in vectors() {
        let mut single = FileBuilder::new([7; 16], "");
        single.push(&vector).unwrap();
        seeds.push(single.finish());
    }
    fuzz(
        &seeds,
        &WORDS,
        |bytes| (1 << 20) + bytes * 200,
        |input| {
            let decoded = DeletionVector::decode_file(input, None);
            // The same bytes below a checksum that fits get beyond it.
            let bitmap = input
                .get(5..input.len() - 4.min(input.len()))
                .unwrap_or(&[]);
            let size = u32::try_from(bitmap.len()).unwrap();
            let checksum = crc32fast::hash(bitmap);
            let framed = [&size.to_be_bytes()[..], bitmap, &checksum.to_be_bytes()].concat();
            let forged = DeletionVector::decode_framed(framed.into(), size, None);
            let forged = feature(&forged.map(|vector| sound(&vector)));
            feature(&decoded.map(|vector| sound(&vector))) | (forged.rotate_left(1) & !TAKEN)
        },
    );
}

#[test]
fn base_85() {
    let mut seeds: Vec<Vec<u8>> = bitmaps()
        .iter()
        .filter(|bitmap| bitmap.len() < 2000)
        .map(|bitmap| base85::encode(bitmap).into_bytes())
        .collect();
    seeds.extend([&b"HelloWorld"[..], b"%nSc0", b"", b"00000"].map(<[u8]>::to_vec));
    let words: [&[u8]; 4] = [b"%nSc0", b"%nSc1", b"#####", b"\xC3\xA9"];
    fuzz(
        &seeds,
        &words,
        |bytes| (1 << 20) + bytes * 200,
        |input| {
            let text = base85::encode(input);
            let mut decoded = base85::decode(&text).unwrap();
            assert!(decoded.len() - input.len() < 4);
            decoded.truncate(input.len());
            assert_eq!(decoded, input);
            let Ok(text) = std::str::from_utf8(input) else {
                return 0;
            };
            let decoded = base85::decode(text);
            if let Ok(bytes) = &decoded {
                assert_eq!(base85::encode(bytes), text);
            }
            let size = u32::try_from(text.len() / 5 * 4).unwrap();
            let vector = DeletionVector::decode_inline(text, size, None);
            let vector = feature(&vector.map(|vector| sound(&vector)));
            feature(&decoded.map(|bytes| bytes.len() as u64 / 4 % 8))
                | (vector.rotate_left(1) & !TAKEN)
        },
    );
}
