//! Files are kept for a week by default.

use super::*;
use crate::maintenance::vacuum::{VacuumOptions, delete, plan};

const FULL: VacuumOptions = VacuumOptions {
    retention: None,
    lite: false,
    dry_run: false,
    force: false,
};

const LITE: VacuumOptions = VacuumOptions { lite: true, ..FULL };

/// Ten days from now all files are older than a week, and so is the removal of `old`, but not that of
/// `young`.
fn log() -> WrittenLog {
    let log = WrittenLog::new();
    for path in [
        "live", "old", "young", "nobody", "a/nobody", "_hidden", ".hidden",
    ] {
        log.put(path, "12345");
    }
    log.commit(1, &["live", "old", "young"].map(|path| add(path, 5)));
    log.commit(2, &[remove("old", in_days(1)), remove("young", in_days(5))]);
    log
}

#[test]
fn files_that_no_version_of_the_last_week_has_go() {
    let log = log();

    let report = plan(&log.0, &log.newest(), in_days(10), &FULL).unwrap();

    let mut files = report.files.clone();
    files.sort_unstable();
    assert_eq!(files, ["a/nobody", "nobody", "old"]);
    assert_eq!(report.size_in_bytes, 15);
    delete(&log.0, &report).unwrap();
    let mut left = log.data_files();
    left.sort_unstable();
    assert_eq!(left, [".hidden", "_hidden", "live", "young"]);
}

#[test]
fn young_files_stay() {
    let log = log();

    let report = plan(&log.0, &log.newest(), in_days(6), &FULL).unwrap();

    assert!(report.files.is_empty(), "{report:?}");
}

#[test]
fn a_lite_vacuum_deletes_only_files_that_the_log_removed() {
    let log = log();

    let report = plan(&log.0, &log.newest(), in_days(10), &LITE).unwrap();

    assert_eq!(report.files, ["old"]);
}

#[test]
fn a_shorter_retention_has_to_be_forced() {
    let log = log();
    let options = VacuumOptions {
        retention: Some(MILLIS_PER_DAY),
        ..FULL
    };

    let refused = plan(&log.0, &log.newest(), in_days(10), &options).unwrap_err();
    assert_eq!(refused.code(), "vacuum.retention");
    let forced = VacuumOptions {
        force: true,
        ..options
    };
    let mut files = plan(&log.0, &log.newest(), in_days(10), &forced)
        .unwrap()
        .files;

    files.sort_unstable();
    assert_eq!(files, ["a/nobody", "nobody", "old", "young"]);
}

#[test]
fn a_table_may_ask_for_a_longer_one() {
    let log =
        WrittenLog::with_properties(r#""delta.deletedFileRetentionDuration":"interval 30 days""#);
    log.put("nobody", "1");

    let files = |days| {
        let report = plan(&log.0, &log.newest(), in_days(days), &FULL);
        report.unwrap().files
    };

    assert_eq!(files(29), [""; 0]);
    assert_eq!(files(31), ["nobody"]);
}
