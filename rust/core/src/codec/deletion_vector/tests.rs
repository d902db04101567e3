use std::collections::BTreeSet;

use proptest::prelude::*;
use roaring::RoaringTreemap;

use super::*;
use crate::spec::DeletionVectorDescriptor;

mod hostile;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b' ')
        .map(|byte| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Files that delta-spark wrote, or that were compared with its output byte for byte.
const FILES: [(&[u64], &str); 7] = [
    (
        &[0],
        "01 00000022 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0000 10000000 0000 f7a6b4b5",
    ),
    (
        &[0, 1],
        "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0000 0100 e2be924e",
    ),
    (
        &[0, 7],
        "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0000 0700 b4e435c8",
    ),
    (
        &[0, 7, 14],
        "01 00000026 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0200 10000000 0000 0700 0e00 fd54c000",
    ),
    (
        &[3, 4, 7, 11, 18, 29],
        "01 0000002c d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0500 10000000 0300 0400 0700 0b00 1200 1d00 acd74a79",
    ),
    (
        &[1 << 32],
        "01 0000002e d1d33964 0200000000000000 00000000 3a300000 00000000 01000000 3a300000 01000000 0000 0000 10000000 0000 0efd4dae",
    ),
    (&[], "01 0000000c d1d33964 0000000000000000 bf18480c"),
];

/// Rows, their inline text, and the size of the bitmap in bytes.
const INLINE: [(&[u64], &str, u32); 4] = [
    (&[0], "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg00000", 34),
    (&[0, 1], "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00031", 36),
    (
        &[0, 7, 14],
        "^Bg9^0rr910000000000iXQKl0rr91000625c8Xg000l74GDFe",
        38,
    ),
    (
        &[3, 4, 7, 11, 18, 29],
        "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        44,
    ),
];

fn vector_of<'a>(rows: impl IntoIterator<Item = &'a u64>) -> DeletionVector {
    DeletionVector::from_rows(rows.into_iter().copied()).unwrap()
}

fn rows_of(vector: &DeletionVector) -> Vec<u64> {
    vector.ranges().flatten().collect()
}

/// Encodes a bitmap of `count` run containers with the same content.
fn run_containers(count: u16, container: &[u8]) -> Vec<u8> {
    let mut bytes = hex("d1d33964 0100000000000000 00000000");
    bytes.extend((12_347 | u32::from(count - 1) << 16).to_le_bytes());
    bytes.extend(vec![0xFF; usize::from(count) / 8]);
    for key in 0..count {
        bytes.extend(key.to_le_bytes());
        bytes.extend([0xFF; 2]);
    }
    bytes.extend(vec![0; usize::from(count) * 4]);
    bytes.extend(container.repeat(count.into()));
    bytes
}

#[test]
fn files_of_the_reference_are_read_and_written() {
    for (rows, text) in FILES {
        let file = hex(text);
        let vector = DeletionVector::decode_file(&file, None).unwrap();
        assert_eq!(rows_of(&vector), rows);
        assert_eq!(vector, vector_of(rows));
        assert_eq!(vector.len(), rows.len() as u64);
        assert_eq!(vector.max(), rows.last().copied());
        assert_eq!(vector.min(), rows.first().copied());
        if rows != [1 << 32] {
            // that file has an empty bitmap for the first key, which this encoder omits
            let mut packed = FileBuilder::new([0; 16], "");
            packed.push(&vector_of(rows)).unwrap();
            assert_eq!(packed.finish(), file, "{rows:?}");
        }
    }
}

#[test]
fn inline_vectors_are_read_and_written() {
    for (rows, text, size) in INLINE {
        let cardinality = Some(rows.len() as u64);
        let vector = DeletionVector::decode_inline(text, size, cardinality).unwrap();
        assert_eq!(rows_of(&vector), rows);
        let descriptor = vector.encode_inline().unwrap();
        assert_eq!(descriptor.path_or_inline(), text);
        assert_eq!(descriptor.size_in_bytes(), size);
        assert_eq!(descriptor.cardinality(), rows.len() as u64);
        assert_eq!(descriptor.offset(), None);
    }
    assert!(
        DeletionVector::decode_inline("", 0, Some(0))
            .unwrap()
            .is_empty()
    );
    let error = DeletionVector::decode_inline("", 0, Some(1)).unwrap_err();
    assert_eq!(error.code(), "dv.cardinality");
}

#[test]
fn the_native_layout_is_read() {
    let bytes = hex("d0d33964 01000000 14000000 3a300000 01000000 0000 0100 10000000 0000 0100");
    assert_eq!(bytes.len(), 32);
    let vector = DeletionVector::decode(&bytes, Some(2)).unwrap();
    assert_eq!(rows_of(&vector), [0, 1]);
    let two = hex("d0d33964 02000000 08000000 3a300000 00000000 \
         14000000 3a300000 01000000 0000 0100 10000000 0000 0100");
    let vector = DeletionVector::decode(&two, None).unwrap();
    assert_eq!(rows_of(&vector), [1 << 32, (1 << 32) + 1]);
    // it can be combined and encoded like any other
    assert_eq!(
        vector.encode().unwrap(),
        vector_of(&rows_of(&vector)).encode().unwrap()
    );
    assert_eq!(
        vector.difference(&vector_of(&[1 << 32])).unwrap(),
        vector_of(&[(1 << 32) + 1])
    );
}

#[test]
fn runs_stay_runs_when_they_are_combined() {
    // 4,000 containers of adjacent runs, each beginning with a short run; as bitmaps, they would take 8 KiB each
    let runs = [3, 0, 0, 0, 0, 0, 2, 0, 99, 0, 102, 0, 0x98, 0xFF];
    let bytes = run_containers(4_000, &runs);
    let vector = DeletionVector::decode(&bytes, None).unwrap();
    let set = vector.set();
    assert!(
        set.bitmaps()
            .all(|(_, map)| map.statistics().n_bitset_containers == 0)
    );
    assert_eq!(
        vector.union(&vector_of(&[1])).unwrap().len(),
        vector.len() + 1
    );
    let encoded = vector.encode().unwrap();
    assert!(RoaringTreemap::deserialize_from(&encoded[4..]).is_ok());
    assert_eq!(
        DeletionVector::decode(&encoded, Some(vector.len())).unwrap(),
        vector
    );
}

#[test]
fn the_obsolete_layout_of_the_protocol_example_is_refused() {
    let text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
    let error = DeletionVector::decode_inline(text, 40, Some(6)).unwrap_err();
    assert_eq!(error.code(), "dv.magic");
}

#[test]
fn locations_follow_the_protocol() {
    for (text, path) in [
        (
            "ab^-aqEH.-t@S}K{vb[*k^",
            "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
        ),
        (
            "IjB3V2d3#qUP%s94R0WF",
            "deletion_vector_899cef78-06b3-4c14-b024-03860e62cd40.bin",
        ),
        (
            "h{&8fAg]=QYJvl-}c!yH",
            "deletion_vector_37d10da3-70a1-4730-bc58-3b44f9617505.bin",
        ),
        (
            "j=hZPftg7qJYIw^L+Oz9",
            "deletion_vector_3d8a467a-2fbd-4d35-8e3a-775894a30576.bin",
        ),
        (
            "^jP?.<zvDfIGb{C.FPij",
            "deletion_vector_d12e7d16-e46d-48c9-8a71-b222c26dfc3b.bin",
        ),
        (
            "a%b:^jP?.<zvDfIGb{C.FPij",
            "a%25b%3A/deletion_vector_d12e7d16-e46d-48c9-8a71-b222c26dfc3b.bin",
        ),
    ] {
        let descriptor = DeletionVectorDescriptor::new("u", text, Some(1), 1, 1).unwrap();
        assert_eq!(
            vector_location(&descriptor).unwrap(),
            VectorLocation::File(path.to_owned())
        );
    }
    for text in [
        "\"jP?.<zvDfIGb{C.FPij",
        "#########################",
        "é234567890123456789",
    ] {
        let descriptor = DeletionVectorDescriptor::new("u", text, None, 1, 1).unwrap();
        assert_eq!(
            vector_location(&descriptor).unwrap_err().code(),
            "dv.path",
            "{text}"
        );
    }
    let absolute = DeletionVectorDescriptor::new("p", "s3://b/a%20b.bin", None, 1, 1).unwrap();
    assert_eq!(
        vector_location(&absolute).unwrap(),
        VectorLocation::File("s3://b/a%20b.bin".into())
    );
}

#[test]
fn packed_vectors_are_read_back() {
    let vectors = [
        vector_of(&[1, 2, 3]),
        vector_of(&[]),
        vector_of(&[0, 70_000, 1 << 40]),
    ];
    let mut file = FileBuilder::new(*b"0123456789abcdef", "ab");
    assert!(file.is_empty());
    let descriptors: Vec<_> = vectors
        .iter()
        .map(|vector| file.push(vector).unwrap())
        .collect();
    assert_eq!(
        file.relative_path().unwrap(),
        "ab/deletion_vector_30313233-3435-3637-3839-616263646566.bin"
    );
    let bytes = file.finish();
    assert_eq!(descriptors[0].offset(), Some(1));
    for (vector, descriptor) in vectors.iter().zip(&descriptors) {
        let result = DeletionVector::decode_file(&bytes, Some(descriptor.position())).unwrap();
        assert_eq!(&result, vector);
        let begin = usize::try_from(descriptor.position()).unwrap();
        let end = begin + descriptor.size_in_bytes() as usize + 8;
        let framed = Bytes::copy_from_slice(&bytes[begin..end]);
        let size = descriptor.size_in_bytes();
        DeletionVector::decode_framed(framed, size, Some(descriptor.cardinality())).unwrap();
    }
}

#[test]
fn rows_out_of_range_are_refused() {
    assert_eq!(vector_of(&[ROWS_END - 1]).max(), Some(ROWS_END - 1));
    for row in [ROWS_END, u64::MAX] {
        let error = DeletionVector::from_rows([1, row]).unwrap_err();
        assert_eq!(error.code(), "dv.row_range");
    }
    let vector = vector_of(&[3, 99]);
    vector.check_within(100).unwrap();
    assert_eq!(
        vector.check_within(99).unwrap_err().code(),
        "dv.beyond_file"
    );
    DeletionVector::empty().check_within(0).unwrap();
}

#[test]
fn a_run_across_containers_is_one_range() {
    let rows: Vec<u64> = (65_000..300_000).collect();
    let vector = vector_of(&rows);
    assert_eq!(vector.ranges().collect::<Vec<_>>(), [65_000..300_000]);
    assert_eq!(
        vector.live_ranges(0..400_000),
        [0..65_000, 300_000..400_000]
    );
    assert_eq!(vector.live_ranges(70_000..80_000), []);
    assert!(vector.encode().unwrap().len() < 100);
}

#[test]
fn rows_beyond_the_limit_of_an_array_are_refused() {
    // 40,000 containers, each filled by one run: 2.6 billion rows in 565 kB
    let bytes = run_containers(40_000, &[1, 0, 0, 0, 0xFF, 0xFF]);
    let vector = DeletionVector::decode(&bytes, None).unwrap();
    assert_eq!(vector.len(), 40_000 << 16);
    assert_eq!(vector.rows().unwrap_err().code(), "dv.too_many_rows");
    assert_eq!(vector.ranges().collect::<Vec<_>>(), [0..40_000 << 16]);
}

/// Rows in clusters: few, many, runs, in several containers, beyond 32 bits.
fn some_rows() -> impl Strategy<Value = BTreeSet<u64>> {
    let base = prop_oneof![
        Just(0_u64),
        Just(65_000),
        Just(131_072),
        Just((1 << 32) - 300),
        Just(5 << 40)
    ];
    let cluster = prop_oneof![
        proptest::collection::vec(0_u64..200, 0..20),
        proptest::collection::vec(0_u64..70_000, 0..300),
        (0_u64..3000, 1_u64..70_000).prop_map(|(start, len)| (start..start + len).collect()),
        (1_u64..4).prop_map(|step| (0..20_000).map(|row| row * step).collect()),
    ];
    proptest::collection::vec((base, cluster), 0..4).prop_map(|clusters| {
        let rows = clusters
            .into_iter()
            .flat_map(|(base, rows)| rows.into_iter().map(move |row| base + row));
        rows.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn encoded_vectors_decode_to_the_same_rows(rows in some_rows()) {
        let vector = vector_of(&rows);
        prop_assert_eq!(vector.len(), rows.len() as u64);
        let bytes = vector.encode().unwrap();
        let decoded = DeletionVector::decode(&bytes, Some(vector.len())).unwrap();
        prop_assert_eq!(&decoded, &vector);
        prop_assert!(decoded.ranges().flatten().eq(rows.iter().copied()));
        prop_assert_eq!(decoded.encode().unwrap(), bytes);
        let inline = vector.encode_inline().unwrap();
        let decoded_inline = DeletionVector::decode_inline(inline.path_or_inline(), inline.size_in_bytes(), Some(inline.cardinality()));
        prop_assert_eq!(decoded_inline.unwrap(), vector);
    }

    #[test]
    fn encoding_is_compatible_with_roaring(rows in some_rows(), runs in any::<bool>()) {
        let ours = vector_of(&rows);
        let theirs = RoaringTreemap::deserialize_from(&ours.encode().unwrap()[4..]).unwrap();
        prop_assert!(theirs.iter().eq(rows.iter().copied()));
        let mut theirs = RoaringTreemap::from_sorted_iter(rows.iter().copied()).unwrap();
        if runs {
            let maps = theirs.bitmaps().map(|(high, map)| { let mut map = map.clone(); map.optimize(); (high, map) });
            theirs = RoaringTreemap::from_bitmaps(maps.collect::<Vec<_>>());
        }
        let mut bytes = 1_681_511_377_u32.to_le_bytes().to_vec();
        theirs.serialize_into(&mut bytes).unwrap();
        prop_assert_eq!(DeletionVector::decode(&bytes, Some(ours.len())).unwrap(), ours);
    }

    #[test]
    fn set_operations_match_those_of_btree_sets(left in some_rows(), right in some_rows()) {
        let (a, b) = (vector_of(&left), vector_of(&right));
        for (result, expected) in [
            (a.union(&b).unwrap(), left.union(&right).copied().collect::<BTreeSet<_>>()),
            (a.intersection(&b).unwrap(), left.intersection(&right).copied().collect()),
            (a.difference(&b).unwrap(), left.difference(&right).copied().collect()),
        ] {
            prop_assert_eq!(result.len(), expected.len() as u64);
            prop_assert!(result.ranges().flatten().eq(expected.iter().copied()));
            prop_assert_eq!(&result, &vector_of(&expected));
            let decoded = DeletionVector::decode(&result.encode().unwrap(), None).unwrap();
            prop_assert_eq!(decoded, result);
        }
        prop_assert_eq!(a == b, left == right);
    }

    #[test]
    fn ranges_masks_and_arrays_have_the_same_rows(rows in some_rows(), start in 0_u64..140_000, len in 0_u64..140_000, far in any::<bool>()) {
        let vector = vector_of(&rows);
        let start = if far { (1 << 32) - 70_000 + start } else { start };
        let window = start..start + len;
        let inside: Vec<u64> = rows.range(window.clone()).copied().collect();
        let mut ranges: Vec<u64> = Vec::new();
        let mut last = None;
        vector.for_each_range(window.clone(), |range| {
            assert!(range.start < range.end && last < Some(range.start));
            last = Some(range.end);
            ranges.extend(range);
        });
        prop_assert_eq!(&ranges, &inside);
        let (mask, live_mask) = (vector.mask(window.clone()), vector.live_mask(window.clone()));
        prop_assert_eq!(mask.len() as u64, len);
        prop_assert!(mask.set_indices().map(|at| at as u64 + start).eq(inside.iter().copied()));
        prop_assert_eq!(&!&mask, &live_mask);
        let live: Vec<u64> = live_mask.set_indices().map(|at| at as u64 + start).collect();
        let ranges = vector.live_ranges(window.clone());
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        prop_assert!(ranges.into_iter().flatten().eq(live));
        let array = vector.rows().unwrap();
        prop_assert!(array.values().iter().map(|row| row.cast_unsigned()).eq(rows.iter().copied()));
        for row in [start, start + len, 0, 65_000] {
            prop_assert_eq!(vector.contains(row), rows.contains(&row));
        }
        prop_assert_eq!((vector.min(), vector.max()), (rows.first().copied(), rows.last().copied()));
    }
}
