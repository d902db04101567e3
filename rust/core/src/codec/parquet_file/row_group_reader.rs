//! The decoded rows of a row group.

use arrow_array::{BooleanArray, RecordBatch, RecordBatchReader};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection};

/// Decodes rows of a row group, batch by batch.
pub(crate) struct RowGroupReader {
    reader: ParquetRecordBatchReader,
    mask: Option<Mask>,
    /// True if the decoder does not check that all strings are UTF-8: then they are checked here.
    pub(super) unchecked_strings: bool,
}

/// The rows to keep, of all rows of a row group.
struct Mask {
    selected: BooleanBuffer,
    /// The number of rows decoded so far.
    position: usize,
}

impl RowGroupReader {
    /// Keeps the decoded rows of the selection, or all if there is none.
    pub(super) fn new(reader: ParquetRecordBatchReader, selection: Option<RowSelection>) -> Self {
        let mask = selection.and_then(|selection| selection.force_mask().as_mask().cloned());
        Self {
            reader,
            mask: mask.map(|selected| Mask {
                selected,
                position: 0,
            }),
            unchecked_strings: false,
        }
    }

    /// Decodes the next batch.
    fn decode(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let batch = self.reader.next()?;
        Some(batch.and_then(|batch| {
            if self.unchecked_strings {
                for column in batch.columns() {
                    column.to_data().validate_full()?;
                }
            }
            Ok(batch)
        }))
    }

    /// Returns the schema of the batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl Iterator for RowGroupReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.decode()? {
                Ok(batch) => batch,
                error => return Some(error),
            };
            let Some(mask) = &mut self.mask else {
                return Some(Ok(batch));
            };
            match mask.apply(&batch) {
                Ok(batch) if batch.num_rows() == 0 => {}
                result => return Some(result),
            }
        }
    }
}

impl Mask {
    fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        if self.selected.len().saturating_sub(self.position) < rows {
            let message = "the pages hold more rows than the row group";
            return Err(ArrowError::ParquetError(message.to_owned()));
        }
        let selected = self.selected.slice(self.position, rows);
        self.position += rows;
        filter_record_batch(batch, &BooleanArray::from(selected))
    }
}
