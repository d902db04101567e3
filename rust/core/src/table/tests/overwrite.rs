use super::*;
use crate::table::Replaced;

fn overwrite(table: &Table, rows: &[Row], replaced: Replaced) -> crate::error::Result<RowsWritten> {
    let rows = stream(batch(rows));
    table.overwrite(rows, &replaced, RowsOptions::default())
}

#[test]
fn new_rows_replace_all_rows() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);

    let done = overwrite(&table, &[(3, "c")], Replaced::All).unwrap();

    assert_eq!(done.version, Some(3));
    let names = ["numFiles", "numOutputRows", "numRemovedFiles"];
    assert_eq!(metrics(&done, names), [1, 1, 2]);
    assert_rows(&table, &[(3, "c")]);
}

#[test]
fn new_rows_replace_those_that_satisfy_a_condition_and_satisfy_it_themselves() {
    let table = table_of(&[&[(1, "a"), (2, "b")], &[(3, "c")]]);
    let replaced = || Replaced::Where(condition("id >= 2"));

    let error = overwrite(&table, &[(1, "z")], replaced()).unwrap_err();
    assert_eq!(error.code(), "rows.where");
    overwrite(&table, &[(4, "d"), (5, "e")], replaced()).unwrap();

    assert_rows(&table, &[(1, "a"), (4, "d"), (5, "e")]);
}

#[test]
fn new_rows_replace_the_partitions_that_they_belong_to() {
    let table = created(TableDefinition {
        partition_columns: vec!["name".to_owned()],
        ..definition()
    });
    append(&table, &[(1, "a"), (2, "a"), (3, "b")]);

    overwrite(&table, &[(4, "a"), (5, "c")], Replaced::Partitions).unwrap();

    assert_rows(&table, &[(3, "b"), (4, "a"), (5, "c")]);
}
