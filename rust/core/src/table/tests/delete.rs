use super::*;

fn delete(table: &Table, text: &str) -> RowsWritten {
    let options = RowsOptions::default();
    table.delete(Some(&condition(text)), options).unwrap()
}

#[test]
fn files_with_other_rows_are_written_again_without_the_deleted_ones() {
    let table = table_of(&[&[(1, "a"), (2, "b")], &[(3, "c")], &[(4, "d")]]);

    let done = delete(&table, "id > 1 AND id < 4");

    assert_eq!(done.version, Some(4));
    // the file of row 3 is removed, that of rows 1 and 2 becomes one of row 1
    let names = [
        "numDeletedRows",
        "numCopiedRows",
        "numRemovedFiles",
        "numAddedFiles",
    ];
    assert_eq!(metrics(&done, names), [2, 1, 2, 1]);
    assert_rows(&table, &[(1, "a"), (4, "d")]);
}

#[test]
fn a_deletion_vector_leaves_the_file_where_it_is() {
    let table = created(TableDefinition {
        properties: properties(&[("delta.enableDeletionVectors", "true")]),
        ..definition()
    });
    append(&table, &[(1, "a"), (2, "b"), (3, "c")]);

    let done = delete(&table, "name = 'b'");

    let names = ["numDeletedRows", "numCopiedRows", "numDeletionVectorsAdded"];
    assert_eq!(metrics(&done, names), [1, 0, 1]);
    assert_rows(&table, &[(1, "a"), (3, "c")]);
    assert_eq!(newest(&table).num_rows(table.source()).unwrap(), Some(2));
}

#[test]
fn nothing_is_committed_where_no_row_satisfies_the_condition() {
    let table = table_of(&[&[(1, "a")]]);

    let done = delete(&table, "id = 2");

    assert_eq!((done.version, newest(&table).version()), (None, 1));
}

#[test]
fn all_rows_go_without_a_condition() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);

    table.delete(None, RowsOptions::default()).unwrap();

    assert_rows(&table, &[]);
    assert_eq!(num_files(&table), 0);
}
