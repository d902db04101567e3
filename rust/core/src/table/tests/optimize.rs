use super::*;
use crate::maintenance::optimize::Request;

fn optimize(table: &Table, request: &Request) -> RowsWritten {
    table.optimize(request, RowsOptions::default()).unwrap()
}

#[test]
fn small_files_become_one() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")], &[(3, "c")]]);

    let done = optimize(&table, &Request::default());

    assert_eq!(done.version, Some(4));
    assert_eq!(metrics(&done, ["numRemovedFiles", "numAddedFiles"]), [3, 1]);
    assert_rows(&table, &[(1, "a"), (2, "b"), (3, "c")]);
    assert_eq!(
        optimize(&table, &Request::default()).version,
        None,
        "nothing to do"
    );
}

#[test]
fn only_the_requested_partitions_are_packed() {
    let table = created(TableDefinition {
        partition_columns: vec!["name".to_owned()],
        ..definition()
    });
    let table = filled(table, &[&[(1, "a"), (2, "b")], &[(3, "a"), (4, "b")]]);
    let request = |text| Request {
        condition: Some(condition(text)),
        ..Request::default()
    };

    optimize(&table, &request("name = 'a'"));

    assert_eq!(num_files(&table), 3, "one of a, two of b");
    let error = table.optimize(&request("id = 1"), RowsOptions::default());
    assert_eq!(error.unwrap_err().code(), "optimize.where");
}

#[test]
fn rows_are_put_in_order() {
    let table = table_of(&[&[(3, "a"), (1, "a")], &[(4, "a"), (2, "a")]]);
    let request = Request {
        z_order_by: vec!["id".to_owned()],
        ..Request::default()
    };

    optimize(&table, &request);

    let rows = scanned(&table, &newest(&table)).remove(0);
    let ids = rows.column(0).as_primitive::<Int64Type>();
    assert_eq!(ids.values(), &[1, 2, 3, 4]);
}

#[test]
fn deleted_rows_are_purged() {
    let table = created(TableDefinition {
        properties: properties(&[("delta.enableDeletionVectors", "true")]),
        ..definition()
    });
    append(&table, &[(1, "a"), (2, "b")]);
    let two = condition("id = 2");
    table.delete(Some(&two), RowsOptions::default()).unwrap();
    let request = Request {
        purge: true,
        ..Request::default()
    };

    let done = optimize(&table, &request);

    assert_eq!(
        metrics(&done, ["numDeletionVectorsRemoved", "numAddedFiles"]),
        [1, 1]
    );
    assert_rows(&table, &[(1, "a")]);
}
