//! Rows in the order of a curve, by way of temporary files.
//!
//! Each piece of the data becomes one temporary file: its rows part by part, each part a stream of Arrow's
//! IPC format. To read a part is to read one range of each file.

use std::io::Cursor;
use std::ops::Range;

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
use crate::spec::arrow::{longest_row, strict_cast};
use crate::storage::pool::rows::Look;
use crate::storage::{Storage, interrupt};
use crate::transaction::rows::WrittenFiles;

/// The column of places, after all others.
const PLACE: &str = "__deltareplay_place";
/// Rows that are written at a time.
const STEP: usize = 64 << 10;
/// Decoded bytes that a piece may be ahead by.
const AHEAD: usize = 16 << 20;
/// Decoded bytes that are divided among the parts at a time.
const RUN_BYTES: usize = 256 << 20;
/// Bytes that are written at a time.
const STEP_BYTES: u64 = 64 << 20;

/// A temporary file of rows, part by part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spilled {
    /// Where it is.
    pub path: String,
    /// Of each run, where its parts end.
    ends: Vec<Vec<u64>>,
}

impl Spilled {
    fn part(&self, part: usize) -> Vec<Range<u64>> {
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
    let seed = split.paths().fold(0, |seed, path| {
        xxhash_rust::xxh3::xxh3_64_with_seed(path.as_bytes(), seed)
    });
    let mut runs = Runs {
        rows: split.rows_with(source, look)?,
        order,
        seed,
        ends: Vec::new(),
        length: 0,
    };
    let first = runs.next()?.unwrap_or_default();
    match runs.next()? {
        None => {
            storage.put_if_absent_unsynced(&path, &first)?;
        }
        Some(second) => {
            let mut made = vec![second, first];
            storage.put_pieces(&path, &mut || match made.pop() {
                Some(run) => Ok(Some(run)),
                None => runs.next(),
            })?;
        }
    }
    let ends = runs.ends;
    Ok(Spilled { path, ends })
}

/// The rows of a piece in runs that fit into memory.
struct Runs<'a, I> {
    rows: I,
    order: &'a Sampled,
    seed: u64,
    /// Of each run, where its parts end in the file.
    ends: Vec<Vec<u64>>,
    length: u64,
}

impl<I: Iterator<Item = Result<RecordBatch>>> Runs<'_, I> {
    /// The next run as bytes of the file, part by part.
    fn next(&mut self) -> Result<Option<Bytes>> {
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut parts: Vec<Vec<Row>> = vec![Vec::new(); self.order.parts()];
        let mut held = 0;
        while held < RUN_BYTES {
            interrupt::check()?;
            let Some(rows) = self.rows.next().transpose()? else {
                break;
            };
            let places = self.order.places_of(&rows, self.seed)?;
            self.seed = self.seed.wrapping_add(1);
            for (row, place) in places.iter().enumerate() {
                if let Some(part) = parts.get_mut(self.order.part(*place)) {
                    part.push((batches.len(), row));
                }
            }
            held += rows.get_array_memory_size();
            batches.push(with_places(&rows, places)?);
        }
        if batches.is_empty() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(parts.len());
        for rows in &parts {
            if !rows.is_empty() {
                bytes = written(bytes, &batches, rows)?;
            }
            ends.push(self.length + bytes.len() as u64);
        }
        self.length += bytes.len() as u64;
        self.ends.push(ends);
        Ok(Some(bytes.into()))
    }
}

/// Gives `take` these rows of the batches, some at a time.
fn each_interleaved(
    batches: &[RecordBatch],
    rows: &[Row],
    take: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let longest = batches.iter().map(longest_row).max().unwrap_or_default();
    let step = usize::try_from(STEP_BYTES / longest.max(1)).unwrap_or(STEP);
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    for some in rows.chunks(step.clamp(1, STEP)) {
        interrupt::check()?;
        take(interleave_record_batch(&batches, some).map_err(unspilled)?)?;
    }
    Ok(())
}

fn with_places(rows: &RecordBatch, places: Vec<u64>) -> Result<RecordBatch> {
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(PLACE, DataType::UInt64, false)));
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(UInt64Array::from(places)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(unspilled)
}

fn written(bytes: Vec<u8>, batches: &[RecordBatch], rows: &[Row]) -> Result<Vec<u8>> {
    let Some(first) = batches.first() else {
        return Ok(bytes);
    };
    let mut writer = StreamWriter::try_new(bytes, &first.schema()).map_err(unspilled)?;
    each_interleaved(batches, rows, &mut |rows| {
        writer.write(&rows).map_err(unspilled)
    })?;
    writer.into_inner().map_err(unspilled)
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
            let ranges = one.part(part);
            if ranges.is_empty() {
                continue;
            }
            for bytes in storage.read_ranges(&one.path, &ranges)? {
                batches.extend(read(bytes).map_err(|cause| damaged(cause).at_path(&one.path))?);
            }
        }
        let rows = in_order(order, &batches)?;
        each_interleaved(&batches, &rows, &mut |rows| writer.copy(&rows, &mut all))?;
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
        let columns = columns.iter().map(as_view);
        let columns = columns.collect::<Result<Vec<_>>>()?;
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

/// Texts as views: of all batches together they may have more bytes than plain ones can.
fn as_view(column: &ArrayRef) -> Result<ArrayRef> {
    let view = match column.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        _ => return Ok(Arc::clone(column)),
    };
    strict_cast(column, &view).map_err(unspilled)
}

fn unspilled(cause: ArrowError) -> Error {
    let message = "rows cannot be brought into a temporary file, or out of one";
    Error::corrupt("optimize.spilled", message).because(cause)
}

fn damaged(cause: ArrowError) -> Error {
    let message = "a temporary file is not as it was written: run it again";
    Error::corrupt("optimize.spilled", message).because(cause)
}
