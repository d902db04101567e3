//! Deleted rows as ranges, and what is left as ranges: each is as long as it can be.

use std::ops::Range;

use super::DeletionVector;
use super::chunk::{Chunk, Rows, run};

/// The range that is still growing.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    start: u64,
    end: u64,
}

impl Open {
    /// Appends rows behind all before; gives out the range before unless they touch.
    #[inline]
    fn add(&mut self, start: u64, end: u64, emit: &mut impl FnMut(Range<u64>)) {
        if start == self.end {
            self.end = end;
            return;
        }
        self.close(emit);
        *self = Self { start, end };
    }

    #[inline]
    fn close(&mut self, emit: &mut impl FnMut(Range<u64>)) {
        if self.start < self.end {
            emit(self.start..self.end);
        }
    }

    fn add_chunk(&mut self, base: u64, rows: Rows<'_>, emit: &mut impl FnMut(Range<u64>)) {
        let mut open = *self;
        match rows {
            Rows::Array(values) => {
                for value in values {
                    let row = base + u64::from(u16::from_le_bytes(*value));
                    open.add(row, row + 1, emit);
                }
            }
            Rows::Words(words) => {
                for (index, word) in (0_u64..).step_by(64).zip(words) {
                    let mut word = u64::from_le_bytes(*word);
                    while word != 0 {
                        let skipped = word.trailing_zeros();
                        let ones = (!(word >> skipped)).trailing_zeros();
                        let start = base + index + u64::from(skipped);
                        open.add(start, start + u64::from(ones), emit);
                        word &= u64::MAX.checked_shl(skipped + ones).unwrap_or(0);
                    }
                }
            }
            Rows::Runs(runs) => {
                for bytes in runs {
                    let (first, last) = run(*bytes);
                    open.add(base + u64::from(first), base + u64::from(last) + 1, emit);
                }
            }
        }
        *self = open;
    }
}

impl DeletionVector {
    /// The deleted rows as ranges that do not touch, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let mut ranges = Vec::new();
        self.for_each_range(0..u64::MAX, |range| ranges.push(range));
        ranges.into_iter()
    }

    /// Calls `emit` with every deleted range within `rows`: the fastest way to see them all.
    pub fn for_each_range(&self, rows: Range<u64>, mut emit: impl FnMut(Range<u64>)) {
        if rows.is_empty() {
            return;
        }
        let mut open = Open::default();
        let mut clipped = |range: Range<u64>| {
            let (start, end) = (range.start.max(rows.start), range.end.min(rows.end));
            if start < end {
                emit(start..end);
            }
        };
        for chunk in self.chunks_within(&rows) {
            open.add_chunk(chunk.base(), self.rows_of(chunk), &mut clipped);
        }
        open.close(&mut clipped);
    }

    /// What is left of `rows`, as ranges that do not touch, ascending.
    pub fn live_ranges(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        let counts = self.chunks_within(&rows).iter().map(|chunk| chunk.count);
        let mut live = Vec::with_capacity(counts.sum::<u32>() as usize + 1);
        let mut begin = rows.start;
        self.for_each_range(rows.clone(), |deleted| {
            if begin < deleted.start {
                live.push(begin..deleted.start);
            }
            begin = deleted.end;
        });
        if begin < rows.end {
            live.push(begin..rows.end);
        }
        live
    }

    /// The rows of one chunk as ranges that do not touch.
    pub(super) fn ranges_of(&self, chunk: &Chunk) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut add = |range| ranges.push(range);
        let mut open = Open::default();
        open.add_chunk(chunk.base(), self.rows_of(chunk), &mut add);
        open.close(&mut add);
        ranges
    }

    /// The chunks that may hold some of `rows`.
    pub(super) fn chunks_within(&self, rows: &Range<u64>) -> &[Chunk] {
        let from = self
            .chunks
            .partition_point(|chunk| chunk.key < rows.start >> 16);
        let to = self.chunks.partition_point(|chunk| chunk.base() < rows.end);
        self.chunks.get(from..to).unwrap_or_default()
    }
}
