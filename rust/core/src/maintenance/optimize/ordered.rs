//! Writes files of ordered rows from the temporary files of all pieces.
//!
//! A part of the order is held in memory while its rows are sorted. A part that is larger than the limit is
//! first divided into subparts, in a temporary file of its own. The size of a part is known only when all
//! pieces are written.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_ipc::reader::StreamReader;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use bytes::Bytes;

use super::order::{NULLS_FIRST, SampledOrder, column, even_cuts};
use super::pack::RewriteSettings;
use super::spill::{
    Row, RowsWithParts, SpilledFile, each_interleaved, rows_of, spill, spill_error,
};
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::spec::arrow::strict_cast;
use crate::storage::{Storage, interrupt};
use crate::write::random::new_id;
use crate::write::{DataWriter, WrittenFiles};

/// The maximum bytes of a part that is sorted without division.
const PART_BYTES: u64 = 256 << 20;
/// The maximum average bytes of the subparts of a larger part.
const SUBPART_BYTES: u64 = 96 << 20;
/// The maximum number of row positions that are sampled for a division.
const SAMPLED_POSITIONS: usize = 1 << 20;

/// Writes file number `file` of an order from the temporary files of all pieces; writes nothing if it has no
/// rows.
///
/// # Errors
///
/// Corrupt: `optimize.spilled` for a temporary file that differs from what was written.
pub fn write_ordered(
    source: &Source,
    settings: &RewriteSettings,
    order: &SampledOrder,
    file: usize,
    spilled: &[SpilledFile],
    storage: &dyn Storage,
) -> Result<WrittenFiles> {
    let mut ordered = OrderedFile {
        order,
        storage,
        writer: settings.writer()?,
        written: WrittenFiles::new(source),
    };
    for part in order.parts_of(file) {
        ordered.write(spilled, part)?;
    }
    let OrderedFile {
        mut writer,
        mut written,
        ..
    } = ordered;
    writer.finish(&mut written)?;
    Ok(written)
}

struct OrderedFile<'a> {
    order: &'a SampledOrder,
    storage: &'a dyn Storage,
    writer: DataWriter,
    written: WrittenFiles,
}

impl OrderedFile<'_> {
    fn write(&mut self, spilled: &[SpilledFile], part: usize) -> Result<()> {
        let bytes = bytes_of(spilled, part);
        if bytes <= PART_BYTES {
            return self.write_sorted(spilled, part);
        }
        let cuts = self.cuts(spilled, part, bytes.div_ceil(SUBPART_BYTES))?;
        let (Some(first), true) = (spilled.first(), cuts.first() != cuts.last()) else {
            return self.write_sorted(spilled, part); // the sample has too few distinct positions
        };
        let path = match first.path.rsplit_once('/') {
            Some((directory, _)) => format!("{directory}/{}", new_id()),
            None => new_id(),
        };
        let divided = self.divide(spilled, part, &cuts, path.clone());
        let written = divided.and_then(|file| {
            let spilled = [file];
            (0..=cuts.len()).try_for_each(|subpart| {
                if bytes_of(&spilled, subpart) < bytes {
                    self.write(&spilled, subpart)
                } else {
                    self.write_sorted(&spilled, subpart) // dividing it again would not make it smaller
                }
            })
        });
        let _ = self.storage.delete(&[&path]); // a file that is left over is deleted with its directory
        written
    }

    /// Sorts the rows of a part in memory and writes them.
    fn write_sorted(&mut self, spilled: &[SpilledFile], part: usize) -> Result<()> {
        let batches = batches(self.storage, spilled, part).collect::<Result<Vec<_>>>()?;
        let batches: Vec<RecordBatch> = batches.into_iter().flatten().collect();
        let rows = in_order(self.order, &batches)?;
        let Self {
            writer, written, ..
        } = self;
        each_interleaved(&batches, rows.into_iter(), &mut |rows| {
            writer.copy(&rows, written)
        })
    }

    /// Returns the positions at which the subparts of a part begin, except the first.
    fn cuts(&self, spilled: &[SpilledFile], part: usize, subparts: u64) -> Result<Vec<u64>> {
        let mut sample: Vec<u64> = Vec::new();
        let (mut every, mut next) = (1, 0);
        for chunk in batches(self.storage, spilled, part) {
            for rows in chunk? {
                let positions = positions(&rows)?;
                while let Some(position) = positions.get(next) {
                    sample.push(*position);
                    next += every;
                }
                next -= positions.len();
                if sample.len() > SAMPLED_POSITIONS {
                    let mut keep = false;
                    sample.retain(|_| {
                        keep = !keep;
                        keep
                    });
                    every *= 2;
                }
            }
        }
        sample.sort_unstable();
        let subparts = usize::try_from(subparts).unwrap_or(usize::MAX);
        Ok(even_cuts(&sample, subparts.min(sample.len()), 0))
    }

    /// Rewrites the rows of a part to a temporary file of their own, grouped by subpart.
    fn divide(
        &self,
        spilled: &[SpilledFile],
        part: usize,
        cuts: &[u64],
        path: String,
    ) -> Result<SpilledFile> {
        let with_subparts = |rows: RecordBatch| -> Result<RowsWithParts> {
            let subpart = |position: &u64| cuts.partition_point(|cut| cut <= position);
            let subparts = positions(&rows)?.iter().map(subpart).collect();
            Ok((rows, subparts))
        };
        let rows = batches(self.storage, spilled, part).flat_map(|chunk| match chunk {
            Ok(chunk) => chunk.into_iter().map(with_subparts).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        spill(rows, cuts.len() + 1, self.storage, path)
    }
}

fn bytes_of(spilled: &[SpilledFile], part: usize) -> u64 {
    let ranges = spilled.iter().flat_map(|file| file.ranges_of(part));
    ranges.map(|range| range.end - range.start).sum()
}

/// Reads the rows of a part, one byte range of a temporary file at a time.
fn batches<'a>(
    storage: &'a dyn Storage,
    spilled: &'a [SpilledFile],
    part: usize,
) -> impl Iterator<Item = Result<Vec<RecordBatch>>> + 'a {
    spilled.iter().flat_map(move |file| {
        let ranges = file.ranges_of(part).into_iter();
        ranges.map(move |range| {
            interrupt::check()?;
            let mut batches = Vec::new();
            for bytes in storage.read_ranges(&file.path, &[range])? {
                batches.extend(read(bytes).map_err(|cause| damaged(cause).at_path(&file.path))?);
            }
            Ok(batches)
        })
    })
}

fn read(bytes: Bytes) -> Result<Vec<RecordBatch>, ArrowError> {
    StreamReader::try_new(Cursor::new(bytes), None)?.collect()
}

/// Returns the positions of rows: their last column.
fn positions(rows: &RecordBatch) -> Result<&ScalarBuffer<u64>> {
    let column = rows.columns().last();
    let column = column.and_then(|column| column.as_primitive_opt::<UInt64Type>());
    column.map(|column| column.values()).ok_or_else(|| {
        damaged(ArrowError::IpcError(
            "the rows have no positions".to_owned(),
        ))
    })
}

/// Returns the rows of all batches in order: by the values of the only column, or by position without its
/// random bits.
fn in_order(order: &SampledOrder, batches: &[RecordBatch]) -> Result<Vec<Row>> {
    let numbered = || batches.iter().enumerate();
    let Some(path) = order.only_column() else {
        let mut rows: Vec<(u64, Row)> = Vec::new();
        for (number, batch) in numbered() {
            let positions = positions(batch)?
                .iter()
                .map(|position| SampledOrder::without_random_bits(*position));
            rows.extend(positions.zip(rows_of(number, batch)));
        }
        rows.sort_unstable();
        return Ok(rows.into_iter().map(|(_, row)| row).collect());
    };
    let rows: Vec<Row> = numbered()
        .flat_map(|(number, batch)| rows_of(number, batch))
        .collect();
    let columns = batches.iter().map(|batch| as_view(&column(batch, path)?));
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    let columns: Vec<&dyn Array> = columns.iter().map(|column| &**column).collect();
    if columns.is_empty() {
        return Ok(rows);
    }
    let values = concat(&columns).map_err(spill_error)?;
    let sorted = sort_to_indices(&values, Some(NULLS_FIRST), None).map_err(spill_error)?;
    let sorted = sorted.values().iter();
    Ok(sorted
        .filter_map(|row| rows.get(*row as usize).copied())
        .collect())
}

/// Casts strings and binary values to views: all batches together may exceed the offsets of plain arrays.
fn as_view(column: &ArrayRef) -> Result<ArrayRef> {
    let view = match column.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        _ => return Ok(Arc::clone(column)),
    };
    strict_cast(column, &view).map_err(spill_error)
}

fn damaged(cause: ArrowError) -> Error {
    let message = "a temporary file has changed since it was written: optimize the table again";
    Error::corrupt("optimize.spilled", message).because(cause)
}
