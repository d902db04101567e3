//! Ranges of files: their known parts, and promises for the rest.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use super::{
    CachePromise, CachedRange, ENTRY, ListedFile, LogCache, PendingBytes, Piece, TableKey, budget,
};
use crate::storage::file_bytes::{gaps, merge_close, merged, overlap};

/// The pending bytes of prefetching are at most the budget divided by this number.
pub(super) const PENDING_DIVISOR: usize = 2;

/// The approximate maximum size of a prefetching request in bytes, except for whole files.
pub(super) const MAX_REQUEST: u64 = 4 << 20;

/// A remainder of at most this many bytes has no request of its own: the other requests become longer.
pub(super) const MIN_REQUEST: u64 = 64 << 10;

/// The known and the missing parts of ranges of a file.
pub(in crate::storage::cached) struct Ranges {
    /// Cached or pending parts, sorted; none contains another.
    pub(in crate::storage::cached) pieces: Vec<(Range<u64>, Piece)>,
    /// The parts to fetch, sorted, without overlap, close ones merged.
    pub(in crate::storage::cached) missing: Vec<Range<u64>>,
}

impl LogCache {
    /// Returns the known and the missing parts of ranges of a file.
    pub(in crate::storage::cached) fn ranges(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: ListedFile,
        ranges: &[Range<u64>],
    ) -> Ranges {
        let clock = self.clock;
        let cached = self.table(key).cached.get_mut(path);
        let Some(cached) = cached.filter(|cached| cached.listed == listed) else {
            return Ranges {
                pieces: Vec::new(),
                missing: merged(ranges),
            };
        };
        cached.last_use = clock + 1;
        let overlaps =
            |(piece, _): &&(Range<u64>, Piece)| ranges.iter().any(|range| overlap(piece, range));
        let mut pieces: Vec<_> = cached.pieces.iter().filter(overlaps).cloned().collect();
        pieces.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut at = 0;
        pieces.retain(|(range, _)| {
            let extends = range.end > at;
            at = at.max(range.end);
            extends
        });
        let gaps = gaps(ranges, pieces.iter().map(|(range, _)| range));
        let is_separated = |between: &Range<u64>| {
            let mut all = cached.pieces.iter();
            all.any(|(range, _)| overlap(range, between))
        };
        let missing = merge_close(gaps, is_separated);
        Ranges { pieces, missing }
    }

    /// Creates promises for the missing parts of these files or ranges, up to the limit of the pending bytes
    /// of all tables.
    pub(in crate::storage::cached) fn promise(
        &mut self,
        key: &Arc<TableKey>,
        files: &[(String, Option<Range<u64>>)],
    ) -> Vec<CachePromise> {
        let mut promised = Vec::with_capacity(files.len());
        let max_bytes = (budget() / PENDING_DIVISOR) as u64;
        for ranges in files.chunk_by(|(path, _), (next, _)| path == next) {
            let Some((path, _)) = ranges.first() else {
                continue;
            };
            let Some(listed) = self.listed_file(key, path) else {
                continue;
            };
            let is_whole = ranges.iter().any(|(_, range)| range.is_none());
            let missing = if is_whole {
                let whole = 0..listed.size;
                match self.find(key, path, listed, &whole) {
                    CachedRange::Unknown if listed.size > 0 => vec![whole],
                    _ => Vec::new(),
                }
            } else {
                let ranges = ranges.iter().filter_map(|(_, range)| range.clone());
                let ranges: Vec<_> = ranges.filter(|range| range.end <= listed.size).collect();
                self.ranges(key, path, listed, &ranges).missing
            };
            let longest = if is_whole { u64::MAX } else { MAX_REQUEST };
            for part in missing.into_iter().flat_map(|range| parts(range, longest)) {
                if self.pending.saturating_add(part.end - part.start) > max_bytes {
                    return promised; // new bytes would evict earlier ones
                }
                promised.push(self.promise_range(key, path, listed, part));
            }
        }
        promised
    }

    /// Creates the promise for a range that is fetched now.
    pub(in crate::storage::cached) fn promise_range(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: ListedFile,
        range: Range<u64>,
    ) -> CachePromise {
        let pending = Arc::new(PendingBytes::default());
        let clock = self.clock + 1;
        let cached = self.cached_file(key, path, listed);
        cached.last_use = clock;
        cached
            .pieces
            .push((range.clone(), Piece::Pending(Arc::clone(&pending))));
        self.used += ENTRY;
        self.pending = self.pending.saturating_add(range.end - range.start);
        CachePromise {
            pending,
            table: Arc::clone(key),
            path: path.to_owned(),
            listed,
            range,
        }
    }
}

/// Splits a range into parts of at most `longest` + [`MIN_REQUEST`] bytes.
fn parts(range: Range<u64>, longest: u64) -> impl Iterator<Item = Range<u64>> {
    let length = range.end - range.start;
    let count = length.saturating_sub(MIN_REQUEST).div_ceil(longest).max(1);
    let step = length.div_ceil(count);
    (0..count).map_while(move |number| {
        let start = range.start.checked_add(number.checked_mul(step)?)?;
        Some(start..range.end.min(start.saturating_add(step)))
    })
}
