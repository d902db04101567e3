use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int32Array, Int64Array, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::Field;

use super::*;

/// A column of each kind; the last row is null.
fn columns() -> Vec<ArrayRef> {
    let strings: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a"),
        Some("a"),
        Some(""),
        Some("ab"),
        None,
    ]));
    let field = Arc::new(Field::new("t", DataType::Utf8, true));
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in [
        Some(&["a"][..]),
        Some(&["a"]),
        Some(&[]),
        Some(&["b"]),
        None,
    ] {
        lists.append_option(row.map(|row| row.iter().map(Some)));
    }
    let numbers = || [Some(1), Some(1), Some(0), Some(-1), None].into_iter();
    let nan = f64::from_bits(f64::NAN.to_bits() | 1);
    let floats = [Some(0.0), Some(-0.0), Some(f64::NAN), Some(nan), None];
    vec![
        Arc::new(numbers().map(|n| n.map(|n| n as i8)).collect::<Int8Array>()),
        Arc::new(numbers().collect::<Int32Array>()),
        Arc::new(numbers().map(|n| n.map(i64::from)).collect::<Int64Array>()),
        Arc::new(numbers().collect::<Date32Array>()),
        Arc::new(
            numbers()
                .map(|n| n.map(i64::from))
                .collect::<TimestampMicrosecondArray>(),
        ),
        Arc::new(
            numbers()
                .map(|n| n.map(i128::from))
                .collect::<Decimal128Array>(),
        ),
        Arc::new(
            numbers()
                .map(|n| n.map(|n| n > 0))
                .collect::<BooleanArray>(),
        ),
        Arc::new(floats.into_iter().collect::<Float64Array>()),
        Arc::new(
            floats
                .into_iter()
                .map(|float| float.map(|float| float as f32))
                .collect::<Float32Array>(),
        ),
        Arc::new(BinaryArray::from_opt_vec(vec![
            Some(b"a"),
            Some(b"a"),
            Some(b""),
            Some(b"ab"),
            None,
        ])),
        Arc::new(lists.finish()),
        Arc::new(StructArray::from(vec![(field, Arc::clone(&strings))])),
        strings,
    ]
}

/// Compares all pairs of rows of two batches.
#[test]
fn values_differ_if_their_hashes_do() {
    for column in columns() {
        let name = format!("{}", column.data_type());
        let batch = RecordBatch::try_from_iter([("c", Arc::clone(&column))]).unwrap();
        let batches = [&batch.slice(0, 2), &batch.slice(2, 3)];
        let locations: Vec<BatchRow> = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
            .map(|(batch, row)| BatchRow { batch, row })
            .to_vec();
        let pairs: Vec<[BatchRow; 2]> = locations
            .iter()
            .flat_map(|left| locations.iter().map(|right| [*left, *right]))
            .collect();
        let hashes = hash_rows([&column], 5, 7).unwrap();
        let expected: Vec<bool> = hashes
            .iter()
            .flat_map(|left| hashes.iter().map(move |right| left != right))
            .collect();
        assert_eq!(differ(&batches, 1, &pairs, 7).unwrap(), expected, "{name}");
        assert!(expected.contains(&true) && !expected[1], "{name}");
    }
}

#[test]
fn rows_differ_if_one_compared_column_does() {
    let same: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 1]));
    let other: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 2]));
    let batch = RecordBatch::try_from_iter([("a", Arc::clone(&other)), ("b", same)]).unwrap();
    let at = |row| BatchRow { batch: 0, row };
    let pairs = [[at(0), at(1)], [at(0), at(2)], [at(2), at(2)]];
    let differing = differ(&[&batch], 2, &pairs, 7).unwrap();
    assert_eq!(differing, [false, true, false]);
    // columns after the compared ones do not count
    let reordered = RecordBatch::try_from_iter([("b", batch.column(1).clone()), ("a", other)]);
    let differing = differ(&[&reordered.unwrap()], 1, &pairs, 7).unwrap();
    assert_eq!(differing, [false; 3]);
}
