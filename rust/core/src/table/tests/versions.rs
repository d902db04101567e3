//! Older versions, and differences between two of them.

use super::*;
use crate::changes::diff::diff;
use crate::changes::{ChangeOptions, Edge};
use crate::scan::min_max::min_max;

fn at(table: &Table, at: At) -> Vec<(i64, String)> {
    rows_of(table, &table.snapshot(at, None).unwrap())
}

#[test]
fn older_versions_are_read_by_number_and_by_time() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);
    let first = vec![(1, "a".to_owned())];
    let both = vec![(1, "a".to_owned()), (2, "b".to_owned())];
    let tomorrow = crate::storage::now() + 24 * 60 * 60 * 1000;

    assert_eq!(at(&table, At::Version(0)), []);
    assert_eq!(at(&table, At::Version(1)), first);
    assert_eq!(at(&table, At::Latest), both);

    let code = |at| table.snapshot(at, None).unwrap_err().code();
    assert_eq!(code(At::Version(3)), "version.not_found");
    assert_eq!(code(At::Timestamp(tomorrow)), "version.timestamp");
}

#[test]
fn an_update_goes_on_to_the_newest_version() {
    let table = table_of(&[&[(1, "a")]]);
    let old = newest(&table);
    append(&table, &[(2, "b")]);

    let new = table.update(&old).unwrap();

    assert_eq!((old.version(), new.version()), (1, 2));
    assert_eq!(new.num_rows(table.source()).unwrap(), Some(2));
    let diff = diff(table.source(), &old, &new).unwrap();
    assert_eq!(diff.files.num_rows(), 1, "the file that came");
}

#[test]
fn the_log_alone_tells_the_least_and_the_greatest_value() {
    let table = table_of(&[&[(5, "a"), (2, "b")], &[(9, "c")]]);

    let result = min_max(table.source(), &newest(&table), "id");
    let result = result.unwrap().unwrap();

    let value = |at: usize| result.column(at).as_primitive::<Int64Type>().value(0);
    assert_eq!((value(0), value(1)), (2, 9));
}

#[test]
fn changes_are_the_rows_that_came_and_went() {
    let table = table_of(&[&[(1, "a"), (2, "b")]]);
    table
        .delete(Some(&condition("id = 1")), RowsOptions::default())
        .unwrap();

    let changes = table
        .changes(Edge::Version(1), None, ChangeOptions::default())
        .unwrap();

    let mut result = Vec::new();
    for rows in changes.rows().unwrap() {
        let rows = rows.unwrap();
        let column = |name| rows.column_by_name(name).unwrap();
        let ids = column("id").as_primitive::<Int64Type>().values().to_vec();
        let types = column("_change_type").as_string::<i32>();
        let versions = column("_commit_version").as_primitive::<Int64Type>();
        for (at, id) in ids.into_iter().enumerate() {
            result.push((versions.value(at), id, types.value(at).to_owned()));
        }
    }
    result.sort_unstable();
    let expected = [(1, 1, "insert"), (1, 2, "insert"), (2, 1, "delete")];
    assert_eq!(
        result,
        expected.map(|(at, id, what)| (at, id, what.to_owned()))
    );
}
