//! The columns of one unit as they are decoded, without the rows that are left out.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::{RowSelection, RowSelectionPolicy};

use super::decoded_columns::DecodedColumns;
use super::open::{OpenFile, Unit};
use crate::codec::parquet_file::{PageRules, check_pages, chunk_ranges};
use crate::codec::squeeze::Runs;
use crate::error::{Error, Result};
use crate::storage::Storage;

const PAGES: PageRules = PageRules {
    code: "data.pages",
    most_bytes: u64::MAX,
};

/// Where more than one row of so many is left out, what stays is copied: it would else keep the room
/// of all of them.
const SQUEEZED: usize = 4;

/// Decodes one unit, batch by batch.
pub(super) struct Decoder {
    columns: DecodedColumns,
    /// Where all rows are decoded, and some are to be left out.
    gaps: Option<Gaps>,
}

impl Decoder {
    /// Fetches what the unit needs of these rows; they are `left`, and one at least.
    pub(super) fn new(
        file: &OpenFile,
        storage: &dyn Storage,
        unit: &Unit,
        live: &[Range<u64>],
        left: u64,
    ) -> Result<Self> {
        let metadata = file.arrow.metadata();
        let group = metadata.row_groups().get(unit.row_group);
        let of = group
            .and_then(|group| usize::try_from(group.num_rows()).ok())
            .unwrap_or_default();
        // positions in the file to positions in the row group
        let first = unit.rows.start;
        let place = |row: u64| {
            usize::try_from(row.saturating_sub(first))
                .unwrap_or(of)
                .min(of)
        };
        let ranges = || {
            live.iter()
                .map(|range| place(range.start)..place(range.end))
        };
        let left = usize::try_from(left).unwrap_or(of);
        let selection = (left != of).then(|| RowSelection::from_consecutive_ranges(ranges(), of));
        let wanted = chunk_ranges(metadata, unit.row_group, &file.leaves, selection.as_ref());
        let fetched = storage.read_ranges(&file.path, &wanted.ranges)?;
        let pages = check_pages(metadata, unit.row_group, &wanted, &fetched, &PAGES)?;
        let few = of.saturating_sub(left) <= of / SQUEEZED;
        let squeezed = few && wanted.policy == RowSelectionPolicy::Mask;
        let gaps =
            (selection.is_some() && squeezed).then(|| Gaps::new(ranges().collect(), left, of));
        let selection = selection
            .filter(|_| !squeezed)
            .map(|rows| (rows, wanted.policy));
        let columns = DecodedColumns::new(file, unit, &wanted, fetched, pages, selection).map_err(
            |cause| Error::corrupt("data.pages", "the data file does not decode").because(cause),
        )?;
        Ok(Self { columns, gaps })
    }

    /// The next rows: how many, and their columns.
    pub(super) fn advance(&mut self) -> Result<Option<(usize, Vec<ArrayRef>)>, ArrowError> {
        loop {
            if self.gaps.as_ref().is_some_and(|gaps| gaps.left == 0) {
                return Ok(None);
            }
            let gaps = &mut self.gaps;
            let kept = |rows| gaps.as_mut().map(|gaps| gaps.take(rows)).transpose();
            match self.columns.advance(kept)? {
                Some((0, _)) => {}
                other => return Ok(other),
            }
        }
    }
}

/// Which rows of each batch stay.
struct Gaps {
    /// What stays of the unit's rows.
    live: Vec<Range<usize>>,
    /// The first of `live` that does not lie before `at`.
    next: usize,
    /// Rows that were decoded.
    at: usize,
    /// Rows that stay and are still to come.
    left: usize,
    /// All rows of the unit.
    of: usize,
}

impl Gaps {
    fn new(live: Vec<Range<usize>>, left: usize, of: usize) -> Self {
        Self {
            live,
            next: 0,
            at: 0,
            left,
            of,
        }
    }

    /// What stays of so many rows that were decoded next.
    fn take(&mut self, rows: usize) -> Result<Runs, ArrowError> {
        let (begin, end) = (self.at, self.at.saturating_add(rows));
        if end > self.of {
            let message = "the pages hold more rows than the footer says";
            return Err(ArrowError::ParquetError(message.to_owned()));
        }
        let mut runs = Runs::new(rows);
        while let Some(live) = self.live.get(self.next).filter(|live| live.start < end) {
            runs.push(live.start.max(begin) - begin..live.end.min(end) - begin);
            if live.end > end {
                break;
            }
            self.next += 1;
        }
        self.at = end;
        self.left = self.left.saturating_sub(runs.rows());
        Ok(runs)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow_array::UInt64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;

    use super::*;

    #[test]
    fn what_stays_is_the_same_however_batches_are_cut() {
        let live = vec![1..4, 5..6, 9..20, 22..23];
        let expected: Vec<u64> = live
            .iter()
            .cloned()
            .flatten()
            .map(|row| row as u64)
            .collect();
        for batch in 1..30 {
            let mut gaps = Gaps::new(live.clone(), 16, 25);
            let mut found: Vec<u64> = Vec::new();
            for at in (0..25).step_by(batch) {
                let rows = at..(at + batch).min(25);
                let runs = gaps.take(rows.len()).unwrap();
                let rows = rows.map(|row| row as u64);
                let column = Arc::new(UInt64Array::from_iter_values(rows));
                let kept = runs.squeeze(column).unwrap();
                assert_eq!(kept.len(), runs.rows());
                found.extend(kept.as_primitive::<UInt64Type>().values());
            }
            assert_eq!(found, expected);
            assert_eq!(gaps.left, 0);
            assert!(gaps.take(1).is_err());
        }
    }
}
