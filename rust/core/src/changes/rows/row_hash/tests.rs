use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{Float64Array, Int64Array, StringArray, StructArray};
use arrow_schema::{DataType, Field};

use super::*;

fn hashes_of(columns: &[ArrayRef]) -> Vec<u128> {
    hash_rows(columns, columns[0].len(), 7).unwrap()
}

#[test]
fn only_equal_rows_have_equal_hashes() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(1), None, Some(0)]));
    let strings: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a"),
        Some("a"),
        Some("a"),
        None,
    ]));
    let hashes = hashes_of(&[numbers, strings]);
    assert_eq!(hashes[0], hashes[1]);
    let distinct: std::collections::HashSet<_> = hashes.iter().collect();
    assert_eq!(distinct.len(), 3);
}

#[test]
fn hashes_depend_on_the_boundaries_of_values() {
    let strings = |first: &str, second: &str| -> Vec<ArrayRef> {
        vec![
            Arc::new(StringArray::from(vec![first])),
            Arc::new(StringArray::from(vec![second])),
        ]
    };
    assert_ne!(
        hashes_of(&strings("ab", "c")),
        hashes_of(&strings("a", "bc"))
    );
    let lists = |rows: &[&[&str]]| -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for row in rows {
            builder.append_value(row.iter().map(Some));
        }
        Arc::new(builder.finish())
    };
    let hashes = hashes_of(&[lists(&[&["a", "b"], &["a"], &[], &["a", "b"]])]);
    assert_eq!(hashes[0], hashes[3]);
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(hashes[1], hashes[2]);
}

#[test]
fn slices_hash_like_their_rows() {
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["x", "a", "b"]));
    let field = Arc::new(Field::new("t", DataType::Utf8, true));
    let all: ArrayRef = Arc::new(StructArray::from(vec![(field, strings)]));
    assert_eq!(hashes_of(&[all.slice(1, 2)]), hashes_of(&[all])[1..]);
}

#[test]
fn floats_hash_equal_if_spark_groups_them() {
    let other = f64::from_bits(f64::NAN.to_bits() | 1);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, other, 1.0]));
    let hashes = hashes_of(&[Arc::clone(&floats)]);
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[2], hashes[3]);
    assert_ne!(hashes[0], hashes[4]);
    let field = Arc::new(Field::new("f", DataType::Float64, true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(Arc::clone(&field), floats)]));
    let lists = |field| {
        let lengths = arrow_buffer::OffsetBuffer::from_lengths([1; 5]);
        arrow_array::ListArray::new(field, lengths, Arc::clone(&nested), None)
    };
    let element = Field::new_list_field(nested.data_type().clone(), true);
    let lists: ArrayRef = Arc::new(lists(Arc::new(element)));
    for column in [nested.slice(0, 5), lists] {
        let hashes = hashes_of(&[column]);
        assert_eq!((hashes[0], hashes[2]), (hashes[1], hashes[3]));
        assert_ne!(hashes[0], hashes[4]);
    }
}

#[test]
fn rows_hash_the_same_in_any_batch() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
    let hashes = hashes_of(&[Arc::clone(&numbers)]);
    for row in [0, 4095, 4096, 9_999] {
        assert_eq!(hashes_of(&[numbers.slice(row, 1)])[0], hashes[row]);
    }
    assert_eq!(hash_rows([], 3, 7).unwrap().len(), 3);
}
