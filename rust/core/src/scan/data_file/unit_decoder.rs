//! Decodes the columns of a unit, without the rows to skip.

use std::ops::Range;
use std::vec::IntoIter;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::RowSelection;

use super::open::{OpenFile, UnitRows};
use super::views;
use crate::codec::parquet_file::{
    BatchSize, FetchedBytes, PageRules, RowGroupReader, RowGroupRequest,
};
use crate::error::Result;
use crate::spec::arrow::split_batch;

const PAGES: PageRules = PageRules {
    code: "data.pages",
    message: "the data file does not decode",
    max_bytes: u64::MAX,
};

/// Strings that were decoded into views are expanded in pieces of this size.
const PIECE_BYTES: u64 = 8 << 20;

/// Decodes a unit, batch by batch.
pub(super) struct UnitDecoder {
    reader: RowGroupReader,
    /// True if some of its strings are views.
    has_views: bool,
    /// The pieces of the last decoded batch.
    pieces: IntoIter<RecordBatch>,
}

impl UnitDecoder {
    /// Fetches the missing bytes for these rows of the unit, at least one row.
    pub(super) fn new(
        file: &OpenFile,
        unit: &UnitRows,
        live: &[Range<u64>],
        fetched: &mut FetchedBytes,
    ) -> Result<Self> {
        let request = request(file, unit, live);
        let missing = request.missing(fetched);
        if !missing.is_empty() {
            fetched.extend(file.bytes.take(&missing, &fetched.ranges())?);
        }
        let reader = request.reader(
            &file.arrow,
            fetched,
            BatchSize::Bounded(file.batch_rows),
            &PAGES,
        )?;
        let schema = reader.schema();
        let mut fields = schema.fields().iter();
        Ok(Self {
            has_views: fields.any(|field| views::has_views(field.data_type())),
            reader,
            pieces: Vec::new().into_iter(),
        })
    }

    /// Returns the next rows: their number, and their columns.
    pub(super) fn advance(&mut self) -> Result<Option<(usize, Vec<ArrayRef>)>, ArrowError> {
        if self.pieces.as_slice().is_empty() {
            let Some(batch) = self.reader.next().transpose()? else {
                return Ok(None);
            };
            if !self.has_views {
                let (_, columns, rows) = batch.into_parts();
                return Ok(Some((rows, columns)));
            }
            let mut pieces = Vec::new();
            let rows = batch.num_rows();
            split_batch(batch, rows, PIECE_BYTES, &mut |piece| {
                pieces.push(piece);
                Ok::<_, ArrowError>(())
            })?;
            self.pieces = pieces.into_iter();
        }
        let Some(piece) = self.pieces.next() else {
            return Ok(None);
        };
        let (_, columns, rows) = piece.into_parts();
        let columns = columns.iter().map(views::plain).collect::<Result<_, _>>()?;
        Ok(Some((rows, columns)))
    }
}

/// Returns the request for these rows of a unit.
pub(super) fn request(file: &OpenFile, unit: &UnitRows, live: &[Range<u64>]) -> RowGroupRequest {
    let selection = selection(unit, live);
    let metadata = file.arrow.metadata();
    RowGroupRequest::new(metadata, unit.row_group, file.leaves.clone(), selection)
}

/// Returns the number of rows in ranges.
pub(super) fn count(live: &[Range<u64>]) -> u64 {
    live.iter().map(|range| range.end - range.start).sum()
}

/// Returns the rows to decode, relative to the row group; `None` for all of them.
fn selection(unit: &UnitRows, live: &[Range<u64>]) -> Option<RowSelection> {
    let first = unit.rows.start;
    if count(live) == unit.rows.end - first {
        return None;
    }
    // the rows of a row group were counted when the footer was checked
    let index = |row: u64| usize::try_from(row.saturating_sub(first)).unwrap_or(usize::MAX);
    let ranges = live
        .iter()
        .map(|range| index(range.start)..index(range.end));
    Some(RowSelection::from_consecutive_ranges(
        ranges,
        index(unit.rows.end),
    ))
}
