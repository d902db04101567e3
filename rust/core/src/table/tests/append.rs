use super::*;
use crate::table::SchemaMode;

#[test]
fn appended_rows_are_added_to_existing_rows() {
    let table = table_of(&[&[(1, "a")]]);

    let done = append(&table, &[(2, "b"), (3, "c")]);

    assert_eq!(done.version, Some(2));
    assert_eq!(metrics(&done, ["numFiles", "numOutputRows"]), [1, 2]);
    assert_rows(&table, &[(1, "a"), (2, "b"), (3, "c")]);
}

#[test]
fn an_application_writes_each_of_its_versions_once() {
    let table = table_of(&[]);
    let append = |app_version| {
        let options = RowsOptions {
            txn: Some(("app".to_owned(), app_version)),
            ..RowsOptions::default()
        };
        let rows = stream(batch(&[(app_version, "a")]));
        table.append(rows, options).unwrap().version
    };

    assert_eq!((append(7), append(7), append(8)), (Some(1), None, Some(2)));

    assert_rows(&table, &[(7, "a"), (8, "a")]);
}

#[test]
fn new_columns_are_added_only_in_merge_mode() {
    let table = table_of(&[&[(1, "a")]]);
    let append = |schema_mode| {
        let number = |number: i64| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
        let rows = RecordBatch::try_from_iter([("id", number(2)), ("size", number(20))]);
        let options = RowsOptions {
            schema_mode,
            ..RowsOptions::default()
        };
        table.append(stream(rows.unwrap()), options)
    };

    let error = append(SchemaMode::Fixed).unwrap_err();
    assert_eq!((error.code(), newest(&table).version()), ("rows.column", 1));
    append(SchemaMode::Merge).unwrap();

    let mut result = Vec::new();
    for rows in scanned(&table, &newest(&table)) {
        let column = |at: usize| rows.column(at).as_primitive::<Int64Type>();
        result.extend(column(0).iter().zip(column(2)));
    }
    result.sort_unstable();
    assert_eq!(result, [(Some(1), None), (Some(2), Some(20))]);
}
