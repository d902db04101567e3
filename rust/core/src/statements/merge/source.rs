//! The rows of a source: in memory up to a limit, beyond it in a temporary file.
//!
//! The file is a stream of Arrow's IPC format, mapped into memory: its batches are used like those in
//! memory, without a copy, and the system decides how much of them stays there.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchReader, UInt32Array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave;
use arrow_select::take::take_record_batch;

use super::{columns_mismatch, invalid_merge};
use crate::error::Result;
use crate::spec::arrow::longest_row;
use crate::spec::schema::StructType;
use crate::storage::TemporaryFile;
use crate::write::coerce::coerce;
use crate::write::columns::{batch, nullable};
use crate::write::each_step;

/// Small batches are combined into batches of at most this many rows.
const BATCH_ROWS: usize = 64 << 10;

/// Combined batches have at most the memory limit divided by this.
const BATCH_PART: usize = 16;

/// The rows of a source, with indexes across all batches.
#[derive(Debug)]
pub(crate) struct SourceRows {
    schema: SchemaRef,
    /// At least one batch.
    batches: Vec<RecordBatch>,
    /// The index of each batch's first row.
    starts: Vec<u32>,
    rows: u32,
    longest: u64,
}

impl SourceRows {
    /// Reads a stream to its end, with columns converted to types that tables have. More than `max_bytes`
    /// are written to a temporary file.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.merge` for too many rows, `rows.value`.
    pub(crate) fn read(rows: Box<dyn RecordBatchReader + Send>, max_bytes: usize) -> Result<Self> {
        let schema = StructType::from_arrow(&rows.schema())?;
        let mut source = Collector::new(nullable(&schema), max_bytes);
        each_step(rows, &mut |step| {
            let columns = step.columns().iter().zip(schema.fields());
            let columns = columns
                .map(|(values, field)| coerce(values, &field.data_type, &field.name))
                .collect::<Result<_>>()?;
            source.push(batch(&source.schema, columns, step.num_rows())?)
        })?;
        source.finish()
    }

    fn new(schema: SchemaRef, mut batches: Vec<RecordBatch>) -> Result<Self> {
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(Arc::clone(&schema)));
        }
        let mut starts = Vec::with_capacity(batches.len());
        let mut rows = 0_u32;
        for batch in &batches {
            starts.push(rows);
            rows = u32::try_from(batch.num_rows())
                .ok()
                .and_then(|more| rows.checked_add(more))
                .ok_or_else(|| {
                    invalid_merge("the source has 2^32 rows or more: merge it in pieces")
                })?;
        }
        Ok(Self {
            longest: batches.iter().map(longest_row).max().unwrap_or_default(),
            schema,
            batches,
            starts,
            rows,
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn num_rows(&self) -> u32 {
        self.rows
    }

    /// Returns an upper bound on the size of a row.
    pub(super) fn longest_row(&self) -> u64 {
        self.longest
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Returns the same columns without rows.
    pub(super) fn empty(&self) -> RecordBatch {
        RecordBatch::new_empty(Arc::clone(&self.schema))
    }

    pub(super) fn project(&self, columns: &[usize]) -> Result<Self> {
        let batches = self.batches.iter().map(|batch| batch.project(columns));
        Ok(Self {
            schema: Arc::new(self.schema.project(columns).map_err(columns_mismatch)?),
            batches: batches
                .collect::<std::result::Result<_, _>>()
                .map_err(columns_mismatch)?,
            starts: self.starts.clone(),
            rows: self.rows,
            longest: self.longest,
        })
    }

    /// Selects rows, in any order.
    pub(super) fn take(&self, rows: &UInt32Array) -> Result<RecordBatch> {
        if let [only] = self.batches.as_slice() {
            return take_record_batch(only, rows).map_err(columns_mismatch);
        }
        let indexes = rows.values().iter();
        let indexes: Vec<_> = indexes.map(|row| self.location_of(*row)).collect();
        let columns = (0..self.schema.fields().len()).map(|column| {
            let batches = self.batches.iter();
            let parts: Vec<_> = batches.map(|batch| &**batch.column(column)).collect();
            interleave(&parts, &indexes).map_err(columns_mismatch)
        });
        batch(&self.schema, columns.collect::<Result<_>>()?, rows.len())
    }

    /// Returns a row's batch and its index there.
    fn location_of(&self, row: u32) -> (usize, usize) {
        let number = self.starts.partition_point(|start| *start <= row) - 1;
        let start = self.starts.get(number).copied().unwrap_or_default();
        (number, (row - start) as usize)
    }
}

struct Collector {
    schema: SchemaRef,
    /// Small batches to be combined.
    small: Vec<RecordBatch>,
    small_rows: usize,
    small_bytes: usize,
    batches: Vec<RecordBatch>,
    bytes: usize,
    max_bytes: usize,
    spill_file: Option<SpillFile>,
}

impl Collector {
    fn new(schema: SchemaRef, max_bytes: usize) -> Self {
        Self {
            schema,
            small: Vec::new(),
            small_rows: 0,
            small_bytes: 0,
            batches: Vec::new(),
            bytes: 0,
            max_bytes,
            spill_file: None,
        }
    }

    fn push(&mut self, rows: RecordBatch) -> Result<()> {
        let bytes = bytes_of(&rows)?;
        let is_full = self.small_rows + rows.num_rows() > BATCH_ROWS
            || self.small_bytes + bytes > self.max_bytes / BATCH_PART;
        if is_full {
            self.combine()?;
        }
        self.small_rows += rows.num_rows();
        self.small_bytes += bytes;
        self.small.push(rows);
        Ok(())
    }

    fn combine(&mut self) -> Result<()> {
        let rows = match self.small.as_slice() {
            [] => return Ok(()),
            [only] => only.clone(),
            several => concat_batches(&self.schema, several).map_err(columns_mismatch)?,
        };
        self.small.clear();
        self.small_rows = 0;
        self.bytes += std::mem::take(&mut self.small_bytes);
        if self.bytes > self.max_bytes && self.spill_file.is_none() {
            let mut file = SpillFile::new(&self.schema)?;
            for rows in self.batches.drain(..) {
                file.write(&rows)?;
            }
            self.spill_file = Some(file);
        }
        match &mut self.spill_file {
            Some(file) => file.write(&rows),
            None => {
                self.batches.push(rows);
                Ok(())
            }
        }
    }

    fn finish(mut self) -> Result<SourceRows> {
        self.combine()?;
        let batches = match self.spill_file {
            Some(file) => file.mapped()?,
            None => self.batches,
        };
        SourceRows::new(self.schema, batches)
    }
}

/// Returns the bytes of the values; slices count only their part.
fn bytes_of(rows: &RecordBatch) -> Result<usize> {
    let columns = rows.columns().iter();
    let bytes = columns.map(|column| column.to_data().get_slice_memory_size());
    bytes
        .sum::<std::result::Result<_, _>>()
        .map_err(columns_mismatch)
}

struct SpillFile {
    file: TemporaryFile,
    /// Encodes into memory, so that errors of the file are reported as storage errors.
    encoder: StreamWriter<Vec<u8>>,
}

impl SpillFile {
    fn new(schema: &SchemaRef) -> Result<Self> {
        Ok(Self {
            file: TemporaryFile::new()?,
            encoder: StreamWriter::try_new(Vec::new(), schema).map_err(columns_mismatch)?,
        })
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        self.encoder.write(rows).map_err(columns_mismatch)?;
        let encoded = self.encoder.get_mut();
        self.file.write(encoded)?;
        encoded.clear();
        Ok(())
    }

    fn mapped(self) -> Result<Vec<RecordBatch>> {
        let mut bytes = Buffer::from(self.file.map()?);
        let mut decoder = StreamDecoder::new().with_require_alignment(true); // otherwise it copies
        let mut batches = Vec::new();
        while let Some(rows) = decoder.decode(&mut bytes).map_err(columns_mismatch)? {
            batches.push(rows);
        }
        Ok(batches)
    }
}

#[cfg(test)]
mod tests;
