use std::sync::Arc;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use tokio::sync::Semaphore;

use super::*;
use crate::storage::runtime::block_on;

const MIB: u64 = 1 << 20;

fn all_parts(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let size = part_size(ranges);
    ranges.iter().flat_map(|range| parts(range, size)).collect()
}

#[test]
fn small_ranges_are_whole_and_large_ones_in_parts() {
    assert_eq!(all_parts(&[3..10, 20..MIB]), [3..10, 20..MIB]);
    assert_eq!(all_parts(&[5..5]), [5..5]);
    assert_eq!(
        all_parts(&[0..3 * MIB]),
        [0..3 * MIB / 2, 3 * MIB / 2..3 * MIB]
    );
    let parts = all_parts(&[7..200 * MIB + 7]);
    assert_eq!(parts.len(), 32);
    let mut at = 7;
    for part in parts {
        assert_eq!(part.start, at);
        assert!(part.end - part.start <= 7 * MIB);
        at = part.end;
    }
    assert_eq!(at, 200 * MIB + 7);
}

#[test]
fn a_range_of_any_length_has_a_limited_number_of_parts() {
    assert_eq!(all_parts(&[0..u64::MAX, 1..u64::MAX]).len(), 2 * 1024);
}

#[test]
fn parts_cover_any_range_once() {
    let lengths = [1, MIB, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 33 * MIB + 7];
    let claimed = [1 << 44, (1 << 44) + 1, 1 << 63, u64::MAX - 1, u64::MAX];
    for length in lengths.into_iter().chain(claimed) {
        for start in [0, 5, u64::MAX - length] {
            let Some(end) = start.checked_add(length) else {
                continue;
            };
            let parts = all_parts(&[start..end]);
            let mut at = start;
            for part in parts {
                assert!(
                    part.start == at && part.end > at,
                    "{part:?} of {start}..{end}"
                );
                at = part.end;
            }
            assert_eq!(at, end);
        }
    }
}

fn client(size: u64, max_requests: usize) -> (Client, Path) {
    let (store, object) = (Arc::new(InMemory::new()), Path::from("a"));
    let client = Client {
        store: Arc::clone(&store) as _,
        pages: None,
        permits: Arc::new(Semaphore::new(max_requests)),
    };
    let bytes: Bytes = (0..size).map(|at| (at % 251) as u8).collect();
    let to = object.clone();
    let put = block_on(async move { store.put(&to, bytes.into()).await });
    put.unwrap().unwrap();
    (client, object)
}

fn fetch(client: Client, object: Path, ranges: &[Range<u64>]) -> Vec<Bytes> {
    let ranges = ranges.to_vec();
    let fetched = block_on(async move { client.fetch(&object, &ranges).await });
    fetched.unwrap().unwrap()
}

#[test]
fn fetches_whole_ranges_in_order() {
    let (client, object) = client(40 * MIB, 3);
    let ranges = [30 * MIB + 1..40 * MIB, 7..9, 0..25 * MIB];
    let fetched = fetch(client, object, &ranges);
    assert_eq!(fetched.len(), ranges.len());
    for (range, bytes) in ranges.iter().zip(fetched) {
        assert_eq!(bytes.len() as u64, range.end - range.start);
        let mut bytes = range.clone().zip(bytes);
        assert!(bytes.all(|(at, byte)| u64::from(byte) == at % 251));
    }
}

#[test]
fn a_buffer_larger_than_memory_is_an_error() {
    let refused = buffer(u64::MAX, &Path::from("a/b")).unwrap_err();
    assert!(refused.to_string().contains("a/b"), "{refused}");
    assert_eq!(buffer(MIB, &Path::from("a")).unwrap().len(), 0);
}

#[test]
fn bytes_beyond_the_end_of_an_object_are_not_allocated() {
    // more than any machine has, so that an allocation of it ends the test
    for claimed in [1 << 44, 1 << 60, u64::MAX] {
        let (client, object) = client(5 * MIB, 4);
        let ranges = [10..20, 4 * MIB..claimed, 0..10];
        let fetched = fetch(client, object, &ranges);
        let lengths: Vec<_> = fetched.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [10, 1 << 20], "{claimed}");
    }
}
