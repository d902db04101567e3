//! The functions of [`crate::maintenance`] on a table whose files are all recent; `crate::maintenance` has
//! tests at other times.

use super::*;
use crate::maintenance::vacuum::VacuumOptions;

/// Returns the operations of the newest `limit` commits, newest first.
fn operations(table: &Table, limit: usize) -> Vec<String> {
    let history = table.history(Some(limit)).unwrap();
    let operations = history.column_by_name("operation").unwrap();
    let operations = operations.as_string::<i32>().iter();
    operations.map(|name| name.unwrap().to_owned()).collect()
}

/// Deletes everything that is not live at once.
const AT_ONCE: VacuumOptions = VacuumOptions {
    retention: Some(0),
    lite: false,
    dry_run: false,
    force: true,
};

#[test]
fn vacuum_commits_what_it_deletes() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);
    table.delete(None, RowsOptions::default()).unwrap();
    // files of this very millisecond are not older than the cutoff
    std::thread::sleep(std::time::Duration::from_millis(20));

    let result = table
        .vacuum(
            VacuumOptions {
                dry_run: true,
                ..AT_ONCE
            },
            true,
        )
        .unwrap();
    assert_eq!((result.files.len(), newest(&table).version()), (2, 3));
    let done = table.vacuum(AT_ONCE, true).unwrap();

    assert_eq!(done.files, result.files);
    assert_eq!(operations(&table, 2), ["VACUUM END", "VACUUM START"]);
    let left = table.vacuum(AT_ONCE, false).unwrap();
    assert!(left.files.is_empty(), "{left:?}");
}

#[test]
fn restore_makes_an_older_version_the_newest() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);
    table
        .delete(Some(&condition("id = 1")), RowsOptions::default())
        .unwrap();

    let done = table.restore(At::Version(1), false).unwrap();

    assert_eq!((done.version, done.restored_version), (4, 1));
    assert_eq!((done.num_restored_files, done.num_removed_files), (1, 1));
    assert_rows(&table, &[(1, "a")]);
    assert_eq!(operations(&table, 1), ["RESTORE"]);
    assert_eq!(
        table.restore(At::Version(1), false).unwrap().version,
        4,
        "nothing to do"
    );
}

#[test]
fn a_young_log_is_kept() {
    let table = table_of(&[&[(1, "a")]]);
    table.checkpoint(&newest(&table), None).unwrap();

    let done = table.cleanup_log(false).unwrap();

    assert_eq!((done.earliest_version, done.files.len()), (None, 0));
    assert_eq!(done.notes, ["no commit is that old"]);
}

#[test]
fn a_table_that_was_written_here_is_sound() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);
    table.checkpoint(&newest(&table), None).unwrap();

    let report = table.verify(true, true).unwrap();

    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(
        (report.version, report.num_commits, report.num_files),
        (2, 3, Some(2))
    );
    assert_eq!((report.num_checkpoints, report.num_checksums), (1, 3));
    assert_eq!(
        nowhere().verify(true, true).unwrap_err().code(),
        "table.not_found"
    );
}

#[test]
fn advice_tells_what_a_checkpoint_would_save() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);

    let advice = table.optimize_log().unwrap();

    assert_eq!(
        (advice.version, advice.num_commits, advice.num_files),
        (2, 3, 2)
    );
    assert!(advice.with_checkpoint.is_some() && advice.with_compaction.is_some());
    table.checkpoint(&newest(&table), None).unwrap();
    assert!(
        table.optimize_log().unwrap().with_checkpoint.is_none(),
        "there is one"
    );
}
