//! Distribution of the decoded bytes of a column chunk over its rows.

use std::sync::Arc;

use parquet::arrow::arrow_reader::RowSelection;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::data_page::DataPage;
use super::fetched::FetchedBytes;
use super::integers::RleRuns;

/// Consecutive rows, and their decoded bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// A measured share ends at `SHARE_BYTES`, or at 1 / `SHARE_PART` of all bytes before it if that is more, so that
/// there are few shares.
const SHARE_BYTES: u64 = 1 << 20;
const SHARE_PART: u64 = 1 << 10;

/// Measures the shares of a nested column chunk from the levels in its pages; `sizes` are the bytes of a value
/// in each page. `None` if a page does not decode, which its reader will report.
pub(super) fn measured(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    sizes: impl Iterator<Item = u64>,
) -> Option<Vec<Share>> {
    let levels = column.column_descr().max_rep_level();
    let mut pages = SerializedPageReader::new(Arc::new(fetched.clone()), column, 0, None).ok()?;
    let mut shares = SharesBuilder::default();
    for size in sizes {
        let mut page = pages.get_next_page().ok()??;
        if matches!(page, Page::DictionaryPage { .. }) {
            page = pages.get_next_page().ok()??;
        }
        let page = DataPage::new(&page, column.column_descr())?;
        shares.levels(RleRuns::new(page.repetition, levels), page.values, size);
    }
    Some(shares.finish())
}

/// Builds shares from measured rows.
#[derive(Default)]
pub(super) struct SharesBuilder {
    done: Vec<Share>,
    open: Share,
    /// The bytes of the shares that are done.
    before: u64,
}

impl SharesBuilder {
    pub(super) fn add(&mut self, rows: u64, bytes: u64) {
        let max = SHARE_BYTES.max(self.before / SHARE_PART);
        if self.open.rows > 0 && self.open.bytes.saturating_add(bytes) > max {
            self.before = self.before.saturating_add(self.open.bytes);
            self.done.push(std::mem::take(&mut self.open));
        }
        self.open.rows = self.open.rows.saturating_add(rows);
        self.open.bytes = self.open.bytes.saturating_add(bytes);
    }

    /// Adds the rows of the first `values` levels, without the padding after them; a level of 0 begins a row,
    /// and each value takes `each` bytes.
    fn levels(&mut self, runs: RleRuns<'_>, values: u64, each: u64) {
        let mut left = values;
        for (count, level) in runs {
            let count = count.min(left);
            let bytes = count.saturating_mul(each);
            if level == 0 {
                self.add(count, bytes);
            } else {
                // continues the previous row
                self.open.bytes = self.open.bytes.saturating_add(bytes);
            }
            left -= count;
            if left == 0 {
                break;
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<Share> {
        self.done.push(self.open);
        self.done
    }
}

/// Returns the selected rows of each share, with the corresponding part of its bytes.
pub(super) fn selected(shares: Vec<Share>, selection: Option<&RowSelection>) -> Vec<Share> {
    let Some(selection) = selection else {
        return shares;
    };
    let total: u64 = shares.iter().map(|share| share.rows).sum();
    let covered = selection
        .iter()
        .map(|run| run.row_count as u64)
        .fold(0, u64::saturating_add);
    if total < covered {
        return shares; // pages that have no selected rows were not fetched
    }
    let mut runs = selection
        .iter()
        .map(|run| (run.skip, run.row_count as u64))
        .peekable();
    let part = |Share { rows, bytes }| {
        let (mut left, mut kept) = (rows, 0);
        while let Some((skip, count)) = runs.peek_mut().filter(|_| left > 0) {
            let taken = left.min(*count);
            if !*skip {
                kept += taken;
            }
            left -= taken;
            *count -= taken;
            if *count == 0 {
                runs.next();
            }
        }
        Share {
            rows: kept,
            bytes: scaled(bytes, kept, rows),
        }
    };
    shares.into_iter().map(part).collect()
}

/// `bytes * part / whole`.
fn scaled(bytes: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The cumulative bytes of a column by rows: the number of rows and of bytes up to the end of each share.
pub(super) struct Shares(Vec<(u64, u64)>);

impl Shares {
    pub(super) fn new(shares: Vec<Share>) -> Self {
        let mut sum = (0_u64, 0_u64);
        let mut sums = vec![sum];
        for Share { rows, bytes } in shares {
            sum = (sum.0.saturating_add(rows), sum.1.saturating_add(bytes));
            sums.push(sum);
        }
        Self(sums)
    }

    /// Returns the maximum bytes of this many consecutive rows, assuming that rows of a share are equally
    /// large.
    pub(super) fn max_bytes_of_rows(&self, rows: u64) -> u64 {
        let end = self.0.last().copied().unwrap_or_default();
        if end.0 <= rows {
            return end.1;
        }
        let windows = self.0.iter().map(|(at, bytes)| {
            let after = self.before(at.saturating_add(rows)).saturating_sub(*bytes);
            after.max(bytes.saturating_sub(self.before(at.saturating_sub(rows))))
        });
        windows.max().unwrap_or_default()
    }

    /// Returns the bytes before a row.
    fn before(&self, row: u64) -> u64 {
        let next = self.0.partition_point(|(rows, _)| *rows <= row);
        let known = next.checked_sub(1).and_then(|at| self.0.get(at));
        let known = known.copied().unwrap_or_default();
        match self.0.get(next) {
            None => known.1,
            Some(end) => {
                let part = scaled(end.1 - known.1, row - known.0, end.0 - known.0);
                known.1.saturating_add(part)
            }
        }
    }
}

#[cfg(test)]
mod tests;
