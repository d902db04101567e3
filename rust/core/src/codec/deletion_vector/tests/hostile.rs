//! Invalid encodings of deletion vectors.

use super::*;

/// An encoded vector with all three kinds of containers, and rows beyond 32 bits.
fn mixed_containers() -> Vec<u8> {
    let rows = (0..5000)
        .map(|row| row * 13)
        .chain(100_000..160_000)
        .chain([400_000, 400_002, 7 << 33]);
    DeletionVector::from_rows(rows).unwrap().encode().unwrap()
}

fn code(bytes: &[u8]) -> &'static str {
    DeletionVector::decode(bytes, None).unwrap_err().code()
}

#[test]
fn every_proper_prefix_is_an_error() {
    let bytes = mixed_containers();
    assert!(DeletionVector::decode(&bytes, None).is_ok());
    for end in 0..bytes.len() {
        let result = code(&bytes[..end]);
        assert!(
            matches!(result, "dv.truncated" | "dv.bitmap"),
            "{end}: {result}"
        );
    }
    for (_, text) in FILES {
        let file = hex(text);
        for end in 0..file.len() {
            let error = DeletionVector::decode_file(&file[..end], None).unwrap_err();
            assert_eq!(error.code(), "dv.truncated", "{end}");
        }
    }
}

#[test]
fn kinds_of_damage_have_different_codes() {
    let good = hex(FILES[4].1);
    for (at, value, code) in [
        (0, 2, "dv.version"),
        (4, 0x2b, "dv.checksum"),
        (4, 0x2d, "dv.truncated"),
        (5, 0xd2, "dv.checksum"),
        (40, 1, "dv.checksum"),
        (52, 0, "dv.checksum"),
    ] {
        let mut bad = good.clone();
        bad[at] = value;
        let error = DeletionVector::decode_file(&bad, None).unwrap_err();
        assert_eq!(error.code(), code, "byte {at}");
        assert!(error.offset().is_some());
    }
    let error = DeletionVector::decode_file(&good, Some(999)).unwrap_err();
    assert_eq!((error.code(), error.offset()), ("dv.truncated", Some(999)));
}

#[test]
fn a_frame_must_agree_with_its_descriptor() {
    let file = hex(FILES[4].1);
    let framed = Bytes::copy_from_slice(&file[1..]);
    let decode = |size, cardinality| {
        DeletionVector::decode_framed(framed.clone(), size, cardinality).map_err(|e| e.code())
    };
    assert!(decode(44, Some(6)).is_ok());
    assert_eq!(decode(43, Some(6)).unwrap_err(), "dv.size");
    assert_eq!(decode(44, Some(5)).unwrap_err(), "dv.cardinality");
    let text = INLINE[3].1;
    for size in [40, 45, 48, u32::MAX] {
        let error = DeletionVector::decode_inline(text, size, None).unwrap_err();
        assert_eq!(error.code(), "dv.size", "{size}");
    }
}

#[test]
fn invalid_bitmaps_are_refused() {
    for (bytes, expected) in [
        ("", "dv.truncated"),
        ("d1d339", "dv.truncated"),
        ("d2d33964 0000000000000000", "dv.magic"),
        ("6439d3d1 0000000000000000", "dv.magic"),
        // counts of bitmaps without bytes
        ("d1d33964 ffffffffffffffff", "dv.bitmap"),
        ("d1d33964 ffffffff00000000", "dv.bitmap"),
        ("d0d33964 ffffffff", "dv.bitmap"),
        ("d1d33964 0100000000000000", "dv.bitmap"),
        // bytes after the end
        ("d1d33964 0000000000000000 00", "dv.bitmap"),
        // a negative key, and one beyond the limit
        (
            "d1d33964 0100000000000000 00000080 3a300000 00000000",
            "dv.bitmap",
        ),
        (
            "d1d33964 0100000000000000 ffffff7f 3a300000 00000000",
            "dv.bitmap",
        ),
        // keys that do not ascend
        (
            "d1d33964 0200000000000000 01000000 3a300000 00000000 01000000 3a300000 00000000",
            "dv.bitmap",
        ),
        // not a cookie of Roaring
        (
            "d1d33964 0100000000000000 00000000 39300000 00000000",
            "dv.bitmap",
        ),
        // more containers than a bitmap can have, and more than its bytes hold
        (
            "d1d33964 0100000000000000 00000000 3a300000 01000100",
            "dv.bitmap",
        ),
        (
            "d1d33964 0100000000000000 00000000 3a300000 00000100",
            "dv.truncated",
        ),
        (
            "d1d33964 0100000000000000 00000000 3b30ffff 00000000",
            "dv.truncated",
        ),
        // values and containers out of order
        (
            "d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0100 0100",
            "dv.bitmap",
        ),
        (
            "d1d33964 0100000000000000 00000000 3a300000 02000000 0100 0000 0100 0000 18000000 1a000000 0000 0000",
            "dv.bitmap",
        ),
        // a run container without runs, overlapping runs, a run that leaves its container
        (
            "d1d33964 0100000000000000 00000000 3b300000 01 0000 0000 0000",
            "dv.bitmap",
        ),
        (
            "d1d33964 0100000000000000 00000000 3b300000 01 0000 0000 0200 0000 0500 0500 0000",
            "dv.bitmap",
        ),
        (
            "d1d33964 0100000000000000 00000000 3b300000 01 0000 0000 0100 ffff 0100",
            "dv.bitmap",
        ),
        // a native bitmap whose length is not the stated one
        (
            "d0d33964 01000000 15000000 3a300000 01000000 0000 0100 10000000 0000 0100 00",
            "dv.bitmap",
        ),
    ] {
        assert_eq!(code(&hex(bytes)), expected, "{bytes}");
    }
    // 5,000 values stated, in a bitmap of zeros
    let mut bytes = hex("d1d33964 0100000000000000 00000000 3a300000 01000000 0000 8713 10000000");
    bytes.extend([0; 8192]);
    assert_eq!(code(&bytes), "dv.bitmap");
}

#[test]
fn adjacent_runs_are_merged() {
    let bytes =
        hex("d1d33964 0100000000000000 00000000 3b300000 01 0000 0500 0200 0000 0200 0300 0200");
    let vector = DeletionVector::decode(&bytes, Some(6)).unwrap();
    assert_eq!(vector.ranges().collect::<Vec<_>>(), [0..6]);
    assert_eq!(vector, vector_of(&[0, 1, 2, 3, 4, 5]));
    // the encoder merges adjacent runs, since the roaring crate refuses them
    assert!(RoaringTreemap::deserialize_from(&bytes[4..]).is_err());
    let encoded = vector.encode().unwrap();
    let merged = "d1d33964 0100000000000000 00000000 3b300000 01 0000 0500 0100 0000 0500";
    assert_eq!(encoded, hex(merged));
    let theirs = RoaringTreemap::deserialize_from(&encoded[4..]).unwrap();
    assert!(theirs.iter().eq(0..6));
}

#[test]
fn descriptors_are_read_from_a_column() {
    use crate::codec::file_actions::DELETION_VECTOR_FIELDS;
    use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray, StructArray};
    use std::sync::Arc;

    let storage = [Some("i"), None, Some("i"), Some("x")];
    let text = [Some(""), None, None, Some("")];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(storage.to_vec())),
        Arc::new(StringArray::from(text.to_vec())),
        Arc::new(Int32Array::from(vec![None; 4])),
        Arc::new(Int32Array::from(vec![Some(0), None, Some(0), Some(0)])),
        Arc::new(Int64Array::from(vec![Some(0), None, Some(0), Some(0)])),
    ];
    let column = StructArray::new(DELETION_VECTOR_FIELDS.clone(), columns, None);
    let descriptors = Descriptors::new(&column).unwrap();
    assert!(descriptors.get(0).unwrap().unwrap().is_empty());
    assert_eq!(descriptors.get(1).unwrap(), None);
    assert_eq!(descriptors.get(2).unwrap_err().code(), "dv.descriptor");
    assert_eq!(descriptors.get(3).unwrap_err().code(), "dv.storage_type");
    assert_eq!(descriptors.get(4).unwrap(), None);
    let wrong = StructArray::new_empty_fields(1, None);
    assert_eq!(Descriptors::new(&wrong).unwrap_err().code(), "log.columns");
}
