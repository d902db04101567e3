//! Log cleanup; by default, versions are kept for 30 days.

use super::*;
use crate::derived::checkpoint::{CheckpointLayout, write_checkpoint};
use crate::log::path::commit_path;
use crate::snapshot::tests::written_log::{WrittenLog, add, in_days};

/// Versions 0 to 3, each except the first with one more file.
fn log() -> WrittenLog {
    let log = WrittenLog::new();
    for version in 1..4 {
        log.commit(version, &[add(&format!("file{version}"), 1)]);
    }
    log
}

fn checkpoint(log: &WrittenLog, version: u64) {
    let snapshot = load(&log.0, Some(version), false).unwrap();
    write_checkpoint(&log.0, &snapshot, CheckpointLayout::Classic).unwrap();
}

#[test]
fn cleanup_deletes_expired_commits_before_the_newest_checkpoint() {
    let log = log();
    checkpoint(&log, 2);

    let planned = cleanup_log(&log.0, &log.newest(), in_days(32), true).unwrap();
    assert!(
        load(&log.0, Some(1), false).is_ok(),
        "a dry run deletes nothing"
    );
    let done = cleanup_log(&log.0, &log.newest(), in_days(32), false).unwrap();

    let expired = [commit_path(0), commit_path(1)];
    assert_eq!(
        (&planned.files, &done.files),
        (&expired.to_vec(), &expired.to_vec())
    );
    assert_eq!(done.earliest_version, Some(2));
    let gone = load(&log.0, Some(1), false).unwrap_err();
    assert_eq!(gone.code(), "version.not_found");
    let files = [2, 3].map(|version| {
        let snapshot = load(&log.0, Some(version), false).unwrap();
        snapshot.num_files(&log.0).unwrap()
    });
    assert_eq!(files, [2, 3]);
}

#[test]
fn cleanup_keeps_recent_commits() {
    let log = log();
    checkpoint(&log, 2);

    let done = cleanup_log(&log.0, &log.newest(), in_days(29), false).unwrap();

    assert_eq!((done.files.len(), done.earliest_version), (0, None));
}

#[test]
fn cleanup_requires_a_readable_checkpoint() {
    let log = log();
    let notes = || {
        let done = cleanup_log(&log.0, &log.newest(), in_days(32), false).unwrap();
        assert_eq!(done.files.len(), 0);
        done.notes.join("; ")
    };

    assert_eq!(notes(), "there is no checkpoint at or before version 3");
    log.put(
        "_delta_log/00000000000000000002.checkpoint.parquet",
        "no Parquet",
    );
    assert!(notes().starts_with("the checkpoint of version 2 cannot replace"));
}
