//! The bytes of objects; large ranges are fetched in parallel parts, since one connection is often slower
//! than the network.
//!
//! No more bytes are held than were requested, whatever the store sends or claims.

use std::ops::Range;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, Result};

use super::Client;
use crate::storage::progress;

/// The number of parts of a request, unless its parts would be too small or too large.
const PARTS: u64 = 32;
/// The bounds of the part size in bytes; a range is then divided into parts of the same size, at most this
/// large.
const MIN_PART_SIZE: u64 = 2 << 20;
const MAX_PART_SIZE: u64 = 16 << 20;
/// The maximum number of parts of a range, whatever its length: the parts of a longer one are larger.
const MAX_PARTS: u64 = 1024;
/// The maximum number of parts that are pending or wait for a permit.
const PARTS_AT_ONCE: usize = 64;

impl Client {
    /// Returns the bytes of these ranges, in their order. If a range exceeds the object, the result ends with
    /// fewer bytes than that range has.
    pub(super) async fn fetch(&self, object: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let part_size = part_size(ranges);
        let all = ranges.iter().flat_map(|range| parts(range, part_size));
        let all: Vec<Range<u64>> = all.collect();
        let mut fetched = stream::iter(all)
            .map(|part| self.fetch_part(object, part))
            .buffered(PARTS_AT_ONCE);
        let mut whole = Vec::with_capacity(ranges.len());
        for range in ranges {
            let count = parts(range, part_size).count();
            let (object_size, first) = fetched.try_next().await?.unwrap_or_default();
            if object_size < range.end {
                whole.push(first);
                break; // the caller reports it
            }
            if count == 1 {
                whole.push(first);
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

    /// Fetches a part; returns the size of the object and the bytes, fewer if the object ends within the
    /// part.
    async fn fetch_part(&self, object: &Path, part: Range<u64>) -> Result<(u64, Bytes)> {
        let _permit = self.permits.acquire().await;
        let max_bytes = part.end - part.start;
        let options = GetOptions {
            range: Some(GetRange::Bounded(part)),
            ..GetOptions::default()
        };
        let response = self.store.get_opts(object, options).await?;
        let size = response.meta.size;
        Ok((size, content(response, max_bytes, object).await?))
    }
}

/// Reads the bytes of a response for an object; more than `max_bytes` are an error.
pub(super) async fn content(response: GetResult, max_bytes: u64, object: &Path) -> Result<Bytes> {
    let expected = response.range.end.saturating_sub(response.range.start);
    let mut pieces = response.into_stream();
    let mut bytes = pieces.try_next().await?.unwrap_or_default();
    if let Some(second) = pieces.try_next().await? {
        let mut joined = buffer(expected.min(max_bytes), object)?;
        joined.extend_from_slice(&bytes);
        let mut next = Some(second);
        while let Some(piece) = next {
            if joined.len() as u64 + piece.len() as u64 > max_bytes {
                return Err(too_many(max_bytes, object));
            }
            joined.extend_from_slice(&piece);
            next = pieces.try_next().await?;
        }
        bytes = Bytes::from(joined);
    }
    if bytes.len() as u64 > max_bytes {
        return Err(too_many(max_bytes, object));
    }
    progress::read(bytes.len());
    Ok(bytes)
}

/// Allocates a buffer of this capacity; too little memory is an error, since the length may come from a log
/// or a response that is wrong.
fn buffer(length: u64, object: &Path) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let reserved = buffer.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX));
    reserved
        .map_err(|cause| generic(format!("no memory for {length} bytes of {object}: {cause}")))?;
    Ok(buffer)
}

fn too_many(max_bytes: u64, object: &Path) -> Error {
    generic(format!(
        "the store sent more bytes of {object} than the {max_bytes} that were expected"
    ))
}

fn generic(message: String) -> Error {
    Error::Generic {
        store: "deltareplay",
        source: message.into(),
    }
}

fn part_size(ranges: &[Range<u64>]) -> u64 {
    let lengths = ranges.iter().map(|range| range.end - range.start);
    (lengths.fold(0, u64::saturating_add) / PARTS).clamp(MIN_PART_SIZE, MAX_PART_SIZE)
}

/// Splits a range into parts of the same size, except the last one.
fn parts(range: &Range<u64>, part_size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (start, end) = (range.start, range.end);
    let count = (end - start).div_ceil(part_size).clamp(1, MAX_PARTS);
    let even_size = (end - start).div_ceil(count);
    (0..count).map(move |number| {
        let from = start + number * even_size;
        from..end.min(from.saturating_add(even_size))
    })
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests;
