//! Ranges of files: their known parts, and promises for the rest.

use std::cmp::Reverse;
use std::iter::empty;
use std::ops::Range;
use std::sync::Arc;

use super::{CachedRange, ENTRY, Listed, Memory, PendingBytes, Piece, Promise, TableKey, budget};
use crate::storage::file_bytes::{gaps, near, overlap};

/// Bytes fetched ahead are at most this fraction of the budget.
pub(super) const AHEAD: usize = 2;

/// Ranges with fewer bytes between them are fetched by one request.
pub(super) const NEAR: u64 = 1 << 20;

/// The maximum size of a request ahead in bytes.
pub(super) const LONGEST: u64 = 4 << 20;

/// Fewer bytes do not justify a separate request; they are added to the next one.
pub(super) const FEW: u64 = 64 << 10;

/// The known and the missing parts of ranges of a file.
pub(in crate::storage::remembered) struct Ranges {
    /// Cached or pending parts, sorted; none contains another.
    pub(in crate::storage::remembered) pieces: Vec<(Range<u64>, Piece)>,
    /// The parts to fetch, sorted, without overlap, close ones merged.
    pub(in crate::storage::remembered) missing: Vec<Range<u64>>,
}

impl Memory {
    /// Returns the known and the missing parts of ranges of a file.
    pub(in crate::storage::remembered) fn ranges(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: Listed,
        ranges: &[Range<u64>],
    ) -> Ranges {
        let clock = self.clock;
        let kept = self.table(key).kept.get_mut(path);
        let Some(kept) = kept.filter(|kept| kept.listed == listed) else {
            let missing = near(gaps(ranges, empty()), NEAR, |_| false);
            return Ranges {
                pieces: Vec::new(),
                missing,
            };
        };
        kept.last_use = clock + 1;
        let overlaps =
            |(piece, _): &&(Range<u64>, Piece)| ranges.iter().any(|range| overlap(piece, range));
        let mut pieces: Vec<_> = kept.pieces.iter().filter(overlaps).cloned().collect();
        pieces.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut at = 0;
        pieces.retain(|(range, _)| {
            let reaches = range.end > at;
            at = at.max(range.end);
            reaches
        });
        let gaps = gaps(ranges, pieces.iter().map(|(range, _)| range));
        let apart = |between: &Range<u64>| {
            let mut all = kept.pieces.iter();
            all.any(|(range, _)| overlap(range, between))
        };
        let missing = near(gaps, NEAR, apart);
        Ranges { pieces, missing }
    }

    /// Creates promises for the missing parts of these files or ranges, as far as the pending bytes of all
    /// tables may be cached.
    pub(in crate::storage::remembered) fn promise(
        &mut self,
        key: &Arc<TableKey>,
        files: &[(String, Option<Range<u64>>)],
    ) -> Vec<Promise> {
        let mut promised = Vec::with_capacity(files.len());
        let max_bytes = (budget() / AHEAD) as u64;
        for ranges in files.chunk_by(|(path, _), (next, _)| path == next) {
            let Some((path, _)) = ranges.first() else {
                continue;
            };
            let Some(listed) = self.file(key, path) else {
                continue;
            };
            let is_whole = ranges.iter().any(|(_, range)| range.is_none());
            let missing = if is_whole {
                let whole = 0..listed.size;
                let known = self.find(key, path, listed, &whole);
                let is_unknown = matches!(known, CachedRange::Unknown) && listed.size > 0;
                is_unknown.then_some(whole).into_iter().collect()
            } else {
                let ranges = ranges.iter().filter_map(|(_, range)| range.clone());
                let ranges: Vec<_> = ranges.filter(|range| range.end <= listed.size).collect();
                self.ranges(key, path, listed, &ranges).missing
            };
            let longest = if is_whole { u64::MAX } else { LONGEST };
            for part in missing.into_iter().flat_map(|range| parts(range, longest)) {
                if self.coming.saturating_add(part.end - part.start) > max_bytes {
                    return promised; // new bytes would evict earlier ones
                }
                promised.push(self.promise_range(key, path, listed, part));
            }
        }
        promised
    }

    /// Creates the promise for a range that is fetched now.
    pub(in crate::storage::remembered) fn promise_range(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: Listed,
        range: Range<u64>,
    ) -> Promise {
        let coming = Arc::new(PendingBytes::default());
        let clock = self.clock + 1;
        let kept = self.kept_file(key, path, listed);
        kept.last_use = clock;
        kept.pieces
            .push((range.clone(), Piece::PendingBytes(Arc::clone(&coming))));
        self.used += ENTRY;
        self.coming = self.coming.saturating_add(range.end - range.start);
        Promise {
            coming,
            table: Arc::clone(key),
            path: path.to_owned(),
            listed,
            range,
        }
    }
}

/// Splits a range into parts of at most `longest` bytes plus a few.
fn parts(range: Range<u64>, longest: u64) -> impl Iterator<Item = Range<u64>> {
    let length = range.end - range.start;
    let count = length.saturating_sub(FEW).div_ceil(longest).max(1);
    let step = length.div_ceil(count);
    (0..count).map_while(move |number| {
        let start = range.start.checked_add(number.checked_mul(step)?)?;
        Some(start..range.end.min(start.saturating_add(step)))
    })
}
