//! A Parquet file in memory whose columns are encoded in parallel.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory,
    compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator,
};

use super::layout::Layout;
use crate::codec::parquet_file::writer_options;
use crate::error::{Error, Result};
use crate::storage::pool;

/// The size in bytes and the number of rows at which a row group is closed.
const ROW_GROUP_BYTES: usize = 128 << 20;
const ROW_GROUP_ROWS: usize = 1 << 20;
/// Fewer values than this are not worth a second thread.
const MIN_PARALLEL_VALUES: usize = 16 << 10;
/// The maximum number of bytes reserved in advance.
const MAX_CAPACITY: usize = 256 << 20;

/// Returns `true` if this number of values is worth more than one thread.
pub(super) fn worth_parallel(rows: usize, columns: usize) -> bool {
    pool::threads() > 1 && columns > 1 && rows.saturating_mul(columns) >= MIN_PARALLEL_VALUES
}

pub(super) struct ParquetFile {
    writer: SerializedFileWriter<Vec<u8>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The writers of the open row group: one per leaf column.
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
    groups: usize,
    /// The capacity to reserve for a file of several row groups.
    capacity: usize,
}

impl ParquetFile {
    /// Begins a file of about `target_size` bytes.
    pub(crate) fn new(layout: &Layout, target_size: usize) -> Result<Self> {
        let options = writer_options(layout.compression, |builder| builder);
        let schema = layout.file_schema.clone();
        let writer = ArrowWriter::try_new_with_options(Vec::new(), schema.clone(), options);
        let (writer, factory) = writer
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(cannot_encode)?;
        Ok(Self {
            writer,
            factory,
            schema,
            columns: Vec::new(),
            rows: 0,
            groups: 0,
            capacity: target_size
                .saturating_add(target_size / 8)
                .min(MAX_CAPACITY),
        })
    }

    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        if self.columns.is_empty() {
            let columns = self.factory.create_column_writers(self.groups);
            self.columns = columns.map_err(cannot_encode)?;
        }
        let mut leaves: Vec<ArrowLeafColumn> = Vec::with_capacity(self.columns.len());
        for (field, values) in self.schema.fields().iter().zip(rows.columns()) {
            leaves.extend(compute_leaves(field, values).map_err(cannot_encode)?);
        }
        let write = |(column, leaf): (&mut ArrowColumnWriter, ArrowLeafColumn)| column.write(&leaf);
        if worth_parallel(rows.num_rows(), self.columns.len()) {
            let columns = self.columns.par_iter_mut().zip(leaves.into_par_iter());
            let columns = columns.with_max_len(1); // some take much longer than others
            pool::pool()?.install(|| columns.try_for_each(write))
        } else {
            self.columns.iter_mut().zip(leaves).try_for_each(write)
        }
        .map_err(cannot_encode)?;
        self.rows += rows.num_rows();
        if self.rows >= ROW_GROUP_ROWS || self.in_progress() >= ROW_GROUP_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let chunks: Result<Vec<ArrowColumnChunk>, ParquetError> =
            if worth_parallel(self.rows, columns.len()) {
                let close = columns.into_par_iter().map(ArrowColumnWriter::close);
                pool::pool()?.install(|| close.collect())
            } else {
                columns.into_iter().map(ArrowColumnWriter::close).collect()
            };
        if self.groups == 1 {
            // more row groups follow: a growing buffer would copy them repeatedly
            self.writer.inner_mut().reserve(self.capacity);
        }
        let mut group = self.writer.next_row_group().map_err(cannot_encode)?;
        for chunk in chunks.map_err(cannot_encode)? {
            chunk
                .append_to_row_group(&mut group)
                .map_err(cannot_encode)?;
        }
        group.close().map_err(cannot_encode)?;
        self.rows = 0;
        self.groups += 1;
        Ok(())
    }

    fn in_progress(&self) -> usize {
        let bytes = ArrowColumnWriter::get_estimated_total_bytes;
        self.columns.iter().map(bytes).sum()
    }

    pub(super) fn length(&self) -> usize {
        self.writer.bytes_written() + self.in_progress()
    }

    pub(crate) fn memory(&self) -> usize {
        let bytes = ArrowColumnWriter::memory_size;
        self.writer.bytes_written() + self.columns.iter().map(bytes).sum::<usize>()
    }

    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.flush()?;
        self.writer.into_inner().map_err(cannot_encode)
    }
}

fn cannot_encode(cause: ParquetError) -> Error {
    Error::invalid("rows.parquet", "the rows cannot be written as Parquet").because(cause)
}
