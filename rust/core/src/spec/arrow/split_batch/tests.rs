use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Int64Array, ListArray, StringArray, StringViewArray};

use super::*;

fn sizes(column: ArrayRef, rows: usize, bytes: u64) -> Vec<usize> {
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let mut sizes = Vec::new();
    let mut push = |piece: RecordBatch| -> Result<(), ()> {
        sizes.push(piece.num_rows());
        Ok(())
    };
    split_batch(batch, rows, bytes, &mut push).unwrap();
    sizes
}

#[test]
fn pieces_have_at_most_the_maximum_rows_and_bytes() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1; 10]));
    assert_eq!(sizes(numbers.clone(), 4, 1_000), [4, 4, 2]);
    assert_eq!(sizes(numbers.clone(), 100, 60), [5, 5]);
    assert_eq!(sizes(numbers.slice(0, 0), 4, 1), Vec::<usize>::new());
}

#[test]
fn shared_values_count_for_each_row() {
    let word = "x".repeat(1_000);
    let views: ArrayRef = Arc::new(StringViewArray::from(vec![word.as_str(); 4]));
    assert_eq!(sizes(views, 100, 2_100), [2, 2]);
    let keys = arrow_array::Int32Array::from(vec![Some(0), None, Some(0), Some(1)]);
    let words = Arc::new(StringArray::from(vec![word.as_str(), ""]));
    let words: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, words));
    assert_eq!(plain_bytes(&*words), 2_000 + 16);
}

#[test]
fn slices_count_only_their_own_values() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1); 100]),
        None,
        Some(vec![Some(2); 2]),
    ]);
    assert_eq!(plain_bytes(&list.slice(1, 2)), 2 * 8 + 2 * 4);
}
