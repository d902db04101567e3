//! Deleted and live rows as maximal ranges.

use std::ops::Range;

use super::DeletionVector;
use super::container::{Container, ContainerRows, run};

/// The range that is still growing.
#[derive(Clone, Copy, Debug, Default)]
struct OpenRange {
    start: u64,
    end: u64,
}

impl OpenRange {
    /// Appends rows after all earlier ones; emits the previous range unless they are adjacent.
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

    fn add_container(
        &mut self,
        base: u64,
        rows: ContainerRows<'_>,
        emit: &mut impl FnMut(Range<u64>),
    ) {
        let mut open = *self;
        match rows {
            ContainerRows::Array(values) => {
                for value in values {
                    let row = base + u64::from(u16::from_le_bytes(*value));
                    open.add(row, row + 1, emit);
                }
            }
            ContainerRows::Bitmap(words) => {
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
            ContainerRows::Runs(runs) => {
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
    /// Returns the deleted rows as ascending ranges that are not adjacent.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let mut ranges = Vec::new();
        self.for_each_range(0..u64::MAX, |range| ranges.push(range));
        ranges.into_iter()
    }

    /// Calls `emit` with every deleted range within `rows`: the fastest way to enumerate them.
    pub fn for_each_range(&self, rows: Range<u64>, mut emit: impl FnMut(Range<u64>)) {
        if rows.is_empty() {
            return;
        }
        let mut open = OpenRange::default();
        let mut clipped = |range: Range<u64>| {
            let (start, end) = (range.start.max(rows.start), range.end.min(rows.end));
            if start < end {
                emit(start..end);
            }
        };
        for container in self.containers_within(&rows) {
            open.add_container(container.base(), self.rows_of(container), &mut clipped);
        }
        open.close(&mut clipped);
    }

    /// Returns the rows of `rows` that are not deleted, as ascending ranges that are not adjacent.
    pub fn live_ranges(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        let counts = self
            .containers_within(&rows)
            .iter()
            .map(|container| container.count);
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

    /// Returns the rows of one container as ranges that are not adjacent.
    pub(super) fn ranges_of(&self, container: &Container) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut add = |range| ranges.push(range);
        let mut open = OpenRange::default();
        open.add_container(container.base(), self.rows_of(container), &mut add);
        open.close(&mut add);
        ranges
    }

    /// Returns the containers that may contain some of `rows`.
    pub(super) fn containers_within(&self, rows: &Range<u64>) -> &[Container] {
        let from = self
            .containers
            .partition_point(|container| container.key < rows.start >> 16);
        let to = self
            .containers
            .partition_point(|container| container.base() < rows.end);
        self.containers.get(from..to).unwrap_or_default()
    }
}
