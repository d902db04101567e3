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

/// The approximate number of parts of a request.
const PARTS: u64 = 32;
/// The minimum size of a part in bytes.
const MIN_PART: u64 = 2 << 20;
const MAX_PART: u64 = 16 << 20;
/// The maximum number of parts of a range, whatever its length.
const MAX_PARTS: u64 = 1024;
/// The maximum number of parts that are pending or wait for a permit.
const AT_ONCE: usize = 64;

impl Client {
    /// Returns the bytes of these ranges; ends with the first part of a range that exceeds the object.
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
                    break; // the caller reports it
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

/// Reads the response for an object, and refuses more than `max_bytes` bytes.
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

/// Allocates a buffer for the number of bytes that a store states, which may be wrong.
fn buffer(length: u64, object: &Path) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let reserved = buffer.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX));
    reserved
        .map_err(|cause| generic(format!("no memory for {length} bytes of {object}: {cause}")))?;
    Ok(buffer)
}

fn too_many(max_bytes: u64, object: &Path) -> Error {
    generic(format!(
        "the store sent more than {max_bytes} bytes of {object}, which is more than requested"
    ))
}

fn generic(message: String) -> Error {
    Error::Generic {
        store: "deltareplay",
        source: message.into(),
    }
}

/// Returns the size of the parts of these ranges.
fn step(ranges: &[Range<u64>]) -> u64 {
    let lengths = ranges.iter().map(|range| range.end - range.start);
    (lengths.fold(0, u64::saturating_add) / PARTS).clamp(MIN_PART, MAX_PART)
}

/// Splits a range into parts of about the same size.
fn parts(range: &Range<u64>, step: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (start, end) = (range.start, range.end);
    let count = (end - start).div_ceil(step).clamp(1, MAX_PARTS);
    let step = (end - start).div_ceil(count);
    (0..count).map(move |number| {
        let from = start + number * step;
        from..end.min(from.saturating_add(step))
    })
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, clippy::cast_possible_truncation)]
mod tests;
