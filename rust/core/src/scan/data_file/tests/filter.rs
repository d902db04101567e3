//! Filters within files: exactly the matching rows are returned, and row groups without any are not read.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Float64Array, Int32Array, StringArray, StructArray};
use arrow_buffer::NullBuffer;

use super::*;
use crate::expr::Predicate;
use crate::storage::tests::counting::Operation;

const ROWS: i32 = 4000;

/// n ascending; x null in the third quarter and NaN in the last; s.k of two letters.
fn file(files: &Files) -> DataFile<'static> {
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
        // without dictionaries, which would be fetched as a whole for a single page
        &parquet_with(
            vec![column("n", n), column("x", x), column("s", s)],
            writer_properties(1000, 100)
                .set_dictionary_enabled(false)
                .build(),
        ),
    );
    file.file.to_mut().partition_values = vec![("p".to_owned(), Some("west".to_owned()))];
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

/// Returns the rows by `_row_index`, and the number of skipped row groups.
fn matches(files: &Files, file: &DataFile<'_>, columns: &[&str], sql: &str) -> (Vec<i64>, usize) {
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
    let pruned = 4 - plan
        .open_file(&files.storage(), file)
        .unwrap()
        .units()
        .len();
    files.counting.take();
    let rows = files.read(&plan, file).unwrap();
    // one for the footer, and one more if the page index is invalid; for each row group that is read, one
    // for the filter and one for the remaining rows
    let reads = files.counting.count(Operation::ReadRanges);
    assert!(reads <= 2 + 2 * (4 - pruned), "{sql}: {reads} reads");
    assert_fetched_once(files, &file.path);
    let index = rows.column_by_name("_row_index").unwrap();
    (index.as_primitive::<Int64Type>().values().to_vec(), pruned)
}

/// Asserts that no byte before the footer was fetched twice.
fn assert_fetched_once(files: &Files, path: &str) {
    let length = files.storage().head(path).unwrap().size;
    let calls = files.counting.calls();
    let mut ranges: Vec<_> = calls.into_iter().flat_map(|call| call.ranges).collect();
    ranges.retain(|range| range.end < length);
    ranges.sort_by_key(|range| range.start);
    let overlap = ranges.windows(2).find(|pair| pair[0].end > pair[1].start);
    assert_eq!(overlap, None);
}

#[test]
fn returns_exactly_the_matching_rows_and_skips_row_groups() {
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
                matches(&files, &file, columns, sql).0,
                rows,
                "{sql} {columns:?}"
            );
        }
        let skipped = matches(&files, &file, &["n"], sql).1;
        assert!(
            skipped >= pruned,
            "{sql}: {skipped} row groups were skipped, not {pruned} or more"
        );
    }
}

/// Returns the rows, and the bytes fetched for them, if these columns are read.
fn fetched(files: &Files, file: &DataFile<'_>, columns: &[&str], sql: &str) -> (Vec<i64>, u64) {
    let rows = matches(files, file, columns, sql).0;
    let calls = files.counting.take();
    // the first call was for the footer
    let ranges = calls.iter().skip(1).flat_map(|call| &call.ranges);
    (rows, ranges.map(|range| range.end - range.start).sum())
}

const ALL: [&str; 5] = ["n", "x", "s", "p", "later"];

#[test]
fn fetches_only_pages_that_may_have_matching_rows() {
    let files = Files::new();
    let file = file(&files);
    let (rows, all) = fetched(&files, &file, &ALL, "later IS NULL");
    assert_eq!(rows.len(), ROWS as usize);
    let cases = [
        ("n = 1550", vec![1550]),
        ("n BETWEEN 1599 AND 1600", vec![1599, 1600]),
        ("x = 51", vec![102]),
        // the pages of s.k in a row group have the same bounds; those of n differ
        ("s.k = 'bb' AND n < 1002", vec![1000, 1001]),
        ("n IN (3, 1300) AND x IS NOT NULL", vec![3, 1300]),
    ];
    for (sql, expected) in cases {
        let (rows, bytes) = fetched(&files, &file, &ALL, sql);
        assert_eq!(rows, expected, "{sql}");
        assert!(
            bytes < all / 5,
            "{sql}: {bytes} of {all} bytes were fetched"
        );
    }
}

#[test]
fn other_columns_are_not_fetched_without_matching_rows() {
    let files = Files::new();
    let file = file(&files);
    // a page of x may match by its bounds, but has no matching row
    let (rows, bytes) = fetched(&files, &file, &ALL, "x = 10.25");
    assert_eq!(rows, Vec::<i64>::new());
    let filter_alone = fetched(&files, &file, &["x"], "x = 10.25").1;
    assert_eq!((bytes, bytes > 0), (filter_alone, true));
}

#[test]
fn an_invalid_page_index_is_ignored() {
    let files = Files::new();
    let whole = file(&files);
    let bytes = std::fs::read(files.directory.path().join(&*whole.path)).unwrap();
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(bytes.clone()))
        .unwrap();
    for junk in [0_u8, 0xFF, 0x19] {
        let mut broken = bytes.clone();
        for column in metadata
            .row_groups()
            .iter()
            .flat_map(|group| group.columns())
        {
            let index = column
                .column_index_range()
                .into_iter()
                .chain(column.offset_index_range());
            for range in index {
                broken[range.start as usize..range.end as usize].fill(junk);
            }
        }
        let broken = files.write("broken", &broken);
        for (sql, expected) in [
            ("n = 1550", vec![1550]),
            ("n >= 3999 OR n < 2", vec![0, 1, 3999]),
        ] {
            assert_eq!(
                matches(&files, &broken, &["x"], sql).0,
                expected,
                "{junk} {sql}"
            );
        }
    }
}

#[test]
fn deleted_rows_are_omitted_and_positions_kept() {
    let files = Files::new();
    let mut file = file(&files);
    file.deletion_vector = deleting((0..ROWS as u64).filter(|row| row % 2 == 0));
    assert_eq!(
        matches(&files, &file, &["x"], "n >= 2500 AND n < 2504"),
        (vec![2501, 2503], 3)
    );
}
