use super::*;
use crate::maintenance::restore::{Restored, prepare};
use crate::transaction::TransactionOptions;

/// Version 1 has the files `a` and `b`, version 2 `b` and `c`; they have 1, 2 and 3 bytes.
fn log() -> WrittenLog {
    let log = WrittenLog::new();
    for (path, bytes) in [("a", "1"), ("b", "12"), ("c", "123")] {
        log.put(path, bytes);
    }
    log.commit(1, &[add("a", 1), add("b", 2)]);
    log.commit(2, &[remove("a", in_days(0)), add("c", 3)]);
    log
}

/// Restores version 1.
fn restore(log: &WrittenLog, ignore_missing: bool) -> Result<Restored, &'static str> {
    let target = load(&log.0, Some(1), false).unwrap();
    let options = TransactionOptions::default();
    let (transaction, report) = prepare(&log.0, &log.newest(), &target, ignore_missing, options)
        .map_err(|error| error.code())?;
    transaction.commit().unwrap();
    Ok(report)
}

/// Returns the number and total size of the files in the newest version.
fn totals(log: &WrittenLog) -> (u64, u64) {
    let newest = log.newest();
    let files = newest.num_files(&log.0).unwrap();
    (files, newest.size_in_bytes(&log.0).unwrap())
}

#[test]
fn restores_old_files_and_removes_newer_ones() {
    let log = log();

    let report = restore(&log, false).unwrap();

    assert_eq!(
        (report.num_restored_files, report.restored_files_size),
        (1, 1)
    );
    assert_eq!(
        (report.num_removed_files, report.removed_files_size),
        (1, 3)
    );
    assert_eq!((log.newest().version(), totals(&log)), (3, (2, 3)));
}

#[test]
fn refuses_missing_files_unless_they_are_ignored() {
    let log = log();
    log.delete("a");

    assert_eq!(restore(&log, false).unwrap_err(), "restore.missing_files");
    let report = restore(&log, true).unwrap();

    assert_eq!(
        (report.missing_files, report.num_restored_files),
        (vec!["a".to_owned()], 0)
    );
    assert_eq!(totals(&log), (1, 2), "b alone");
}

#[test]
fn restores_properties_but_keeps_the_newest_id() {
    let log = log();
    let metadata = format!(
        r#"{{"metaData":{{"id":"newest","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{SCHEMA}","partitionColumns":[],"configuration":{{"owner":"us"}}}}}}"#
    );
    log.commit(3, &[metadata]);

    restore(&log, false).unwrap();

    let newest = log.newest();
    assert_eq!(newest.metadata().property("owner"), None);
    assert_eq!(newest.metadata().id, "newest");
}
