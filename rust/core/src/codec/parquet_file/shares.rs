//! Distribution of the decoded bytes of a column chunk over its rows.

use std::sync::Arc;

use parquet::arrow::arrow_reader::RowSelection;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::fetched::FetchedBytes;
use super::hybrid::{DeltaNumbers, LevelRuns};

/// Consecutive rows, and their decoded bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// A measured share ends at this number of bytes.
const SHARE_BYTES: u64 = 1 << 20;

/// Measures the shares of a column chunk from the levels and string lengths in its pages; other values take
/// `width` bytes each. `None` if a page does not decode, which its reader will report.
pub(super) fn measured(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    width: u64,
) -> Option<Vec<Share>> {
    let (levels, defined) = {
        let column = column.column_descr();
        (column.max_rep_level(), column.max_def_level())
    };
    let text = column.column_descr().physical_type() == PhysicalType::BYTE_ARRAY;
    let mut pages = SerializedPageReader::new(Arc::new(fetched.clone()), column, 0, None).ok()?;
    let mut shares = Shared::default();
    while let Some(page) = pages.get_next_page().ok()? {
        let (buf, values, encoding, parts) = match &page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                rep_level_encoding,
                ..
            } => {
                let known = *rep_level_encoding == Encoding::RLE;
                (
                    buf,
                    *num_values,
                    *encoding,
                    v1_parts(buf, levels, defined, known),
                )
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let repeated = *rep_levels_byte_len as usize;
                let parts = buf.split_at_checked(repeated).and_then(|(levels, rest)| {
                    Some((levels, rest.get(*def_levels_byte_len as usize..)?))
                });
                (buf, *num_values, *encoding, parts)
            }
            Page::DictionaryPage { .. } => continue,
        };
        let (repeated, body) = parts?;
        let values = u64::from(values);
        let dictionary = matches!(
            encoding,
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
        );
        let each = match encoding {
            Encoding::DELTA_BYTE_ARRAY if levels == 0 => {
                shares.lengths(body, values)?;
                continue;
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let mut total = Shared::default();
                total.lengths(body, values)?;
                let bytes = total.done.iter().map(|share| share.bytes).sum::<u64>();
                (bytes + total.open.bytes).div_ceil(values.max(1))
            }
            _ if text && !dictionary => (buf.len() as u64).div_ceil(values.max(1)),
            _ => width,
        };
        if levels == 0 {
            shares.add(values, each.saturating_mul(values));
        } else {
            shares.levels(LevelRuns::new(repeated, levels), each);
        }
    }
    Some(shares.finish())
}

/// Returns the repetition levels and the values of a V1 data page.
pub(super) fn v1_parts(
    buf: &[u8],
    repeated: i16,
    defined: i16,
    known: bool,
) -> Option<(&[u8], &[u8])> {
    let part = |buf: &'_ [u8]| -> Option<usize> {
        let length = u32::from_le_bytes(*buf.first_chunk()?);
        usize::try_from(length).ok()
    };
    let (mut rest, mut levels): (&[u8], &[u8]) = (buf, &[]);
    if repeated > 0 {
        if !known {
            return None;
        }
        let length = part(rest)?;
        (levels, rest) = rest.get(4..)?.split_at_checked(length)?;
    }
    if defined > 0 {
        let length = part(rest)?;
        rest = rest.get(4..)?.get(length..)?;
    }
    Some((levels, rest))
}

/// Collects measured shares.
#[derive(Default)]
struct Shared {
    done: Vec<Share>,
    open: Share,
}

impl Shared {
    fn add(&mut self, rows: u64, bytes: u64) {
        if self.open.rows > 0 && self.open.bytes.saturating_add(bytes) > SHARE_BYTES {
            self.done.push(std::mem::take(&mut self.open));
        }
        self.open.rows = self.open.rows.saturating_add(rows);
        self.open.bytes = self.open.bytes.saturating_add(bytes);
    }

    /// Adds rows; a level of 0 begins a row, and each value takes `each` bytes.
    fn levels(&mut self, runs: LevelRuns<'_>, each: u64) {
        for (count, level) in runs {
            let bytes = count.saturating_mul(each);
            match (level, count) {
                (0, 1) => self.add(1, each),
                (0, _) => self.add(count, bytes),
                // continues the previous row
                _ => self.open.bytes = self.open.bytes.saturating_add(bytes),
            }
        }
    }

    /// Adds prefix-compressed strings, whose lengths are those of the prefix and the suffix.
    fn lengths(&mut self, body: &[u8], values: u64) -> Option<()> {
        let prefixes = DeltaNumbers::new(body)?;
        let suffixes = DeltaNumbers::new(DeltaNumbers::new(body)?.rest()?)?;
        let mut rows = values;
        for (prefix, suffix) in prefixes.zip(suffixes) {
            let Some(left) = rows.checked_sub(1) else {
                break;
            };
            rows = left;
            let length = prefix.max(0).saturating_add(suffix.max(0));
            self.add(1, length.unsigned_abs());
        }
        self.add(rows, 0); // nulls
        Some(())
    }

    fn finish(mut self) -> Vec<Share> {
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
    let known = selection
        .iter()
        .map(|run| run.row_count as u64)
        .fold(0, u64::saturating_add);
    if total < known {
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
