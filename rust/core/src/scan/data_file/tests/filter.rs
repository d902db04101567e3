//! Predicates inside of files: the rows are exactly those, and row groups without any are not read.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Float64Array, Int32Array, StringArray, StructArray};
use arrow_buffer::NullBuffer;

use super::*;
use crate::expr::Predicate;
use crate::storage::counting::Operation;

const ROWS: i32 = 4000;

/// n ascending; x null in the third quarter and NaN in the last; s.k of two letters.
fn file(files: &Files) -> DataFile {
    let n: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS));
    let x = (0..ROWS).map(|row| match row {
        2000..3000 => None,
        3000.. => Some(f64::NAN),
        row => Some(f64::from(row) / 2.0),
    });
    let x: ArrayRef = Arc::new(x.collect::<Float64Array>());
    let letters = (0..ROWS).map(|row| ["aa", "bb", "cc", "dd"][(row / 1000) as usize]);
    let k: ArrayRef = Arc::new(StringArray::from_iter_values(letters));
    let nulls: NullBuffer = (0..ROWS).map(|row| row % 1000 != 7).collect();
    let parts = vec![Field::new("k", k.data_type().clone(), true)];
    let s: ArrayRef = Arc::new(StructArray::new(parts.into(), vec![k], Some(nulls)));
    let column = |name, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    let mut file = files.write(
        "a",
        &parquet_of(
            vec![column("n", n), column("x", x), column("s", s)],
            1000,
            100,
        ),
    );
    file.partition_values = vec![("p".to_owned(), Some("west".to_owned()))];
    file
}

fn table() -> TableLayout {
    let k = r#"{"type":"struct","fields":[{"name":"k","type":"string"}]}"#;
    let mut layout = layout(&[
        ("n", r#""long""#),
        ("x", r#""double""#),
        ("s", k),
        ("p", r#""string""#),
        ("later", r#""integer""#),
    ]);
    layout.partition_columns = vec!["p".to_owned()];
    layout
}

/// The rows by `_row_index`, and how many row groups were left out.
fn found(files: &Files, file: &DataFile, columns: &[&str], sql: &str) -> (Vec<i64>, usize) {
    let columns: Vec<_> = columns.iter().map(|name| (*name).to_owned()).collect();
    let extras = Extras {
        row_index: true,
        ..Extras::default()
    };
    let filter = Predicate::parse_sql(sql)
        .unwrap()
        .bind(&table().schema)
        .unwrap();
    let plan = ReadPlan::new(table(), Some(&columns), extras)
        .unwrap()
        .with_batch_rows(300);
    let plan = plan.with_filter(filter).unwrap();
    assert_eq!(plan.schema().fields().len(), columns.len() + 1);
    let pruned = plan
        .open_file(&*files.storage(), file)
        .unwrap()
        .pruned_row_groups();
    files.counting.take();
    let rows = files.read(&plan, file).unwrap();
    // one for the footer, one for each row group that is read
    assert_eq!(
        files.counting.count(Operation::ReadRanges),
        1 + 4 - pruned,
        "{sql}"
    );
    let index = rows.column_by_name("_row_index").unwrap();
    (index.as_primitive::<Int64Type>().values().to_vec(), pruned)
}

#[test]
fn rows_are_exactly_those_and_row_groups_are_left_out() {
    let files = Files::new();
    let file = file(&files);
    let all = |range: std::ops::Range<i64>| range.collect::<Vec<_>>();
    let cases = [
        ("n = 1500", vec![1500], 3),
        ("n >= 3999 OR n < 2", vec![0, 1, 3999], 2),
        (
            "x > 999",
            all(1999..2000).into_iter().chain(3000..4000).collect(),
            1, // NaN is above all, and may be anywhere
        ),
        ("x IS NULL", all(2000..3000), 2),
        ("x < 1", vec![0, 1], 2),
        (
            "s.k = 'cc' AND n < 2010",
            (2000..2010).filter(|row| *row != 2007).collect(),
            3,
        ),
        ("s.k IS NULL", vec![7, 1007, 2007, 3007], 0),
        ("p = 'east' OR n = 5", vec![5], 3),
        ("p = 'east'", vec![], 4),
        ("later IS NOT NULL OR n = 3000", vec![3000], 3),
        ("later IS NULL AND n > 3997", vec![3998, 3999], 3),
    ];
    for (sql, rows, pruned) in cases {
        for columns in [&["n", "x", "s", "p", "later"][..], &["p"], &[]] {
            assert_eq!(
                found(&files, &file, columns, sql).0,
                rows,
                "{sql} {columns:?}"
            );
        }
        let at_least = found(&files, &file, &["n"], sql).1;
        assert!(
            at_least >= pruned,
            "{sql}: {at_least} of {pruned} row groups were left out"
        );
    }
}

#[test]
fn deleted_rows_stay_away_and_positions_right() {
    let files = Files::new();
    let mut file = file(&files);
    file.deletion_vector = deleting((0..ROWS as u64).filter(|row| row % 2 == 0));
    assert_eq!(
        found(&files, &file, &["x"], "n >= 2500 AND n < 2504"),
        (vec![2501, 2503], 3)
    );
}
