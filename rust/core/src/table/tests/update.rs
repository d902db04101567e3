use super::*;

fn set(column: &str, formula: &str) -> [(String, String); 1] {
    [(column.to_owned(), formula.to_owned())]
}

#[test]
fn rows_that_satisfy_a_condition_get_other_values() {
    let table = table_of(&[&[(1, "a"), (2, "b")], &[(3, "c")]]);
    let set = [
        ("id".to_owned(), "id * 10".to_owned()),
        ("name".to_owned(), "concat(name, '!')".to_owned()),
    ];

    let done = table
        .update_rows(Some(&condition("id = 2")), &set, RowsOptions::default())
        .unwrap();

    assert_eq!(done.version, Some(3));
    let names = [
        "numUpdatedRows",
        "numCopiedRows",
        "numRemovedFiles",
        "numAddedFiles",
    ];
    assert_eq!(metrics(&done, names), [1, 1, 1, 1]);
    assert_rows(&table, &[(1, "a"), (3, "c"), (20, "b!")]);
}

#[test]
fn all_rows_do_without_a_condition() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);

    let done = table
        .update_rows(None, &set("name", "'z'"), RowsOptions::default())
        .unwrap();

    assert_eq!(metrics(&done, ["numUpdatedRows", "numCopiedRows"]), [2, 0]);
    assert_rows(&table, &[(1, "z"), (2, "z")]);
}

#[test]
fn an_unknown_column_is_refused() {
    let table = table_of(&[&[(1, "a")]]);

    let error = table
        .update_rows(None, &set("age", "1"), RowsOptions::default())
        .unwrap_err();

    assert_eq!(error.code(), "rows.column");
    assert_eq!(newest(&table).version(), 1);
}
