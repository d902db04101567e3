//! Expected bytes were written by hand from the specification of the encoding.

use arrow_array::{
    BooleanArray, Date32Array, Decimal128Array, Float32Array, Int8Array, Int64Array, ListArray,
    StringArray, TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use super::*;

/// Version 1, offsets of one byte, three names: a, b, cc.
const NAMES: &[u8] = &[0x01, 3, 0, 1, 2, 4, b'a', b'b', b'c', b'c'];

fn structure(columns: Vec<(&str, ArrayRef)>, nulls: Option<Vec<bool>>) -> StructArray {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    StructArray::new(fields.into(), arrays, nulls.map(NullBuffer::from))
}

fn binary(values: &[Option<&[u8]>]) -> ArrayRef {
    Arc::new(BinaryArray::from(values.to_vec()))
}

fn shredded(value: &[Option<&[u8]>], typed: ArrayRef) -> StructArray {
    let metadata = binary(&vec![Some(NAMES); typed.len()]);
    structure(
        vec![
            ("metadata", metadata),
            ("value", binary(value)),
            ("typed_value", typed),
        ],
        None,
    )
}

fn values(variants: &StructArray) -> Vec<Option<Vec<u8>>> {
    let result = unshred(variants).unwrap();
    assert_eq!(result.len(), variants.len());
    let values = result
        .column_by_name("value")
        .unwrap()
        .as_binary::<i32>()
        .clone();
    values
        .iter()
        .map(|value| value.map(<[u8]>::to_vec))
        .collect()
}

/// Encodes a typed value without an untyped one.
fn typed(array: impl Array + 'static) -> Vec<u8> {
    values(&shredded(&[None], Arc::new(array)))[0]
        .clone()
        .unwrap()
}

#[test]
fn primitive_values() {
    assert_eq!(typed(Int8Array::from(vec![-2])), [3 << 2, 0xfe]);
    assert_eq!(
        typed(Int64Array::from(vec![258])),
        [6 << 2, 2, 1, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(typed(BooleanArray::from(vec![true])), [1 << 2]);
    assert_eq!(typed(BooleanArray::from(vec![false])), [2 << 2]);
    assert_eq!(
        typed(Float32Array::from(vec![1.0])),
        [14 << 2, 0, 0, 0x80, 0x3f]
    );
    assert_eq!(typed(Date32Array::from(vec![1])), [11 << 2, 1, 0, 0, 0]);
    let instant = TimestampMicrosecondArray::from(vec![-1]);
    assert_eq!(
        typed(instant.clone()),
        [&[13 << 2][..], &[0xff; 8]].concat()
    );
    assert_eq!(
        typed(instant.with_timezone("UTC")),
        [&[12 << 2][..], &[0xff; 8]].concat()
    );
    let decimal = |precision| {
        Decimal128Array::from(vec![-1])
            .with_precision_and_scale(precision, 2)
            .unwrap()
    };
    assert_eq!(typed(decimal(9)), [&[8 << 2, 2][..], &[0xff; 4]].concat());
    assert_eq!(typed(decimal(18)), [&[9 << 2, 2][..], &[0xff; 8]].concat());
    assert_eq!(
        typed(decimal(19)),
        [&[10 << 2, 2][..], &[0xff; 16]].concat()
    );
    assert_eq!(
        typed(StringArray::from(vec!["hi"])),
        [2 << 2 | 1, b'h', b'i']
    );
    let long = "x".repeat(64);
    let bytes = typed(StringArray::from(vec![long.as_str()]));
    assert_eq!(
        (&bytes[..5], bytes.len()),
        (&[16 << 2, 64, 0, 0, 0][..], 69)
    );
    assert_eq!(
        typed(BinaryArray::from(vec![&b"\x00"[..]])),
        [15 << 2, 1, 0, 0, 0, 0]
    );
}

#[test]
fn untyped_values_are_copied_and_missing_ones_are_null() {
    let typed = Int8Array::from(vec![None, None, Some(1)]);
    let rows = shredded(&[Some(&[5, b'z']), None, None], Arc::new(typed));
    assert_eq!(
        values(&rows),
        [Some(vec![5, b'z']), Some(vec![0]), Some(vec![12, 1])]
    );
    let (fields, arrays, _) = rows.into_parts();
    let rows = StructArray::new(
        fields,
        arrays,
        Some(NullBuffer::from(vec![true, false, true])),
    );
    assert_eq!(
        values(&rows),
        [Some(vec![5, b'z']), None, Some(vec![12, 1])]
    );
    assert!(unshred(&rows).unwrap().is_null(1));
}

#[test]
fn objects_merge_typed_and_untyped_fields_by_name() {
    let field = |value: Option<&[u8]>, typed: Option<i8>| -> ArrayRef {
        let typed: ArrayRef = Arc::new(Int8Array::from(vec![typed; 2]));
        Arc::new(structure(
            vec![("value", binary(&[value; 2])), ("typed_value", typed)],
            None,
        ))
    };
    // cc before a, and b missing
    let objects: ArrayRef = Arc::new(structure(
        vec![("cc", field(None, Some(9))), ("a", field(Some(&[0]), None))],
        None,
    ));
    // an object with one field, b: true
    let rest: &[u8] = &[0b10, 1, 1, 0, 1, 4];
    let rows = shredded(&[None, Some(rest)], Arc::clone(&objects));
    assert_eq!(
        values(&rows),
        [
            Some(vec![0b10, 2, 0, 2, 0, 1, 3, 0, 12, 9]),
            Some(vec![0b10, 3, 0, 1, 2, 0, 1, 2, 4, 0, 4, 12, 9]),
        ]
    );
    for (rest, code) in [
        (&[0b10, 1, 0, 0, 1, 4][..], "variant.conflict"), // a is also shredded
        (&[0b10, 1, 7, 0, 1, 4], "variant.value"),        // an id without a name
        (&[0b10, 9, 1, 0, 1, 4], "variant.value"),        // truncated
        (&[12, 1], "variant.value"),                      // not an object
    ] {
        let rows = shredded(&[None, Some(rest)], Arc::clone(&objects));
        assert_eq!(unshred(&rows).unwrap_err().code(), code, "{rest:?}");
    }
}

#[test]
fn lists_have_typed_and_untyped_elements() {
    let elements = |typed: Vec<Option<i8>>, plain: &[Option<&[u8]>]| -> ArrayRef {
        let typed: ArrayRef = Arc::new(Int8Array::from(typed));
        Arc::new(structure(
            vec![("value", binary(plain)), ("typed_value", typed)],
            None,
        ))
    };
    let list = |lengths: Vec<usize>, elements: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("element", elements.data_type().clone(), true));
        Arc::new(ListArray::new(
            field,
            OffsetBuffer::from_lengths(lengths),
            elements,
            None,
        ))
    };
    let few = elements(vec![Some(1), None, None], &[None, Some(&[4]), None]);
    let rows = shredded(&[None; 2], list(vec![3, 0], few));
    assert_eq!(
        values(&rows),
        [
            Some(vec![3, 3, 0, 2, 3, 4, 12, 1, 4, 0]),
            Some(vec![3, 0, 0])
        ]
    );

    let many = elements(vec![Some(7); 300], &[None; 300]);
    let bytes = values(&shredded(&[None], list(vec![300], many)))[0]
        .clone()
        .unwrap();
    // large, offsets of two bytes: 300 elements, 301 offsets, two bytes each
    assert_eq!(bytes[..9], [0b1_0111, 44, 1, 0, 0, 0, 0, 2, 0]);
    assert_eq!(bytes.len(), 1 + 4 + 301 * 2 + 600);
}

#[test]
fn invalid_variants_are_refused() {
    let rows = shredded(&[Some(&[12, 1])], Arc::new(Int8Array::from(vec![1])));
    assert_eq!(unshred(&rows).unwrap_err().code(), "variant.conflict");
    let typed: ArrayRef = Arc::new(Int8Array::from(vec![1]));
    for metadata in [
        &[][..],
        &[0x02, 0, 0],
        &[0x01, 3, 0, 1],
        &[0x01, 0xff],
        &[0xc1, 0xff, 0xff, 0xff, 0xff],
        &[0x01, 1, 0, 1, 0xff],
    ] {
        let rows = structure(
            vec![
                ("metadata", binary(&[Some(metadata)])),
                ("typed_value", Arc::clone(&typed)),
            ],
            None,
        );
        assert_eq!(
            unshred(&rows).unwrap_err().code(),
            "variant.metadata",
            "{metadata:?}"
        );
    }
    let unsigned: ArrayRef = Arc::new(arrow_array::UInt8Array::from(vec![1]));
    assert_eq!(
        unshred(&shredded(&[None], unsigned)).unwrap_err().code(),
        "variant.columns"
    );
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let rows = structure(
        vec![("metadata", binary(&[Some(NAMES)])), ("value", text)],
        None,
    );
    assert_eq!(unshred(&rows).unwrap_err().code(), "variant.columns");
}
