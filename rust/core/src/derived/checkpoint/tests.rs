//! Requests for the bytes of written checkpoints.

use super::*;
use crate::codec::file_columns::FileColumns;
use crate::expr::Predicate;
use crate::snapshot::load::load;
use crate::snapshot::tests::written_log::{WrittenLog, add_row};
use crate::storage::tests::counting::{CountingStorage, Operation};

#[test]
fn a_filtered_read_fetches_each_byte_once() {
    let log = WrittenLog::new();
    let files: Vec<String> = (0..300).map(|id| add_row(&format!("f{id}"), id)).collect();
    log.commit(1, &files);
    let (snapshot, mut source) = (log.newest(), log.0);
    write_checkpoint(&source, &snapshot, CheckpointLayout::Classic).unwrap();
    let counting = Arc::new(CountingStorage::new(Arc::clone(&source.storage)));
    source.storage = Arc::clone(&counting) as _;
    let snapshot = load(&source, None, false).unwrap();
    let count_of = |text: &str| -> usize {
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

        assert_eq!(count_of(text), files);

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
