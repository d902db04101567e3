//! Temporary files for ordering rows along a curve.
//!
//! Each piece of the data becomes one temporary file. Its rows are written in runs that fit into memory, each
//! grouped by part, and each part of a run is a stream in Arrow IPC format. Reading a part means reading one
//! byte range per run of each file.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::interleave::interleave_record_batch;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::order::SampledOrder;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::Split;
use crate::spec::arrow::longest_row;
use crate::storage::pool::rows::ReadAheadLimits;
use crate::storage::{Storage, interrupt};

/// The column of positions, after all others.
const POSITION: &str = "__deltareplay_position";
/// Rows written at a time.
const STEP_ROWS: usize = 64 << 10;
/// Decoded bytes that a piece may read ahead.
const READ_AHEAD_BYTES: usize = 16 << 20;
/// Decoded bytes divided among the parts at a time.
const RUN_BYTES: usize = 48 << 20;
/// Bytes written at a time.
const STEP_BYTES: u64 = 64 << 20;

/// A temporary file of rows grouped by part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpilledFile {
    /// Its path.
    pub path: String,
    /// The end offsets of the parts of each run.
    ends: Vec<Vec<u64>>,
}

impl SpilledFile {
    /// Returns the byte ranges of the rows of a part: at most one for each run.
    pub(super) fn ranges_of(&self, part: usize) -> Vec<Range<u64>> {
        let mut start = 0;
        let mut ranges = Vec::new();
        for run in &self.ends {
            let before = part.checked_sub(1).and_then(|before| run.get(before));
            let from = before.copied().unwrap_or(start);
            ranges.extend(run.get(part).map(|end| from..*end));
            start = run.last().copied().unwrap_or(start);
        }
        ranges.retain(|range| !range.is_empty());
        ranges
    }
}

/// The index of a batch and of a row in it.
pub(super) type Row = (u32, u32);

/// Writes the rows of a piece to `path`, grouped by part of the order.
///
/// # Errors
///
/// Corrupt: `optimize.spilled`.
pub fn spill_piece(
    source: &Source,
    order: &SampledOrder,
    split: &Split,
    storage: &dyn Storage,
    path: String,
) -> Result<SpilledFile> {
    let limits = ReadAheadLimits {
        bytes: READ_AHEAD_BYTES,
        threads: 1,
    };
    let mut seed = split.paths().fold(0, |seed, path| {
        xxhash_rust::xxh3::xxh3_64_with_seed(path.as_bytes(), seed)
    });
    let rows = split
        .rows_with(source, limits)?
        .map(|rows| -> Result<RowsWithParts> {
            let rows = rows?;
            let positions = order.positions_of(&rows, seed)?;
            seed = seed.wrapping_add(1);
            let parts = positions.iter().map(|position| order.part(*position));
            let parts = parts.collect();
            Ok((with_positions(&rows, positions)?, parts))
        });
    spill(rows, order.parts(), storage, path)
}

/// Rows with their positions, and the part of each row.
pub(super) type RowsWithParts = (RecordBatch, Vec<usize>);

pub(super) fn spill(
    rows: impl Iterator<Item = Result<RowsWithParts>>,
    parts: usize,
    storage: &dyn Storage,
    path: String,
) -> Result<SpilledFile> {
    let mut runs = Runs {
        rows,
        parts,
        ends: Vec::new(),
        length: 0,
    };
    let first = runs.next()?.unwrap_or_default();
    match runs.next()? {
        None => {
            storage.put_if_absent_unsynced(&path, &first)?;
        }
        Some(second) => {
            let mut first_two = [first, second].into_iter();
            storage.put_pieces(&path, &mut || match first_two.next() {
                Some(run) => Ok(Some(run)),
                None => runs.next(),
            })?;
        }
    }
    let ends = runs.ends;
    Ok(SpilledFile { path, ends })
}

/// Rows in runs that fit into memory.
struct Runs<I> {
    rows: I,
    parts: usize,
    /// The end offsets of the parts of each run in the file.
    ends: Vec<Vec<u64>>,
    length: u64,
}

impl<I: Iterator<Item = Result<RowsWithParts>>> Runs<I> {
    /// Returns the next run as bytes of the file, part by part.
    fn next(&mut self) -> Result<Option<Bytes>> {
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut parts: Vec<Vec<Row>> = vec![Vec::new(); self.parts];
        let mut held = 0;
        while held < RUN_BYTES {
            interrupt::check()?;
            let Some((rows, part_of_row)) = self.rows.next().transpose()? else {
                break;
            };
            for (row, part) in rows_of(batches.len(), &rows).zip(part_of_row) {
                if let Some(part) = parts.get_mut(part) {
                    part.push(row);
                }
            }
            held += rows.get_array_memory_size();
            batches.push(rows);
        }
        if batches.is_empty() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(parts.len());
        for rows in &parts {
            if !rows.is_empty() {
                bytes = append_stream(bytes, &batches, rows)?;
            }
            ends.push(self.length + bytes.len() as u64);
        }
        self.length += bytes.len() as u64;
        self.ends.push(ends);
        Ok(Some(bytes.into()))
    }
}

/// Enumerates the rows of the batch with this index.
pub(super) fn rows_of(batch: usize, rows: &RecordBatch) -> impl Iterator<Item = Row> + use<> {
    // a run has fewer than 2^32 batches, and a batch fewer than 2^32 rows
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let (batch, count) = (narrow(batch), narrow(rows.num_rows()));
    (0..count).map(move |row| (batch, row))
}

/// Calls `take` with these rows of the batches, a bounded number at a time.
pub(super) fn each_interleaved(
    batches: &[RecordBatch],
    rows: impl ExactSizeIterator<Item = Row>,
    take: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let longest = batches.iter().map(longest_row).max().unwrap_or_default();
    let step = usize::try_from(STEP_BYTES / longest.max(1)).unwrap_or(STEP_ROWS);
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    let mut rows = rows.map(|(batch, row)| (batch as usize, row as usize));
    let mut indices: Vec<(usize, usize)> = Vec::new();
    while rows.len() > 0 {
        interrupt::check()?;
        indices.clear();
        indices.extend(rows.by_ref().take(step.clamp(1, STEP_ROWS)));
        take(interleave_record_batch(&batches, &indices).map_err(spill_error)?)?;
    }
    Ok(())
}

fn with_positions(rows: &RecordBatch, positions: Vec<u64>) -> Result<RecordBatch> {
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(POSITION, DataType::UInt64, false)));
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(UInt64Array::from(positions)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(spill_error)
}

fn append_stream(bytes: Vec<u8>, batches: &[RecordBatch], rows: &[Row]) -> Result<Vec<u8>> {
    let Some(first) = batches.first() else {
        return Ok(bytes);
    };
    let mut writer = StreamWriter::try_new(bytes, &first.schema()).map_err(spill_error)?;
    each_interleaved(batches, rows.iter().copied(), &mut |rows| {
        writer.write(&rows).map_err(spill_error)
    })?;
    writer.into_inner().map_err(spill_error)
}

/// Returns the error for data that cannot be written to a temporary file, or read from one.
pub(super) fn spill_error(cause: ArrowError) -> Error {
    let message = "rows cannot be written to a temporary file, or read from one";
    Error::corrupt("optimize.spilled", message).because(cause)
}
