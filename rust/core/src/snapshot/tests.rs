//! Requests to the storage.

pub(crate) mod written_log;

use std::sync::Arc;

use super::Snapshot;
use super::load::load;
use crate::codec::file_columns::FileColumns;
use crate::expr::Predicate;
use crate::replay::Source;
use crate::storage::tests::counting::{CountingStorage, Operation};
use written_log::{WrittenLog, add, add_row, remove};

fn counted(log: &WrittenLog) -> (Source, Arc<CountingStorage>) {
    let mut source = log.0.clone();
    let counting = Arc::new(CountingStorage::new(Arc::clone(&source.storage)));
    source.storage = Arc::clone(&counting) as _;
    (source, counting)
}

/// Returns the number of files that may match a filter.
fn count_files(source: &Source, snapshot: &Snapshot, filter: Option<&str>) -> usize {
    let filter = filter.map(|sql| {
        let predicate = Predicate::parse_sql(sql).unwrap();
        snapshot.filter_of(&predicate).unwrap()
    });
    let files = snapshot.files(source, &FileColumns::all(), filter.as_ref());
    let batches = files.unwrap().batches;
    batches.iter().map(|batch| batch.num_rows()).sum()
}

#[test]
fn opening_reads_one_hint_and_one_listing() {
    let log = WrittenLog::with_files(&["a"]);
    (1..20).for_each(|version| log.commit(version, &[add(&format!("f{version}"), 1)]));
    let (source, counting) = counted(&log);

    let snapshot = load(&source, None, false).unwrap();

    assert_eq!(snapshot.version(), 19);
    assert_eq!(counting.count(Operation::List), 1);
    let hints = counting
        .pairs()
        .iter()
        .filter(|(_, path)| path.ends_with("_last_checkpoint"))
        .count();
    assert_eq!(hints, 1);
}

#[test]
fn the_newest_commit_and_its_checksum_are_read_together() {
    let log = WrittenLog::with_files(&["a"]);
    log.commit(1, &[add("b", 1)]);
    let summary = br#"{"tableSizeBytes":2,"numFiles":2,"numMetadata":1,"numProtocol":1,"protocol":{"minReaderVersion":1,"minWriterVersion":2},"metadata":{"id":"t","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}"#;
    log.0
        .storage
        .put("_delta_log/00000000000000000001.crc", summary)
        .unwrap();
    let (source, counting) = counted(&log);

    load(&source, None, true).unwrap();

    let pairs = counting.pairs();
    let requests = |name: &str| {
        pairs
            .iter()
            .filter(|(_, path)| path.ends_with(name))
            .count()
    };
    assert_eq!(counting.count(Operation::ReadMany), 1, "{pairs:?}");
    assert_eq!(counting.calls().len(), 3, "{pairs:?}"); // hint, listing, these two
    assert_eq!(
        (requests("1.json"), requests("1.crc"), requests("0.json")),
        (1, 1, 0)
    );
}

#[test]
fn files_are_replayed_once() {
    let log = WrittenLog::with_files(&["a", "b"]);
    log.commit(1, &[remove("a", i64::MAX), add("c", 1)]);
    let (source, counting) = counted(&log);
    let snapshot = load(&source, None, false).unwrap();

    assert_eq!(count_files(&source, &snapshot, None), 2);
    counting.take();
    assert_eq!(count_files(&source, &snapshot, None), 2);
    assert_eq!(snapshot.num_files(&source).unwrap(), 2);

    assert_eq!(counting.calls(), []);
}

#[test]
fn cached_files_answer_a_filter() {
    let log = WrittenLog::new();
    for version in 1..100 {
        log.commit(version, &[add_row(&format!("f{version}"), version)]);
    }
    let (source, counting) = counted(&log);
    let snapshot = load(&source, None, false).unwrap();
    assert_eq!(count_files(&source, &snapshot, None), 99);
    counting.take();

    // the first call parses the statistics, the second one reuses them
    for _ in 0..2 {
        let filter = Some("id > 5 AND id <= 25");
        assert_eq!(count_files(&source, &snapshot, filter), 20);
        assert_eq!(counting.calls(), []);
    }
    log.commit(100, &[remove("f7", i64::MAX)]);
    let newer = snapshot.advance(&source).unwrap();
    counting.take();
    assert_eq!(count_files(&source, &newer, Some("id BETWEEN 7 AND 8")), 1);
    assert_eq!(counting.calls(), []);
}

#[test]
fn advancing_reads_only_the_new_commits() {
    let log = WrittenLog::with_files(&["a", "b"]);
    (1..10).for_each(|version| log.commit(version, &[add(&format!("f{version}"), 1)]));
    let (source, counting) = counted(&log);
    let snapshot = load(&source, None, false).unwrap();
    snapshot.files(&source, &FileColumns::all(), None).unwrap();
    log.commit(10, &[remove("a", i64::MAX), add("new", 1)]);
    counting.take();

    let newer = snapshot.advance(&source).unwrap();

    assert_eq!(
        (newer.version(), newer.num_files(&source).unwrap()),
        (10, 11)
    );
    let read = counting
        .pairs()
        .into_iter()
        .filter(|(operation, _)| *operation != Operation::List);
    assert!(
        read.clone()
            .all(|(_, path)| path.ends_with("00000000000000000010.json")),
        "{:?}",
        read.collect::<Vec<_>>()
    );
}
