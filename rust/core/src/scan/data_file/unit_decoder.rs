//! The columns of one unit as they are decoded, without the rows that are left out.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};

use super::open::{OpenFile, Unit};
use crate::codec::parquet_file::{Chunks, PageRules, check_pages, chunk_ranges};
use crate::error::{Error, Result};
use crate::storage::Storage;

const PAGES: PageRules = PageRules {
    code: "data.pages",
    most_bytes: u64::MAX,
};

/// Decodes one unit, batch by batch.
pub(super) struct UnitDecoder(ParquetRecordBatchReader);

impl UnitDecoder {
    /// Fetches what the unit needs of these rows; they are `left`, and one at least.
    pub(super) fn new(
        file: &OpenFile,
        storage: &dyn Storage,
        unit: &Unit,
        live: &[Range<u64>],
        left: u64,
    ) -> Result<Self> {
        let metadata = file.arrow.metadata();
        let selection = selection(unit, live, left);
        let wanted = chunk_ranges(metadata, unit.row_group, &file.leaves, selection.as_ref());
        let fetched = storage.read_ranges(&file.path, &wanted.ranges)?;
        check_pages(metadata, unit.row_group, &wanted, &fetched, &PAGES)?;
        let parquet = metadata.file_metadata().schema_descr();
        let leaves = file.leaves.iter().copied();
        let mut reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            Chunks::new(&wanted.ranges, fetched, file.length),
            file.arrow.clone(),
        )
        .with_projection(ProjectionMask::leaves(parquet, leaves))
        .with_batch_size(file.batch_rows)
        .with_row_groups(vec![unit.row_group]);
        if let Some(selection) = selection {
            reader = reader
                .with_row_selection_policy(wanted.policy)
                .with_row_selection(selection);
        }
        let reader = reader.build().map_err(|cause| {
            Error::corrupt("data.pages", "the data file does not decode").because(cause)
        })?;
        Ok(Self(reader))
    }

    /// The next rows: how many, and their columns.
    pub(super) fn advance(&mut self) -> Result<Option<(usize, Vec<ArrayRef>)>, ArrowError> {
        let Some(batch) = self.0.next().transpose()? else {
            return Ok(None);
        };
        let (_, columns, rows) = batch.into_parts();
        Ok(Some((rows, columns)))
    }
}

/// The rows to decode, by their place in the row group; `None` for all of them.
fn selection(unit: &Unit, live: &[Range<u64>], left: u64) -> Option<RowSelection> {
    let first = unit.rows.start;
    let all = unit.rows.end - first;
    if left == all {
        return None;
    }
    // a row group's rows were counted when the footer was checked
    let place = |row: u64| usize::try_from(row.saturating_sub(first)).unwrap_or(usize::MAX);
    let ranges = live
        .iter()
        .map(|range| place(range.start)..place(range.end));
    Some(RowSelection::from_consecutive_ranges(
        ranges,
        place(unit.rows.end),
    ))
}
