//! Vacuum; by default, files are kept for a week.

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
/// `recent`.
fn log() -> WrittenLog {
    let log = WrittenLog::new();
    for path in [
        "live", "old", "recent", "orphan", "a/orphan", "_hidden", ".hidden",
    ] {
        log.put(path, "12345");
    }
    log.commit(1, &["live", "old", "recent"].map(|path| add(path, 5)));
    log.commit(
        2,
        &[remove("old", in_days(1)), remove("recent", in_days(5))],
    );
    log
}

#[test]
fn vacuum_deletes_files_that_no_retained_version_has() {
    let log = log();

    let report = plan(&log.0, &log.newest(), in_days(10), &FULL).unwrap();

    let mut files = report.files.clone();
    files.sort_unstable();
    assert_eq!(files, ["a/orphan", "old", "orphan"]);
    assert_eq!(report.size_in_bytes, 15);
    delete(&log.0, &report).unwrap();
    let mut left = log.data_files();
    left.sort_unstable();
    assert_eq!(left, [".hidden", "_hidden", "live", "recent"]);
}

#[test]
fn vacuum_keeps_recent_files() {
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
fn a_shorter_retention_requires_force() {
    let log = log();
    let options = VacuumOptions {
        retention: Some(MILLIS_PER_DAY),
        ..FULL
    };

    let refused = plan(&log.0, &log.newest(), in_days(10), &options).unwrap_err();
    assert_eq!(refused.code(), "vacuum.retention");
    let half_an_hour = VacuumOptions {
        retention: Some(MILLIS_PER_DAY / 48),
        ..FULL
    };
    let refused = plan(&log.0, &log.newest(), in_days(10), &half_an_hour).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("retention of 0.5 hours is shorter"),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("Duration, 168 hours"),
        "{refused}"
    );
    let forced = VacuumOptions {
        force: true,
        ..options
    };
    let mut files = plan(&log.0, &log.newest(), in_days(10), &forced)
        .unwrap()
        .files;

    files.sort_unstable();
    assert_eq!(files, ["a/orphan", "old", "orphan", "recent"]);
}

#[test]
fn vacuum_follows_the_retention_property() {
    let log =
        WrittenLog::with_properties(r#""delta.deletedFileRetentionDuration":"interval 30 days""#);
    log.put("orphan", "1");

    let files = |days| {
        let report = plan(&log.0, &log.newest(), in_days(days), &FULL);
        report.unwrap().files
    };

    assert_eq!(files(29), [""; 0]);
    assert_eq!(files(31), ["orphan"]);
}
