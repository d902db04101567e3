//! The returned rows, and columns that are not in files.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{Array, Int64Array, StringArray};

use super::*;
use crate::storage::tests::counting::Operation;

const ROWS: i64 = 10_000;

fn numbers(group: usize, page: usize) -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let strings: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..ROWS).map(|n| format!("row {n}")),
    ));
    let column =
        |name, array: ArrayRef| (Field::new(name, array.data_type().clone(), false), array);
    parquet_of(
        vec![column("n", numbers), column("s", strings)],
        group,
        page,
    )
}

fn two_columns() -> TableLayout {
    layout(&[("n", r#""long""#), ("s", r#""string""#)])
}

fn longs(batch: &RecordBatch, name: &str) -> Vec<i64> {
    batch
        .column_by_name(name)
        .unwrap()
        .as_primitive::<Int64Type>()
        .values()
        .to_vec()
}

/// Every third row, a long run, and single rows at the boundaries of row groups.
fn deleted() -> Vec<u64> {
    let mut rows: Vec<u64> = (0..900).step_by(3).collect();
    rows.extend(2500..4600);
    rows.extend([2999, 3000, 5999, 6000, 9999]);
    rows.sort_unstable();
    rows.dedup();
    rows
}

#[test]
fn deleted_rows_are_omitted_and_positions_kept() {
    let files = Files::new();
    let extras = Extras {
        row_index: true,
        ..Extras::default()
    };
    for (group, page) in [(100_000, 100_000), (3000, 128), (3000, 3000), (7, 7)] {
        let mut file = files.write("a.parquet", &numbers(group, page));
        file.deletion_vector = deleting(deleted());
        for batch_rows in [1, 1000, 1 << 20] {
            if batch_rows == 1 && group != 3000 {
                continue; // slow
            }
            let plan = ReadPlan::new(two_columns(), None, extras)
                .unwrap()
                .with_batch_rows(batch_rows);
            let rows = files.read(&plan, &file).unwrap();
            let expected: Vec<i64> = (0..ROWS)
                .filter(|row| !deleted().contains(&(*row as u64)))
                .collect();
            assert_eq!(longs(&rows, "n"), expected);
            assert_eq!(longs(&rows, "_row_index"), expected);
            let strings = rows.column_by_name("s").unwrap().as_string::<i32>();
            assert!(
                strings
                    .iter()
                    .zip(&expected)
                    .all(|(text, n)| text == Some(&format!("row {n}")))
            );
        }
    }
}

#[test]
fn a_file_whose_rows_are_all_deleted_has_no_rows() {
    let files = Files::new();
    let mut file = files.write("a.parquet", &numbers(3000, 100));
    file.deletion_vector = deleting(0..ROWS as u64);
    assert_eq!(
        files.read(&plan(two_columns()), &file).unwrap().num_rows(),
        0
    );
    // only the footer was read
    assert_eq!(files.counting.count(Operation::ReadRanges), 1);
}

#[test]
fn refuses_a_deletion_vector_beyond_the_last_row() {
    let files = Files::new();
    let mut file = files.write("a.parquet", &numbers(3000, 100));
    file.deletion_vector = deleting(vec![3, ROWS as u64]);
    let error = files.read(&plan(two_columns()), &file).unwrap_err();
    assert_eq!(
        (error.code(), error.path()),
        ("dv.beyond_file", Some("log/a.parquet"))
    );
    file.deletion_vector = deleting(vec![ROWS as u64 - 1]);
    assert_eq!(
        files.read(&plan(two_columns()), &file).unwrap().num_rows(),
        ROWS as usize - 1
    );
}

#[test]
fn row_indexes_and_ids_continue_across_row_groups() {
    let files = Files::new();
    let mut file = files.write("a.parquet", &numbers(3000, 100));
    file.deletion_vector = deleting(deleted());
    let extras = Extras {
        row_index: true,
        row_id: true,
        ..Extras::default()
    };
    let plan = ReadPlan::new(two_columns(), None, extras).unwrap();
    file.file.to_mut().base_row_id = Some(1_000_000);
    file.file.to_mut().default_row_commit_version = Some(7);
    let open = plan.open_file(&files.storage(), &file).unwrap();
    let sizes: Vec<_> = open
        .units()
        .iter()
        .map(|unit| unit.rows.end - unit.rows.start)
        .collect();
    assert_eq!(sizes, [3000, 3000, 3000, 1000]);
    assert!(open.units().iter().all(|unit| unit.bytes > 1000));

    let rows = files.read(&plan, &file).unwrap();
    let expected: Vec<i64> = (0..10_000)
        .filter(|row| !deleted().contains(&(*row as u64)))
        .collect();
    assert_eq!(longs(&rows, "n"), expected);
    assert_eq!(longs(&rows, "_row_index"), expected);
    let ids: Vec<i64> = expected.iter().map(|row| row + 1_000_000).collect();
    assert_eq!(longs(&rows, "_row_id"), ids);
    assert!(
        longs(&rows, "_row_commit_version")
            .iter()
            .all(|version| *version == 7)
    );

    // units read one by one, in another order, return the same rows
    let open = Arc::new(plan.open_file(&files.storage(), &file).unwrap());
    let mut parts = Vec::new();
    for unit in open.units().iter().rev() {
        let batches: Vec<_> = open.read(unit).unwrap().map(Result::unwrap).collect();
        parts.insert(0, concat_batches(&plan.schema(), &batches).unwrap());
    }
    assert_eq!(concat_batches(&plan.schema(), &parts).unwrap(), rows);
}

#[test]
fn fetches_only_the_requested_columns() {
    let files = Files::new();
    let file = files.write("a.parquet", &numbers(100_000, 100_000));
    let fetched = |columns: &[&str]| {
        let columns: Vec<_> = columns.iter().map(|name| (*name).to_owned()).collect();
        let mut layout = two_columns();
        layout.schema = StructType::parse(
            r#"{"type":"struct","fields":[{"name":"n","type":"long"},{"name":"s","type":"string"},
                {"name":"later","type":"double"},{"name":"p","type":"date"}]}"#,
        )
        .unwrap();
        layout.partition_columns = vec!["p".to_owned()];
        let plan = ReadPlan::new(layout, Some(&columns), Extras::default()).unwrap();
        files.counting.take();
        let rows = files.read(&plan, &file).unwrap();
        assert_eq!(rows.num_rows(), ROWS as usize);
        let calls = files.counting.take();
        let footer = calls.first().unwrap().ranges.clone();
        assert_eq!(footer.len(), 1);
        let chunks = calls.into_iter().skip(1).flat_map(|call| call.ranges);
        chunks.map(|range| range.end - range.start).sum::<u64>()
    };
    let (n, s) = (fetched(&["n"]), fetched(&["s"]));
    assert!(n > 0 && s > 0);
    assert_eq!(fetched(&["n", "s"]), n + s);
    // no column of the file: the number of rows is in the footer
    assert_eq!(fetched(&["p"]), 0);
    assert_eq!(fetched(&["later"]), 0);
    assert_eq!(fetched(&[]), 0);
}

#[test]
fn partition_values_and_paths_are_constant_columns() {
    let files = Files::new();
    let mut file = files.write("a.parquet", &numbers(3000, 100));
    let mut layout = layout(&[
        ("s", r#""string""#),
        ("day", r#""date""#),
        ("N", r#""long""#),
        ("city", r#""string""#),
        ("none", r#""string""#),
        ("empty", r#""string""#),
        ("price", r#""decimal(5,2)""#),
    ]);
    layout.partition_columns = ["day", "city", "none", "empty", "price"]
        .map(str::to_owned)
        .to_vec();
    file.file.to_mut().partition_values = vec![
        ("city".to_owned(), Some("Köln".to_owned())),
        ("none".to_owned(), None),
        ("empty".to_owned(), Some(String::new())),
        ("day".to_owned(), Some("1969-12-31".to_owned())),
        ("price".to_owned(), Some("1.5".to_owned())),
    ];
    let extras = Extras {
        file_path: true,
        ..Extras::default()
    };
    let rows = files
        .read(&ReadPlan::new(layout.clone(), None, extras).unwrap(), &file)
        .unwrap();
    let names: Vec<_> = rows
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(
        names,
        [
            "s",
            "day",
            "N",
            "city",
            "none",
            "empty",
            "price",
            "_file_path"
        ]
    );
    assert_eq!(longs(&rows, "N").len(), ROWS as usize); // by a different case than the file's
    let days = rows
        .column_by_name("day")
        .unwrap()
        .as_primitive::<Date32Type>();
    assert!(days.iter().all(|day| day == Some(-1)));
    let text = |name: &str| {
        rows.column_by_name(name)
            .unwrap()
            .as_string::<i32>()
            .clone()
    };
    assert!(text("city").iter().all(|city| city == Some("Köln")));
    assert_eq!(text("none").null_count(), ROWS as usize);
    assert!(text("empty").iter().all(|empty| empty == Some("")));
    assert!(
        text("_file_path")
            .iter()
            .all(|path| path == Some("log/a.parquet"))
    );

    file.file.to_mut().partition_values[3].1 = Some("yesterday".to_owned());
    let error = files.read(&plan(layout), &file).unwrap_err();
    assert_eq!(
        (error.code(), error.path()),
        ("partition_value.parse", Some("log/a.parquet"))
    );
}

#[test]
fn stored_row_ids_take_precedence_over_default_ones() {
    let files = Files::new();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(50), None, Some(7), None]));
    let versions: ArrayRef = Arc::new(Int64Array::from(vec![None, None, Some(3), Some(4)]));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2, 3]));
    let bytes = parquet(vec![
        ("v", values),
        ("_row-id-col-1", ids),
        ("_row-version-col-1", versions),
    ]);
    let mut file = files.write("a.parquet", &bytes);
    file.file.to_mut().base_row_id = Some(100);
    file.file.to_mut().default_row_commit_version = Some(9);
    file.deletion_vector = deleting(vec![0]);
    let mut layout = layout(&[("v", r#""long""#)]);
    layout.row_id_column = Some("_row-id-col-1".to_owned());
    layout.row_commit_version_column = Some("_row-version-col-1".to_owned());
    let extras = Extras {
        row_id: true,
        ..Extras::default()
    };
    let rows = files
        .read(&ReadPlan::new(layout.clone(), None, extras).unwrap(), &file)
        .unwrap();
    assert_eq!(longs(&rows, "_row_id"), [101, 7, 103]);
    assert_eq!(longs(&rows, "_row_commit_version"), [9, 3, 4]);

    // no column of the schema
    let rows = files
        .read(&ReadPlan::new(layout, Some(&[]), extras).unwrap(), &file)
        .unwrap();
    assert_eq!(
        (rows.num_columns(), longs(&rows, "_row_id")),
        (2, vec![101, 7, 103])
    );
}

/// Creates a plan that reads these columns.
fn plan_of(names: &[&str]) -> Result<ReadPlan> {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    ReadPlan::new(two_columns(), Some(&names), Extras::default())
}

#[test]
fn column_names_are_case_insensitive_as_in_spark() {
    let files = Files::new();
    let file = files.write("a.parquet", &numbers(3000, 100));
    let rows = files.read(&plan_of(&["S", "n"]).unwrap(), &file).unwrap();
    let names: Vec<_> = rows
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["s", "n"]);
}

#[test]
fn refuses_unknown_repeated_and_reserved_columns() {
    let error = plan_of(&["m"]).unwrap_err();
    assert_eq!(error.code(), "columns.unknown");
    assert!(error.message().contains("it has n, s"), "{error}");
    assert_eq!(plan_of(&["n", "N"]).unwrap_err().code(), "columns.twice");
    let extras = Extras {
        row_index: true,
        ..Extras::default()
    };
    let plan = ReadPlan::new(layout(&[("_ROW_index", r#""long""#)]), None, extras).unwrap();
    assert_eq!(plan.check_names().unwrap_err().code(), "columns.reserved");
}
