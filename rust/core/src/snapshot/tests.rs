//! How often the storage is asked.

use std::sync::Arc;

use super::Snapshot;
use super::columns::FileColumns;
use super::load::load;
use crate::expr::Predicate;
use crate::log::path::commit_path;
use crate::replay::{FileFilter, Source};
use crate::storage::tests::counting::{CountingStorage, Operation};

/// A log in memory.
struct Log(Source);

impl Log {
    fn new(name: &str) -> Self {
        Self(Source::new(&format!("memory://reads-{name}"), &[], None, None).unwrap())
    }

    fn commit(&self, version: u64, lines: &[String]) {
        let text = lines.join("\n");
        let put = self
            .0
            .storage
            .put_if_absent(&commit_path(version), text.as_bytes());
        assert!(put.unwrap());
    }

    /// Version 0 with these files.
    fn create(&self, schema: &str, files: &[&str]) {
        let mut lines = vec![
            r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.to_owned(),
            format!(
                r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet"}},"schemaString":"{schema}","partitionColumns":[],"configuration":{{}}}}}}"#
            ),
        ];
        lines.extend(files.iter().map(|file| add(file)));
        self.commit(0, &lines);
    }
}

const EMPTY: &str = r#"{\"type\":\"struct\",\"fields\":[]}"#;

fn add(path: &str) -> String {
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":1,"modificationTime":1,"dataChange":true}}}}"#
    )
}

fn remove(path: &str) -> String {
    format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":9999999999999,"dataChange":true}}}}"#
    )
}

fn counted(log: &Log) -> (Source, Arc<CountingStorage>) {
    let mut source = log.0.clone();
    let counting = Arc::new(CountingStorage::new(Arc::clone(&source.storage)));
    source.storage = Arc::clone(&counting) as _;
    (source, counting)
}

#[test]
fn opening_takes_one_hint_and_one_listing() {
    let log = Log::new("opening");
    log.create(EMPTY, &["a"]);
    (1..20).for_each(|version| log.commit(version, &[add(&format!("f{version}"))]));
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
fn the_newest_commit_and_its_checksum_are_one_request() {
    let log = Log::new("newest");
    log.create(EMPTY, &["a"]);
    log.commit(1, &[add("b")]);
    let summary = br#"{"tableSizeBytes":2,"numFiles":2,"numMetadata":1,"numProtocol":1,"protocol":{"minReaderVersion":1,"minWriterVersion":2},"metadata":{"id":"t","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}"#;
    log.0
        .storage
        .put("_delta_log/00000000000000000001.crc", summary)
        .unwrap();
    let (source, counting) = counted(&log);

    load(&source, None, true).unwrap();

    let pairs = counting.pairs();
    let asked = |name: &str| {
        pairs
            .iter()
            .filter(|(_, path)| path.ends_with(name))
            .count()
    };
    assert_eq!(counting.count(Operation::ReadMany), 1, "{pairs:?}");
    assert_eq!(counting.calls().len(), 3, "{pairs:?}"); // hint, listing, these two
    assert_eq!(
        (asked("1.json"), asked("1.crc"), asked("0.json")),
        (1, 1, 0)
    );
}

#[test]
fn files_are_replayed_once() {
    let log = Log::new("once");
    log.create(EMPTY, &["a", "b"]);
    log.commit(1, &[remove("a"), add("c")]);
    let (source, counting) = counted(&log);
    let snapshot = load(&source, None, false).unwrap();
    let rows = |snapshot: &Snapshot| -> usize {
        snapshot
            .files(&source, &FileColumns::all(), None)
            .unwrap()
            .batches
            .iter()
            .map(|batch| batch.num_rows())
            .sum()
    };

    assert_eq!(rows(&snapshot), 2);
    counting.take();
    assert_eq!(rows(&snapshot), 2);
    assert_eq!(snapshot.num_files(&source).unwrap(), 2);

    assert_eq!(counting.calls(), []);
}

#[test]
fn what_is_kept_answers_a_filter() {
    let log = Log::new("filter");
    let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;
    log.create(schema, &[]);
    for version in 1..100 {
        let stats = format!(
            r#"{{\"numRecords\":1,\"minValues\":{{\"id\":{version}}},\"maxValues\":{{\"id\":{version}}}}}"#
        );
        let add = add(&format!("f{version}"));
        let add = add.strip_suffix("}}").unwrap();
        log.commit(version, &[format!(r#"{add},"stats":"{stats}"}}}}"#)]);
    }
    let (source, counting) = counted(&log);
    let snapshot = load(&source, None, false).unwrap();
    let rows = |columns: &FileColumns, filter: Option<&str>| -> usize {
        let filter = filter.map(|text| -> Arc<FileFilter> {
            let filter = Predicate::parse_sql(text)
                .unwrap()
                .bind(snapshot.schema())
                .unwrap();
            Arc::new(snapshot.file_filter(filter).unwrap())
        });
        let files = snapshot.files(&source, columns, filter.as_ref()).unwrap();
        files.batches.iter().map(|batch| batch.num_rows()).sum()
    };
    assert_eq!(rows(&FileColumns::all(), None), 99);
    counting.take();

    // the first one parses the statistics, the second one has them
    for _ in 0..2 {
        assert_eq!(rows(&FileColumns::all(), Some("id > 5 AND id <= 25")), 20);
        assert_eq!(counting.calls(), []);
    }
    log.commit(100, &[remove("f7")]);
    let newer = snapshot.advance(&source).unwrap();
    counting.take();
    let filter = Predicate::parse_sql("id BETWEEN 7 AND 8")
        .unwrap()
        .bind(newer.schema())
        .unwrap();
    let filter: Arc<FileFilter> = Arc::new(newer.file_filter(filter).unwrap());
    let files = newer
        .files(&source, &FileColumns::all(), Some(&filter))
        .unwrap();
    let found: usize = files.batches.iter().map(|batch| batch.num_rows()).sum();
    assert_eq!((found, counting.calls()), (1, vec![]));
}

#[test]
fn an_update_reads_the_new_commits_only() {
    let log = Log::new("update");
    log.create(EMPTY, &["a", "b"]);
    (1..10).for_each(|version| log.commit(version, &[add(&format!("f{version}"))]));
    let (source, counting) = counted(&log);
    let snapshot = load(&source, None, false).unwrap();
    snapshot.files(&source, &FileColumns::all(), None).unwrap();
    log.commit(10, &[remove("a"), add("new")]);
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
