use std::thread;

use super::*;
use crate::error::ErrorKind;
use crate::storage::far::taken;
use crate::storage::interrupt::testing::stop_this_thread;

#[test]
fn an_interrupted_write_leaves_no_file() {
    let source = Source::new("memory://far-interrupted/t", &[], None, None).unwrap();
    let mut written = WrittenFiles::new(&source);
    let files = (0..100).map(|file| (format!("{file}.parquet"), vec![0; 9]));
    stop_this_thread(true);
    let outcome = written.put_all(files.collect(), true);
    stop_this_thread(false);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Interrupted);
    drop(written);
    thread::sleep(Duration::from_millis(500)); // the time of a request that is still pending
    assert!(!taken("far-interrupted").is_empty());
    assert_eq!(source.storage.list_below("", &|_| true).unwrap(), []);
}
