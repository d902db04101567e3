//! Services that crash: the next reader sees the complete old version or the complete new one.
//!
//! Each service runs once to count its writes; then it crashes at each of them, in every way.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::cast::AsArray;
use deltareplay_core::codec::file_columns::FileColumns;
use deltareplay_core::derived::checkpoint::{CheckpointLayout, write_checkpoint};
use deltareplay_core::derived::checksum::{write_checksum, write_checksum_from_previous};
use deltareplay_core::derived::cleanup::cleanup_log;
use deltareplay_core::derived::compaction::compact_log;
use deltareplay_core::error::Result;
use deltareplay_core::log::path::commit_path;
use deltareplay_core::maintenance::restore;
use deltareplay_core::maintenance::vacuum::{self, VacuumOptions};
use deltareplay_core::maintenance::verify::{Severity, verify};
use deltareplay_core::replay::Source;
use deltareplay_core::snapshot::load::load;
use deltareplay_core::transaction::TransactionOptions;

use crate::crash_storage::{Crash, CrashStorage};
use crate::support::{Log, add, remove};

const DAY: i64 = 24 * 60 * 60 * 1000;
const ALL: [Crash; 4] = [Crash::Before, Crash::Torn, Crash::After, Crash::Full];

/// Creates a table with six versions and files; it has the features for all kinds of checkpoints.
fn table() -> Log {
    let log = Log::new();
    log.commit(
        0,
        &[
            r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["v2Checkpoint"],"writerFeatures":["v2Checkpoint"]}}"#.to_owned(),
            r#"{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}"#.to_owned(),
        ],
    );
    for version in 1..6 {
        let mut lines = vec![add(&format!("f{version}"))];
        if version > 2 {
            lines.push(remove(&format!("f{}", version - 2)));
        }
        log.commit(version, &lines);
        fs::write(Path::new(&log.uri()).join(format!("f{version}")), "x").unwrap();
    }
    log
}

fn source(log: &Log) -> Source {
    Source::new(&log.uri(), &[], None, None).unwrap()
}

fn files(source: &Source, version: Option<u64>) -> (u64, BTreeSet<String>) {
    let snapshot = load(source, version, false).unwrap();
    let table = snapshot.files(source, &FileColumns::all(), None).unwrap();
    let mut paths = BTreeSet::new();
    for rows in &table.batches {
        let column = rows.column_by_name("path").unwrap().as_string::<i32>();
        paths.extend(column.iter().flatten().map(str::to_owned));
    }
    (snapshot.version(), paths)
}

/// Lets `service` crash at each of its writes in each way. Checks that every version from `first` on, and the
/// newest one, is unchanged; a version that the service created has the files `new`.
fn check_crashes(
    first: u64,
    prepare: impl Fn(&Log),
    new: Option<BTreeSet<String>>,
    service: impl Fn(&Source) -> Result<()>,
) {
    let log = table();
    prepare(&log);
    let counting = Arc::new(CrashStorage::new(
        source(&log).storage,
        usize::MAX,
        Crash::After,
    ));
    let mut counted = source(&log);
    counted.storage = Arc::clone(&counting) as _;
    service(&counted).unwrap();
    let writes = counting.writes();
    assert!(writes > 0, "the service writes nothing");

    for how in ALL {
        for at in 0..writes {
            let log = table();
            prepare(&log);
            let whole = source(&log);
            let before: Vec<_> = (first..6).map(|v| files(&whole, Some(v))).collect();
            let mut crashing = whole.clone();
            crashing.storage = Arc::new(CrashStorage::new(whole.storage.clone(), at, how));
            let _crashed_or_not = service(&crashing);

            let case = format!("{how:?} at write {at} of {writes}");
            let after: Vec<_> = (first..6).map(|v| files(&whole, Some(v))).collect();
            assert_eq!(after, before, "{case}");
            let (version, paths) = files(&whole, None);
            if version == 5 {
                assert_eq!(&paths, &before.last().unwrap().1, "{case}");
            } else {
                assert_eq!(Some(&paths), new.as_ref(), "{case}");
            }
            // only checkpoints and compacted files may be torn, never commits
            let report = verify(&whole, false, false).unwrap();
            let lost = [
                "log.gap",
                "log.truncated",
                "commit.torn",
                "commit.json",
                "commit.empty",
            ];
            for finding in &report.findings {
                let path = finding.path.as_deref().unwrap_or_default();
                let is_derived = path.contains(".checkpoint.") || path.contains(".compacted.");
                if how == Crash::Torn && is_derived {
                    continue;
                }
                assert!(!lost.contains(&finding.code), "{case}: {finding:?}");
                if how != Crash::Torn {
                    assert!(finding.severity != Severity::Error, "{case}: {finding:?}");
                }
            }
            // and another process can finish the work
            if how != Crash::Torn {
                service(&whole).unwrap();
                assert_eq!(files(&whole, Some(5)), *before.last().unwrap(), "{case}");
            }
        }
    }
}

#[test]
fn crashes_while_writing_checkpoints() {
    for layout in [
        CheckpointLayout::Classic,
        CheckpointLayout::V2,
        CheckpointLayout::V2Json,
    ] {
        check_crashes(
            0,
            |_| (),
            None,
            |source| {
                let snapshot = load(source, None, false)?;
                write_checkpoint(source, &snapshot, layout).map(drop)
            },
        );
    }
}

#[test]
fn crashes_while_writing_checksums() {
    check_crashes(
        0,
        |_| (),
        None,
        |source| {
            let snapshot = load(source, None, false)?;
            write_checksum(source, &snapshot, None).map(drop)
        },
    );
    let with_one_before = |log: &Log| {
        let source = source(log);
        let snapshot = load(&source, Some(4), false).unwrap();
        write_checksum(&source, &snapshot, None).unwrap();
    };
    check_crashes(0, with_one_before, None, |source| {
        let commit = source.storage.read(&commit_path(5))?;
        write_checksum_from_previous(source, 5, None, &commit).map(drop)
    });
}

#[test]
fn crashes_while_compacting_the_log() {
    check_crashes(
        0,
        |_| (),
        None,
        |source| compact_log(source, Some(0), Some(5)).map(drop),
    );
}

fn age_commits(log: &Log) {
    let now = SystemTime::now();
    for version in 0..6_u32 {
        let path = log.path(&format!("{version:020}.json"));
        let age = std::time::Duration::from_secs(u64::from(60 - 10 * version) * 24 * 3600);
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(now - age).unwrap();
    }
    let source = source(log);
    for (version, layout) in [(1, CheckpointLayout::Classic), (2, CheckpointLayout::V2)] {
        let snapshot = load(&source, Some(version), false).unwrap();
        write_checkpoint(&source, &snapshot, layout).unwrap();
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_millis()).unwrap()
}

#[test]
fn crashes_while_cleaning_the_log() {
    check_crashes(2, age_commits, None, |source| {
        let snapshot = load(source, None, false)?;
        let report = cleanup_log(source, &snapshot, now(), false)?;
        assert!(
            report.notes.is_empty() || report.files.is_empty(),
            "{report:?}"
        );
        Ok(())
    });
}

#[test]
fn crashes_while_vacuuming() {
    let options = VacuumOptions {
        retention: Some(0),
        lite: false,
        dry_run: false,
        force: true,
    };
    check_crashes(
        0,
        |_| (),
        None,
        |source| {
            let snapshot = load(source, None, false)?;
            let report = vacuum::plan(source, &snapshot, now() + 2 * DAY, &options)?;
            assert!(report.files.iter().all(|file| file != "f4" && file != "f5"));
            vacuum::delete(source, &report)?;
            for live in ["f4", "f5"] {
                source.storage.head(live)?;
            }
            Ok(())
        },
    );
}

#[test]
fn crashes_while_restoring() {
    let expected = ["f1", "f2"].map(str::to_owned).into();
    check_crashes(
        0,
        |_| (),
        Some(expected),
        |source| {
            let newest = load(source, Some(5), false)?;
            let target = load(source, Some(2), false)?;
            let options = TransactionOptions {
                timeout: std::time::Duration::from_millis(50),
                ..TransactionOptions::default()
            };
            let (transaction, _) = restore::prepare(source, &newest, &target, false, options)?;
            match transaction.commit() {
                // the previous write was executed, although the response was lost
                Err(error) if error.code().starts_with("conflict.") => Ok(()),
                other => other.map(drop),
            }
        },
    );
}
