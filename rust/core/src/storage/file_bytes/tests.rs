use super::*;
use crate::error::Error;
use crate::storage::FileMeta;

const MIB: u64 = 1 << 20;

/// A store with one remote file, which records the ranges that were fetched.
#[derive(Debug, Default)]
struct RemoteFile {
    length: u64,
    fetched: Mutex<Vec<Range<u64>>>,
}

impl Storage for RemoteFile {
    fn root(&self) -> &'static str {
        "test://far"
    }

    fn list(&self, _: &str, _: &str) -> Result<Vec<FileMeta>> {
        Ok(Vec::new())
    }

    fn read(&self, _: &str) -> Result<Bytes> {
        Ok(content(&(0..self.length)))
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.fetched.lock().unwrap().extend_from_slice(ranges);
        if ranges.iter().any(|range| range.end > self.length) {
            return Err(Error::corrupt("storage.truncated", "too short").at_path(path));
        }
        Ok(ranges.iter().map(content).collect())
    }

    fn max_requests(&self) -> Option<usize> {
        Some(4)
    }

    fn read_many(&self, _: &[&str]) -> Vec<Result<Bytes>> {
        Vec::new()
    }

    fn head(&self, _: &str) -> Result<FileMeta> {
        Err(Error::storage("storage.not_found", "no"))
    }
}

/// Returns the bytes of a range, which identify their offset.
#[allow(clippy::cast_possible_truncation)]
fn content(range: &Range<u64>) -> Bytes {
    range.clone().map(|at| (at / 7) as u8).collect()
}

fn file(length: u64) -> (Arc<RemoteFile>, FileBytes) {
    let store = Arc::new(RemoteFile {
        length,
        ..RemoteFile::default()
    });
    let storage: Arc<dyn Storage> = Arc::clone(&store) as _;
    (store, FileBytes::new(&storage, "a".into(), length))
}

fn fetched(store: &RemoteFile) -> Vec<Range<u64>> {
    std::mem::take(&mut *store.fetched.lock().unwrap())
}

/// Returns `true` if each of these ranges is in one piece, with the right bytes.
fn has(pieces: &[(u64, Bytes)], ranges: &[Range<u64>]) -> bool {
    ranges.iter().all(|range| {
        pieces.iter().any(|(start, bytes)| {
            let end = start + bytes.len() as u64;
            *start <= range.start && end >= range.end && *bytes == content(&(*start..end))
        })
    })
}

#[test]
fn a_small_file_is_one_request() {
    let (store, file) = file(27_000);
    assert_eq!(
        file.read(&[26_992..27_000]).unwrap(),
        [content(&(26_992..27_000))]
    );
    assert_eq!(
        file.read(&[20_000..26_992]).unwrap(),
        [content(&(20_000..26_992))]
    );
    let ranges = [4..100, 4_000..20_000];
    assert!(has(&file.take(&ranges, &[]).unwrap(), &ranges));
    assert_eq!(fetched(&store), [0..27_000]);
}

#[test]
fn ranges_in_the_tail_of_a_large_file_need_no_request() {
    let (store, file) = file(10 * MIB);
    let tail = 10 * MIB - TAIL_BYTES;
    file.read(&[10 * MIB - 64_000..10 * MIB]).unwrap();
    file.read(&[tail + 5..tail + 500]).unwrap();
    assert_eq!(fetched(&store), [tail..10 * MIB]);
    // a column chunk that begins before the tail
    let ranges = [tail - 100..tail + 1000, tail + 2000..tail + 3000];
    assert!(has(&file.take(&ranges, &[]).unwrap(), &ranges));
    assert_eq!(fetched(&store), [tail - 100..tail]);
}

#[test]
fn adjacent_ranges_share_a_request_and_distant_ones_do_not() {
    let (store, file) = file(100 * MIB);
    file.read(&[100 * MIB - 8..100 * MIB]).unwrap();
    fetched(&store);
    let ranges = [50 * MIB..50 * MIB + 10, 4..10, 20..30, MIB..MIB + 5];
    assert!(has(&file.take(&ranges, &[]).unwrap(), &ranges));
    assert_eq!(fetched(&store), [4..MIB + 5, 50 * MIB..50 * MIB + 10]);
}

#[test]
fn bytes_that_were_taken_are_not_fetched_with_adjacent_ones() {
    let (store, file) = file(100 * MIB);
    file.read(&[100 * MIB - 8..100 * MIB]).unwrap();
    let first = file.take(&[100..200], &[]).unwrap();
    assert_eq!(first, [(100, content(&(100..200)))]);
    fetched(&store);
    let ranges = [50..100, 200..300];
    let taken = [100..200];
    assert!(has(&file.take(&ranges, &taken).unwrap(), &ranges));
    assert_eq!(fetched(&store), ranges);
}

#[test]
fn a_meter_counts_bytes_that_are_not_taken() {
    let (store, file) = file(100 * MIB);
    let meter = Arc::new(Meter::default());
    let tail = usize::try_from(TAIL_BYTES).unwrap();
    file.begin(&[file.first()], &[], &meter);
    assert_eq!((meter.bytes(), meter.requests()), (tail, 0));
    file.begin(&[100..200, 300..400], &[], &meter);
    assert_eq!(meter.bytes(), tail + 300);
    assert!(file.has(&[100..200, 350..360]));
    assert!(!file.has(&[100..200, 350..401]));
    fetched(&store);
    assert!(has(&file.take(&[100..200], &[]).unwrap(), &[100..200]));
    assert_eq!((meter.bytes(), fetched(&store)), (tail, vec![]));
    drop(file);
    assert_eq!(meter.bytes(), 0);
}

#[test]
fn bytes_of_a_kept_file_are_not_fetched_again() {
    let (store, file) = file(100 * MIB);
    let kept = Arc::new(Meter::default());
    assert!(file.keep(&kept, 100 << 20));
    assert_eq!(kept.bytes(), 100 << 20);
    file.read(&[100 * MIB - 8..100 * MIB]).unwrap();
    file.take(&[100..200], &[]).unwrap();
    fetched(&store);
    assert!(has(&file.take(&[0..300], &[]).unwrap(), &[0..300]));
    assert_eq!(fetched(&store), [0..100, 200..300]);
    drop(file);
    assert_eq!(kept.bytes(), 0);
}

#[test]
fn the_tail_of_a_file_that_is_too_large_is_kept() {
    let (store, file) = file(100 * MIB);
    let (kept, meter) = (Arc::new(Meter::default()), Arc::new(Meter::default()));
    assert!(!file.keep(&kept, 1000));
    assert!(file.keep(&kept, 99 << 20));
    assert_eq!(kept.bytes() as u64, TAIL_BYTES);
    file.begin(&[file.first()], &[], &meter);
    file.begin(&[100..200], &[], &meter);
    assert_eq!(meter.bytes(), 100, "another meter counts the tail");
    fetched(&store);
    for _ in 0..2 {
        file.read(&[100 * MIB - 8..100 * MIB]).unwrap();
        file.take(&[100..200], &[]).unwrap();
    }
    assert_eq!(
        fetched(&store),
        [100..200],
        "what was fetched ahead was taken"
    );
}

#[test]
fn the_first_bytes_fetched_of_a_footer_are_kept() {
    let (store, file) = file(10 * MIB);
    let storage = Arc::clone(&file.storage);
    let footer = FileBytes::footer_only(&storage, "a".into(), 10 * MIB);
    let kept = Arc::new(Meter::default());
    assert!(footer.keep(&kept, 100 << 20));
    assert_eq!(kept.bytes() as u64, FOOTER_BYTES);
    let first = 10 * MIB - FOOTER_BYTES;
    let large = [first - 1000..10 * MIB - 8];
    for _ in 0..2 {
        footer.read(&[10 * MIB - 8..10 * MIB]).unwrap();
        let bytes = footer.read(&large).unwrap();
        assert_eq!(bytes, [content(&large[0])]);
    }
    // bytes before a large footer are not kept
    let before = first - 1000..first;
    assert_eq!(fetched(&store), [first..10 * MIB, before.clone(), before]);
}

#[test]
fn every_reader_of_missing_bytes_gets_the_error() {
    let (_, file) = file(27_000);
    let (storage, meter) = (Arc::clone(&file.storage), Arc::new(Meter::default()));
    let longer = FileBytes::new(&storage, "a".into(), 28_000);
    longer.begin(&[longer.first()], &[], &meter);
    assert!(longer.has(&[0..100]), "the request has not ended");
    for _ in 0..2 {
        let error = longer.take(&[0..100], &[]).unwrap_err();
        assert_eq!(
            (error.code(), error.path()),
            ("storage.truncated", Some("a"))
        );
    }
}
