//! Files whose bytes arrive late.

use std::time::Instant;

use bytes::Bytes;

use super::*;
use crate::storage::request::Request;
use crate::storage::{FileMeta, OnEnd, Storage, runtime};

/// The length of a file, which exceeds `MAX_SINGLE_REQUEST`: only its tail is fetched first, so units need requests
/// of their own.
const LENGTH: u64 = 2 << 20;
const MIB: usize = 1 << 20;

/// A store that responds after a while.
#[derive(Debug, Default)]
struct Slow {
    /// Milliseconds, by the index of the request.
    delays: Vec<u64>,
    requests: AtomicUsize,
    in_flight: Arc<AtomicUsize>,
    max_in_flight: AtomicUsize,
    max_requests: usize,
}

/// A request that has neither ended nor been cancelled.
struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Storage for Slow {
    fn root(&self) -> &'static str {
        "test://slow"
    }

    fn list(&self, _: &str, _: &str) -> Result<Vec<FileMeta>> {
        Ok(Vec::new())
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        Err(Error::storage("storage.not_found", "no").at_path(path))
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if path == "broken" {
            return Err(Error::storage("storage.io", "no").at_path(path));
        }
        let zeros = |range: &Range<u64>| {
            Bytes::from(vec![0; usize::try_from(range.end - range.start).unwrap()])
        };
        Ok(ranges.iter().map(zeros).collect())
    }

    fn max_requests(&self) -> Option<usize> {
        Some(self.max_requests)
    }

    fn begin_read(&self, path: &str, ranges: &[Range<u64>], on_end: OnEnd) -> Request {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let delay = self.delays[number % self.delays.len()];
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_in_flight.fetch_max(now, Ordering::SeqCst);
        let in_flight = InFlight(Arc::clone(&self.in_flight));
        let bytes = self.read_ranges(path, ranges);
        let request = Request::start(on_end, |promise| {
            runtime::spawn(async move {
                tokio::time::sleep(Duration::from_millis(delay)).await;
                drop(in_flight);
                promise.fulfil(bytes);
            })
        });
        request.unwrap()
    }

    fn read_many(&self, _: &[&str]) -> Vec<Result<Bytes>> {
        Vec::new()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        Err(Error::storage("storage.not_found", "no").at_path(path))
    }
}

/// Files of two units, each of which needs two ranges, one after the other, and yields its number.
struct Files {
    store: Arc<Slow>,
    files: usize,
    broken: Option<usize>,
}

struct TwoStepUnit {
    file: usize,
    number: usize,
    bytes: Arc<FileBytes>,
    second: bool,
}

impl TwoStepUnit {
    fn range(&self) -> Range<u64> {
        let at = u64::try_from(self.number).unwrap() * 200 + if self.second { 100 } else { 0 };
        at..at + 50
    }
}

impl Work for Files {
    type Unit = TwoStepUnit;
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        self.files
    }

    fn max_requests(&self) -> Option<usize> {
        self.store.max_requests()
    }

    fn bytes(&self, file: usize) -> Option<Arc<FileBytes>> {
        let path = if self.broken == Some(file) {
            "broken"
        } else {
            "a"
        };
        let storage: Arc<dyn Storage> = Arc::clone(&self.store) as _;
        Some(Arc::new(FileBytes::new(&storage, path.into(), LENGTH)))
    }

    fn open(&self, file: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<TwoStepUnit>> {
        let bytes = bytes.unwrap();
        bytes.read(&[LENGTH - 8..LENGTH])?;
        let unit = |number| TwoStepUnit {
            file,
            number,
            bytes: Arc::clone(&bytes),
            second: false,
        };
        Ok((0..2).map(unit).collect())
    }

    fn prefetch(&self, unit: &TwoStepUnit) -> Option<Prefetch> {
        Some(Prefetch {
            bytes: Arc::clone(&unit.bytes),
            ranges: vec![unit.range()],
            taken: Vec::new(),
        })
    }

    fn read(&self, mut unit: TwoStepUnit, emit: &mut Emit<'_>) -> Result<Option<TwoStepUnit>> {
        // another thread may be reading the same file
        let has = |_| {
            std::thread::sleep(Duration::from_micros(100));
            unit.bytes.has(&[unit.range()])
        };
        assert!((0..10).any(has), "the bytes have not arrived");
        unit.bytes.take(&[unit.range()], &[])?;
        if !unit.second {
            unit.second = true;
            return Ok(Some(unit));
        }
        let number = i64::try_from(unit.file * 10 + unit.number).unwrap();
        let column: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![number]));
        emit(RecordBatch::try_from_iter([("number", column)]).unwrap())?;
        Ok(None)
    }

    fn continues_after(&self, _: usize, _: &Error) -> bool {
        self.broken.is_some()
    }
}

fn files(files: usize, max_requests: usize, delays: &[u64]) -> (Arc<Slow>, Files) {
    let store = Arc::new(Slow {
        delays: delays.to_vec(),
        max_requests,
        ..Slow::default()
    });
    let files = Files {
        store: Arc::clone(&store),
        files,
        broken: None,
    };
    (store, files)
}

fn numbers(rows: OrderedRows<Files>) -> Vec<i64> {
    rows.map(|batch| number(&batch.unwrap())).collect()
}

fn expected(files: i64) -> Vec<i64> {
    (0..files)
        .flat_map(|file| [file * 10, file * 10 + 1])
        .collect()
}

#[test]
fn rows_are_in_order_whenever_their_bytes_arrive() {
    for (threads, bytes) in [(1, 1), (1, 64 * MIB), (2, 1), (2, MIB), (8, 64 * MIB)] {
        let (store, files) = files(20, 8, &[1, 30, 2, 9, 0, 17, 5]);
        let rows = numbers(OrderedRows::new(files, ReadAheadLimits { bytes, threads }));
        assert_eq!(rows, expected(20), "{threads} threads, {bytes} bytes");
        // the task that the caller waits for is always fetched, even if 8 requests are pending
        assert!(store.max_in_flight.load(Ordering::SeqCst) <= 8 + 1);
        // the tail of each file, and two ranges of each of two units
        assert_eq!(store.requests.load(Ordering::SeqCst), 20 * 5);
    }
}

#[test]
fn slow_requests_overlap() {
    let mut delays = vec![2; 10];
    delays[3] = 400;
    let (_, files) = files(40, 64, &delays);
    let limits = ReadAheadLimits {
        bytes: 64 * MIB,
        threads: 2,
    };
    let start = Instant::now();
    assert_eq!(numbers(OrderedRows::new(files, limits)), expected(40));
    // one after the other they take 8 s; each file waits for at most three requests
    assert!(
        start.elapsed() < Duration::from_millis(2_500),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn dropping_the_stream_cancels_its_requests() {
    let mut delays = vec![20_000; 40];
    delays[..3].fill(0);
    let (store, files) = files(40, 16, &delays);
    let mut rows = OrderedRows::new(files, ReadAheadLimits::default());
    let start = Instant::now();
    rows.started = true;
    rows.start().unwrap();
    while store.in_flight.load(Ordering::SeqCst) < 16 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(rows);
    while store.in_flight.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn bytes_fetched_ahead_are_limited() {
    let (store, files) = files(60, 64, &[1]);
    let limits = ReadAheadLimits {
        bytes: 4 * MIB,
        threads: 2,
    };
    let mut rows = OrderedRows::new(files, limits);
    assert!(rows.next().unwrap().is_ok());
    std::thread::sleep(Duration::from_millis(100));
    // at most half of the limit, and two tails of half a MiB: of the awaited file, and of one more
    assert!(rows.shared.meter.bytes() <= 2 * MIB + MIB);
    assert!(store.requests.load(Ordering::SeqCst) < 60);
    assert_eq!(numbers(rows), expected(60)[1..]);
}

#[test]
fn a_file_whose_request_fails_is_skipped() {
    let (_, mut files) = files(5, 8, &[1, 4]);
    files.broken = Some(2);
    let mut left = expected(5);
    left.retain(|number| number / 10 != 2);
    assert_eq!(
        numbers(OrderedRows::new(files, ReadAheadLimits::default())),
        left
    );
}

/// A file whose unit needs bytes that were not requested before.
struct Unforeseen(Files);

impl Work for Unforeseen {
    type Unit = TwoStepUnit;
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        1
    }

    fn max_requests(&self) -> Option<usize> {
        self.0.max_requests()
    }

    fn bytes(&self, file: usize) -> Option<Arc<FileBytes>> {
        self.0.bytes(file)
    }

    fn open(&self, file: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<TwoStepUnit>> {
        self.0.open(file, bytes)
    }

    fn prefetch(&self, _: &TwoStepUnit) -> Option<Prefetch> {
        None
    }

    fn read(&self, unit: TwoStepUnit, _: &mut Emit<'_>) -> Result<Option<TwoStepUnit>> {
        unit.bytes.take(&[unit.range()], &[]).map(|_| None)
    }

    fn continues_after(&self, _: usize, _: &Error) -> bool {
        false
    }
}

#[test]
fn dropping_the_stream_does_not_wait_for_bytes() {
    let (store, files) = files(1, 16, &[0, 20_000]);
    let mut rows = OrderedRows::new(Unforeseen(files), ReadAheadLimits::default());
    let start = Instant::now();
    rows.started = true;
    rows.start().unwrap();
    // the tail of the file, then the bytes of a unit, which take 20 s
    while store.requests.load(Ordering::SeqCst) < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(rows);
    while store.in_flight.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A file of five row groups, each with three columns of one MiB that are not adjacent.
struct RowGroups(Arc<Slow>);

struct RowGroup {
    number: u64,
    bytes: Arc<FileBytes>,
}

impl RowGroup {
    fn ranges(&self) -> Vec<Range<u64>> {
        let mib = MIB as u64;
        let starts = (0..3).map(|column| (self.number * 3 + column) * 3 * mib);
        starts.map(|start| start..start + mib).collect()
    }
}

impl Work for RowGroups {
    type Unit = RowGroup;
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        1
    }

    fn max_requests(&self) -> Option<usize> {
        self.0.max_requests()
    }

    fn bytes(&self, _: usize) -> Option<Arc<FileBytes>> {
        let storage: Arc<dyn Storage> = Arc::clone(&self.0) as _;
        Some(Arc::new(FileBytes::new(&storage, "a".into(), 48 << 20)))
    }

    fn open(&self, _: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<RowGroup>> {
        let bytes = bytes.unwrap();
        let row_group = |number| RowGroup {
            number,
            bytes: Arc::clone(&bytes),
        };
        Ok((0..5).map(row_group).collect())
    }

    fn prefetch(&self, unit: &RowGroup) -> Option<Prefetch> {
        Some(Prefetch {
            bytes: Arc::clone(&unit.bytes),
            ranges: unit.ranges(),
            taken: Vec::new(),
        })
    }

    fn read(&self, unit: RowGroup, emit: &mut Emit<'_>) -> Result<Option<RowGroup>> {
        unit.bytes.take(&unit.ranges(), &[])?;
        let column: arrow_array::ArrayRef =
            Arc::new(Int64Array::from(vec![i64::try_from(unit.number).unwrap()]));
        emit(RecordBatch::try_from_iter([("number", column)]).unwrap())?;
        Ok(None)
    }

    fn continues_after(&self, _: usize, _: &Error) -> bool {
        false
    }
}

fn row_groups(delays: &[u64]) -> (Arc<Slow>, OrderedRows<RowGroups>) {
    let store = Arc::new(Slow {
        delays: delays.to_vec(),
        max_requests: 64,
        ..Slow::default()
    });
    let limits = ReadAheadLimits {
        bytes: 10 * MIB,
        threads: 2,
    };
    (
        Arc::clone(&store),
        OrderedRows::new(RowGroups(store), limits),
    )
}

#[test]
fn the_awaited_unit_does_not_delay_later_ones() {
    // the tail of the file arrives, and then nothing
    let (_, mut rows) = row_groups(&[0, 20_000, 20_000, 20_000, 20_000]);
    rows.started = true;
    rows.start().unwrap();
    let start = Instant::now();
    loop {
        let mut state = rows.shared.lock();
        let first = state.slots.first_key_value();
        if first.is_some_and(|(_, slot)| slot.done) {
            state.slots.pop_first(); // as the caller does it
            break;
        }
        drop(state);
        std::thread::sleep(Duration::from_millis(1));
    }
    // the tail, two units, and as much of the third as half of the limit allows
    let expected = MIB / 2 + 7 * MIB;
    while rows.shared.meter.bytes() < expected {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(rows.shared.meter.bytes(), expected);
}

#[test]
fn units_fetched_in_parts_are_read_whole() {
    let (store, rows) = row_groups(&[1, 20, 3]);
    let rows: Vec<i64> = rows.map(|batch| number(&batch.unwrap())).collect();
    assert_eq!(rows, [0, 1, 2, 3, 4]);
    // the tail, and each range at most once
    assert!(store.requests.load(Ordering::SeqCst) <= 1 + 3 * 5);
}
