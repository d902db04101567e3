use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow_array::Int64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::*;
use crate::error::ErrorKind;

mod far;

/// Files of three units, each of which returns two batches of one row: file * 100 + unit * 10 + batch.
struct Numbers {
    files: usize,
    /// The file whose second unit fails, after a batch.
    broken: Option<usize>,
    continues_after: bool,
    alive: Arc<()>,
    emitted: Arc<AtomicUsize>,
}

impl Numbers {
    fn of(files: usize) -> Self {
        Self {
            files,
            broken: None,
            continues_after: false,
            alive: Arc::new(()),
            emitted: Arc::default(),
        }
    }

    /// Reads with this many threads and almost no read-ahead.
    fn read_by(self, threads: usize) -> OrderedRows<Self> {
        OrderedRows::new(self, ReadAheadLimits { bytes: 1, threads })
    }
}

impl Work for Numbers {
    type Unit = (usize, usize);
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        self.files
    }

    fn max_requests(&self) -> Option<usize> {
        None
    }

    fn bytes(&self, _: usize) -> Option<Arc<FileBytes>> {
        None
    }

    fn open(&self, file: usize, _: Option<Arc<FileBytes>>) -> Result<Vec<Self::Unit>> {
        Ok((0..3).map(|unit| (file, unit)).collect())
    }

    fn prefetch(&self, _: &Self::Unit) -> Option<Prefetch> {
        None
    }

    fn read(&self, (file, unit): Self::Unit, emit: &mut Emit<'_>) -> Result<Option<Self::Unit>> {
        for batch in 0..2 {
            if self.broken == Some(file) && (unit, batch) == (1, 1) {
                return Err(Error::corrupt("test.broken", "cut off"));
            }
            let number = i64::try_from(file * 100 + unit * 10 + batch).unwrap();
            let column: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![number]));
            self.emitted.fetch_add(1, Ordering::Relaxed);
            emit(RecordBatch::try_from_iter([("number", column)]).unwrap())?;
        }
        Ok(None)
    }

    fn continues_after(&self, _: usize, _: &Error) -> bool {
        self.continues_after
    }
}

fn number(batch: &RecordBatch) -> i64 {
    batch.column(0).as_primitive::<Int64Type>().value(0)
}

/// Returns all rows of a file.
fn whole(file: i64) -> Vec<i64> {
    [0, 1, 10, 11, 20, 21].map(|row| file * 100 + row).to_vec()
}

#[test]
fn rows_come_in_the_order_of_files_and_units() {
    for threads in [1, 2, 8] {
        let rows = Numbers::of(20).read_by(threads);
        let result: Vec<i64> = rows.map(|batch| number(&batch.unwrap())).collect();
        let expected: Vec<i64> = (0..20).flat_map(whole).collect();
        assert_eq!(result, expected, "{threads} threads");
    }
    assert!(Numbers::of(0).read_by(2).next().is_none());
}

#[test]
fn an_error_follows_earlier_rows_and_ends_the_stream() {
    let mut numbers = Numbers::of(5);
    numbers.broken = Some(1);
    let mut rows = numbers.read_by(4);
    for expected in [whole(0), vec![100, 101, 110]].concat() {
        assert_eq!(number(&rows.next().unwrap().unwrap()), expected);
    }
    assert_eq!(rows.next().unwrap().unwrap_err().code(), "test.broken");
    assert!(rows.next().is_none());
}

#[test]
fn a_file_that_fails_may_be_skipped() {
    let mut numbers = Numbers::of(3);
    (numbers.broken, numbers.continues_after) = (Some(1), true);
    let result: Vec<i64> = numbers
        .read_by(4)
        .map(|batch| number(&batch.unwrap()))
        .collect();
    assert_eq!(result, [whole(0), vec![100, 101, 110], whole(2)].concat());
}

#[test]
fn threads_wait_for_a_slow_reader_and_end_with_it() {
    let numbers = Numbers::of(1_000);
    let (alive, emitted) = (Arc::clone(&numbers.alive), Arc::clone(&numbers.emitted));
    let mut rows = numbers.read_by(4);
    assert!(rows.next().unwrap().is_ok());
    std::thread::sleep(Duration::from_millis(100));
    // the batch that was taken, one that may wait, and two of each thread
    assert!(emitted.load(Ordering::Relaxed) <= 2 + 2 * 4);
    drop(rows);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn an_interrupt_is_seen_while_rows_are_ready() {
    let limits = ReadAheadLimits {
        bytes: 1 << 20,
        threads: 2,
    };
    let mut rows = OrderedRows::new(Numbers::of(2), limits);
    assert!(rows.next().unwrap().is_ok());
    std::thread::sleep(Duration::from_millis(100)); // until all the others are ready
    interrupt::testing::stop_this_thread(true);
    let result = rows.next().unwrap();
    interrupt::testing::stop_this_thread(false);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(rows.next().is_none());
}
