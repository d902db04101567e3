use super::*;
use crate::storage::pool::ordered;

#[test]
fn totals_grow_with_listed_files_and_bytes_read() {
    let before = totals();
    listed(3);
    read(1000);
    let now = totals();
    assert!(now.listed >= before.listed + 3);
    assert!(now.read >= before.read + 1000);
}

#[test]
fn progress_counts_finished_units() {
    assert_eq!(units(), None);
    let mut results = ordered(vec![1, 2, 3], 1, Ok);
    assert!(results.next().is_some());
    assert_eq!(units(), Some(Units { done: 1, all: 3 }));
    assert_eq!(results.by_ref().count(), 2);
    drop(results);
    assert_eq!(units(), None);
}
