//! Checkpoints that are written, as they are read.

use super::*;
use crate::expr::Predicate;
use crate::log::path::commit_path;
use crate::snapshot::columns::FileColumns;
use crate::snapshot::load::load;
use crate::storage::tests::counting::{CountingStorage, Operation};

/// A table of this many files, whose column `id` has in each the file's number for its only value.
fn table(name: &str, files: usize) -> Source {
    let source = Source::new(&format!("memory://checkpoint-{name}"), &[], None, None).unwrap();
    let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;
    let mut lines = vec![
        r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.to_owned(),
        format!(
            r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet"}},"schemaString":"{schema}","partitionColumns":[],"configuration":{{}}}}}}"#
        ),
    ];
    lines.extend((0..files).map(|id| {
        let stats = format!(
            r#"{{\"numRecords\":1,\"minValues\":{{\"id\":{id}}},\"maxValues\":{{\"id\":{id}}},\"nullCount\":{{\"id\":0}}}}"#
        );
        format!(
            r#"{{"add":{{"path":"f{id}","partitionValues":{{}},"size":1,"modificationTime":1,"dataChange":true,"stats":"{stats}"}}}}"#
        )
    }));
    let text = lines.join("\n");
    let put = source
        .storage
        .put_if_absent(&commit_path(0), text.as_bytes());
    assert!(put.unwrap());
    source
}

#[test]
fn no_byte_is_fetched_twice_for_a_filter() {
    let mut source = table("fetched", 300);
    let snapshot = load(&source, None, false).unwrap();
    write_checkpoint(&source, &snapshot, CheckpointLayout::Classic).unwrap();
    let counting = Arc::new(CountingStorage::new(Arc::clone(&source.storage)));
    source.storage = Arc::clone(&counting) as _;
    let snapshot = load(&source, None, false).unwrap();
    let found = |text: &str| -> usize {
        let filter = Predicate::parse_sql(text).unwrap();
        let filter = filter.bind(snapshot.schema()).unwrap();
        let filter = Arc::new(snapshot.file_filter(filter).unwrap());
        let files = snapshot
            .files(&source, &FileColumns::all(), Some(&filter))
            .unwrap();
        files.batches.iter().map(|batch| batch.num_rows()).sum()
    };
    for (text, files, reads) in [("id < 20", 20, 2), ("id < 0", 0, 1)] {
        counting.take();

        assert_eq!(found(text), files);

        // the footer and the control actions come first
        let calls = counting.take().split_off(2);
        assert_eq!(calls.len(), reads, "{calls:?}");
        assert!(
            calls
                .iter()
                .all(|call| call.operation == Operation::ReadRanges)
        );
        let mut ranges: Vec<_> = calls.into_iter().flat_map(|call| call.ranges).collect();
        ranges.sort_by_key(|range| range.start);
        let overlap = ranges.windows(2).find(|pair| pair[0].end > pair[1].start);
        assert_eq!(overlap, None);
    }
}
