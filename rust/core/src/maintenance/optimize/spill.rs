//! Rows in the order of a curve, by way of temporary files.
//!
//! Each piece of the data becomes one temporary file: its rows part by part, each part a stream of Arrow's
//! IPC format. To read a part is to read one range of each file.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::{ArrowError, DataType, Field, Schema, SortOptions};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave_record_batch;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::order::{Sampled, column};
use super::pack::Facts;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::Split;
use crate::storage::pool::rows::Look;
use crate::storage::{Storage, interrupt};
use crate::transaction::rows::WrittenFiles;

/// The column of places, after all others.
const PLACE: &str = "__deltareplay_place";
/// Rows that are written at a time.
const STEP: usize = 64 << 10;
/// Decoded bytes that a piece may be ahead by.
const AHEAD: usize = 16 << 20;

/// A temporary file of rows, part by part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spilled {
    /// Where it is.
    pub path: String,
    /// Where each part ends.
    ends: Vec<u64>,
}

impl Spilled {
    fn part(&self, part: usize) -> Option<std::ops::Range<u64>> {
        let end = *self.ends.get(part)?;
        let before = part.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.copied().unwrap_or(0);
        (start < end).then_some(start..end)
    }
}

/// Which row of which batch.
type Row = (usize, usize);

/// Writes the rows of a piece to `path`, those of each part of the order together.
///
/// # Errors
///
/// Of the data files and their vectors; storage.
pub fn spill_piece(
    source: &Source,
    order: &Sampled,
    split: &Split,
    storage: &dyn Storage,
    path: String,
) -> Result<Spilled> {
    let look = Look {
        bytes: AHEAD,
        threads: 1,
    };
    let mut seed = split.paths().fold(0, |seed, path| {
        xxhash_rust::xxh3::xxh3_64_with_seed(path.as_bytes(), seed)
    });
    let mut batches: Vec<RecordBatch> = Vec::new();
    let mut parts: Vec<Vec<Row>> = vec![Vec::new(); order.parts()];
    for rows in split.rows_with(source, look)? {
        interrupt::check()?;
        let rows = rows?;
        let places = order.places_of(&rows, seed)?;
        seed = seed.wrapping_add(1);
        for (row, place) in places.iter().enumerate() {
            if let Some(part) = parts.get_mut(order.part(*place)) {
                part.push((batches.len(), row));
            }
        }
        batches.push(with_places(&rows, places)?);
    }
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(parts.len());
    for rows in &parts {
        interrupt::check()?;
        if !rows.is_empty() {
            let part = interleave_record_batch(&batches, rows).map_err(unspilled)?;
            bytes = written(bytes, &part).map_err(unspilled)?;
        }
        ends.push(bytes.len() as u64);
    }
    storage.put_if_absent_unsynced(&path, &bytes)?;
    Ok(Spilled { path, ends })
}

fn with_places(rows: &RecordBatch, places: Vec<u64>) -> Result<RecordBatch> {
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(PLACE, DataType::UInt64, false)));
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(UInt64Array::from(places)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(unspilled)
}

fn written(bytes: Vec<u8>, rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(bytes, &rows.schema())?;
    writer.write(rows)?;
    writer.into_inner()
}

/// Writes file number `file` of an order out of temporary files of all pieces; without a row there is none.
///
/// # Errors
///
/// Storage; Corrupt: `optimize.spilled` for a temporary file that is not as it was written.
pub fn write_ordered(
    source: &Source,
    facts: &Facts,
    order: &Sampled,
    file: usize,
    spilled: &[Spilled],
    storage: &dyn Storage,
) -> Result<WrittenFiles> {
    let mut all = WrittenFiles::new(source);
    let mut writer = facts.writer()?;
    for part in order.parts_of(file) {
        let mut batches: Vec<RecordBatch> = Vec::new();
        for one in spilled {
            interrupt::check()?;
            let Some(range) = one.part(part) else {
                continue;
            };
            for bytes in storage.read_ranges(&one.path, &[range])? {
                batches.extend(read(bytes).map_err(|cause| damaged(cause).at_path(&one.path))?);
            }
        }
        let rows = in_order(order, &batches)?;
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        for some in rows.chunks(STEP) {
            interrupt::check()?;
            let rows = interleave_record_batch(&batches, some).map_err(unspilled)?;
            writer.copy(&rows, &mut all)?;
        }
    }
    writer.finish(&mut all)?;
    Ok(all)
}

fn read(bytes: Bytes) -> Result<Vec<RecordBatch>, ArrowError> {
    StreamReader::try_new(Cursor::new(bytes), None)?.collect()
}

/// The rows of all batches in their order.
fn in_order(order: &Sampled, batches: &[RecordBatch]) -> Result<Vec<Row>> {
    let rows: Vec<Row> = batches
        .iter()
        .enumerate()
        .flat_map(|(batch, rows)| (0..rows.num_rows()).map(move |row| (batch, row)))
        .collect();
    if let Some(path) = order.only_column() {
        let columns = batches.iter().map(|rows| column(rows, path));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let columns: Vec<&dyn Array> = columns.iter().map(|column| &**column).collect();
        if columns.is_empty() {
            return Ok(rows);
        }
        let values = concat(&columns).map_err(unspilled)?;
        let nulls_first = SortOptions {
            descending: false,
            nulls_first: true,
        };
        let sorted = sort_to_indices(&values, Some(nulls_first), None).map_err(unspilled)?;
        let sorted = sorted.values().iter();
        return Ok(sorted
            .filter_map(|row| rows.get(*row as usize).copied())
            .collect());
    }
    let mut places: Vec<(u64, Row)> = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter();
    for batch in batches {
        let column = batch.columns().last();
        let column = column.and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let column = column
            .ok_or_else(|| damaged(ArrowError::IpcError("the rows have no places".to_owned())))?;
        let settled = column.values().iter().map(|place| Sampled::settled(*place));
        places.extend(settled.zip(rows.by_ref()));
    }
    places.sort_unstable();
    Ok(places.into_iter().map(|(_, row)| row).collect())
}

fn unspilled(cause: ArrowError) -> Error {
    let message = "rows cannot be brought into a temporary file, or out of one";
    Error::corrupt("optimize.spilled", message).because(cause)
}

fn damaged(cause: ArrowError) -> Error {
    let message = "a temporary file is not as it was written: run it again";
    Error::corrupt("optimize.spilled", message).because(cause)
}
