//! The bytes of objects, and large ranges in parts, side by side: one connection is often slower than the network.
//!
//! No more bytes are held than were requested, whatever the store sends or says that it has.

use std::ops::Range;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, Result};

use super::Client;
use crate::storage::progress;

/// All ranges of a request have about this many parts.
const PARTS: u64 = 32;
/// Bytes of a part.
const LEAST: u64 = 2 << 20;
const MOST: u64 = 16 << 20;
/// Parts of one range, however long it claims to be.
const MOST_PARTS: u64 = 1024;
/// Parts that are in flight or wait for a permit.
const AT_ONCE: usize = 64;

impl Client {
    /// Returns the bytes of these ranges. Of a range that the object does not have in full, its first part.
    pub(super) async fn fetch(&self, object: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let step = step(ranges);
        let all = ranges.iter().flat_map(|range| parts(range, step));
        let all: Vec<Range<u64>> = all.collect();
        let mut fetched = stream::iter(all)
            .map(|part| self.fetch_part(object, part))
            .buffered(AT_ONCE);
        let mut whole = Vec::with_capacity(ranges.len());
        for range in ranges {
            let count = parts(range, step).count();
            let (size, first) = fetched.try_next().await?.unwrap_or_default();
            if count == 1 || size < range.end {
                whole.push(first);
                if size < range.end {
                    break; // the caller says so
                }
                continue;
            }
            let mut joined = buffer(range.end - range.start, object)?;
            joined.extend_from_slice(&first);
            drop(first);
            for _ in 1..count {
                let (_, bytes) = fetched.try_next().await?.unwrap_or_default();
                joined.extend_from_slice(&bytes);
            }
            whole.push(Bytes::from(joined));
        }
        Ok(whole)
    }

    /// Returns the size of the object and the bytes of a range; fewer where the object ends within it.
    async fn fetch_part(&self, object: &Path, part: Range<u64>) -> Result<(u64, Bytes)> {
        let _permit = self.permits.acquire().await;
        let most = part.end - part.start;
        let options = GetOptions {
            range: Some(GetRange::Bounded(part)),
            ..GetOptions::default()
        };
        let answer = self.store.get_opts(object, options).await?;
        let size = answer.meta.size;
        Ok((size, content(answer, most, object).await?))
    }
}

/// Reads what a store sends of an object, and refuses more than `most` bytes.
pub(super) async fn content(answer: GetResult, most: u64, object: &Path) -> Result<Bytes> {
    let expected = answer.range.end.saturating_sub(answer.range.start);
    let mut pieces = answer.into_stream();
    let mut bytes = pieces.try_next().await?.unwrap_or_default();
    if let Some(second) = pieces.try_next().await? {
        let mut joined = buffer(expected.min(most), object)?;
        joined.extend_from_slice(&bytes);
        let mut next = Some(second);
        while let Some(piece) = next {
            if joined.len() as u64 + piece.len() as u64 > most {
                return Err(too_many(most, object));
            }
            joined.extend_from_slice(&piece);
            next = pieces.try_next().await?;
        }
        bytes = Bytes::from(joined);
    }
    if bytes.len() as u64 > most {
        return Err(too_many(most, object));
    }
    progress::read(bytes.len());
    Ok(bytes)
}

/// Returns an empty buffer for as many bytes as a store says that it has; it may not tell the truth.
fn buffer(length: u64, object: &Path) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let reserved = buffer.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX));
    reserved
        .map_err(|cause| generic(format!("no memory for {length} bytes of {object}: {cause}")))?;
    Ok(buffer)
}

fn too_many(most: u64, object: &Path) -> Error {
    generic(format!(
        "the store sent more than {most} bytes of {object}, which is more than requested"
    ))
}

fn generic(message: String) -> Error {
    Error::Generic {
        store: "deltareplay",
        source: message.into(),
    }
}

/// Returns the length of the parts of these ranges.
fn step(ranges: &[Range<u64>]) -> u64 {
    let lengths = ranges.iter().map(|range| range.end - range.start);
    (lengths.fold(0, u64::saturating_add) / PARTS).clamp(LEAST, MOST)
}

/// A range in parts of about the same length.
fn parts(range: &Range<u64>, step: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (start, end) = (range.start, range.end);
    let count = (end - start).div_ceil(step).clamp(1, MOST_PARTS);
    let step = (end - start).div_ceil(count);
    (0..count).map(move |number| {
        let from = start + number * step;
        from..end.min(from.saturating_add(step))
    })
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    clippy::unwrap_used,
    clippy::cast_possible_truncation
)]
mod tests {
    use std::sync::Arc;

    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::storage::runtime::block_on;

    const MIB: u64 = 1 << 20;

    fn all(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let step = step(ranges);
        ranges.iter().flat_map(|range| parts(range, step)).collect()
    }

    #[test]
    fn small_ranges_are_whole_and_large_ones_in_parts() {
        assert_eq!(all(&[3..10, 20..MIB]), [3..10, 20..MIB]);
        assert_eq!(all(&[5..5]), [5..5]);
        assert_eq!(all(&[0..3 * MIB]), [0..3 * MIB / 2, 3 * MIB / 2..3 * MIB]);
        let parts = all(&[7..200 * MIB + 7]);
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
    fn a_range_that_cannot_be_has_few_parts() {
        assert_eq!(all(&[0..u64::MAX, 1..u64::MAX]).len(), 2 * 1024);
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
                let parts = all(&[start..end]);
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
    fn ranges_come_whole_and_in_their_order() {
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
    fn a_store_that_claims_more_than_memory_has_is_an_error() {
        let refused = buffer(u64::MAX, &Path::from("a/b")).unwrap_err();
        assert!(refused.to_string().contains("a/b"), "{refused}");
        assert_eq!(buffer(MIB, &Path::from("a")).unwrap().len(), 0);
    }

    #[test]
    fn nothing_is_allocated_for_what_an_object_does_not_have() {
        // more than any machine has, so that an allocation of it ends the test
        for claimed in [1 << 44, 1 << 60, u64::MAX] {
            let (client, object) = client(5 * MIB, 4);
            let ranges = [10..20, 4 * MIB..claimed, 0..10];
            let fetched = fetch(client, object, &ranges);
            let lengths: Vec<_> = fetched.iter().map(Bytes::len).collect();
            assert_eq!(lengths, [10, 1 << 20], "{claimed}");
        }
    }
}
