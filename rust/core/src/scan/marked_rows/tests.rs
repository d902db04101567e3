use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
};

use super::MarkedRows;

fn words(rows: &[(Option<i32>, i64, i64)]) -> impl RecordBatchReader {
    let column = |pick: fn(&(Option<i32>, i64, i64)) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(pick)))
    };
    let files: Int32Array = rows.iter().map(|row| row.0).collect();
    let batch = RecordBatch::try_from_iter([
        ("file", Arc::new(files) as ArrayRef),
        ("word", column(|row| row.1)),
        ("bits", column(|row| row.2)),
    ])
    .unwrap();
    let schema = batch.schema();
    RecordBatchIterator::new([Ok(batch)], schema)
}

#[test]
fn words_become_rows_in_any_order() {
    let input = [
        (Some(7), 2, 1),
        (Some(3), 0, 0b101),
        (Some(7), 0, i64::MIN),
        (Some(7), 2, 2),
    ];
    let marked = MarkedRows::from_words(words(&input)).unwrap();
    let rows = |file| marked.rows(file).unwrap().rows().unwrap().values().to_vec();
    assert_eq!(
        marked.files().map(|(file, _)| file).collect::<Vec<_>>(),
        [3, 7]
    );
    assert_eq!(rows(3), [0, 2]);
    assert_eq!(rows(7), [63, 128, 129]);
    assert!(marked.rows(4).is_none());
}

#[test]
fn bitmaps_have_the_index_of_the_file() {
    let marked = MarkedRows::from_words(words(&[(Some(9), 1, 0b11)])).unwrap();
    let batches: Vec<_> = marked.bitmaps(9).collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.len(), 1);
    let vector = batches[0].column_by_name("vector").unwrap();
    assert_eq!(**vector, Int64Array::from(vec![9]));
}

#[test]
fn nulls_and_negative_words_are_refused() {
    for wrong in [(None, 0, 1), (Some(1), -1, 1)] {
        let error = MarkedRows::from_words(words(&[wrong])).unwrap_err();
        assert_eq!(error.code(), "rows.marks");
    }
}
