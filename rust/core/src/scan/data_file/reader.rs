//! Reads the rows of a unit as batches.

use std::iter::Flatten;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType as ArrowType};
use arrow_select::filter::filter_record_batch;

use super::columns::{Constant, stored_or};
use super::open::{OpenFile, UnitRows, decoder_failed};
use super::plan::{OutputColumn, ReadPlan};
use super::shape::Origin;
use super::unit_decoder::{UnitDecoder, count};
use crate::codec::batches::Batches;
use crate::codec::decoder::guarded;
use crate::codec::parquet_file::FetchedBytes;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::spec::legacy_calendar::ZoneMissing;

/// Decodes the batches of one unit.
struct UnitReader {
    file: Arc<OpenFile>,
    /// `None` if no column of the file or no row is needed.
    decoder: Option<UnitDecoder>,
    /// The positions of the remaining rows.
    positions: Flatten<std::vec::IntoIter<Range<u64>>>,
    /// The number of remaining rows.
    left: u64,
    /// For each column of the plan its value, if it is constant.
    constants: Vec<Option<Constant>>,
}

impl OpenFile {
    /// Fetches a unit, and starts to decode it.
    ///
    /// # Errors
    ///
    /// Here or in the batches, with the file's path in the log. Corrupt: `data.missing`, `data.truncated`,
    /// `data.pages`, `data.value`. Unsupported: `data.encrypted`, `data.calendar`. Storage errors.
    pub fn read(self: &Arc<Self>, unit: &UnitRows) -> Result<Batches> {
        let mut fetched = FetchedBytes::new(self.bytes.length());
        let rows = self.rows_to_read(unit, &mut fetched)?;
        self.read_rows(unit, rows, &mut fetched)
    }

    /// Returns the rows to read of a unit: those that the filter's own pass finds, if there is one. Bytes
    /// that are fetched for the pass are not fetched again.
    pub(super) fn rows_to_read(
        &self,
        unit: &UnitRows,
        fetched: &mut FetchedBytes,
    ) -> Result<Vec<Range<u64>>> {
        self.guarded(|| match &self.filter_pass {
            Some(filter_pass) => {
                let rows = filter_pass.candidates(unit)?;
                positions(UnitReader::new(filter_pass, unit, rows, fetched)?.batches())
            }
            None => self.candidates(unit),
        })
    }

    /// Fetches the bytes for these rows of a unit, and starts to decode it.
    pub(super) fn read_rows(
        self: &Arc<Self>,
        unit: &UnitRows,
        rows: Vec<Range<u64>>,
        fetched: &mut FetchedBytes,
    ) -> Result<Batches> {
        self.guarded(|| UnitReader::new(self, unit, rows, fetched).map(UnitReader::batches))
    }

    pub(super) fn guarded<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(decoder_failed, work).map_err(|error| self.locate_error(error))
    }
}

impl UnitReader {
    fn new(
        file: &Arc<OpenFile>,
        unit: &UnitRows,
        rows: Vec<Range<u64>>,
        fetched: &mut FetchedBytes,
    ) -> Result<Self> {
        let left = count(&rows);
        let decoder = if file.leaves.is_empty() || left == 0 {
            None
        } else {
            Some(UnitDecoder::new(file, unit, &rows, fetched)?)
        };
        Ok(Self {
            constants: constants(file),
            file: Arc::clone(file),
            decoder,
            positions: rows.into_iter().flatten(),
            left,
        })
    }

    fn batches(mut self) -> Batches {
        Batches::from_fn(self.file.plan.schema(), move || {
            let batch = guarded(decoder_failed, || {
                loop {
                    match self.advance() {
                        Ok(Some(batch)) if batch.num_rows() == 0 => {} // the filter left none
                        other => return other,
                    }
                }
            });
            batch.map_err(|error| self.file.locate_error(error))
        })
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        let (rows, decoded) = match &mut self.decoder {
            None => {
                let max_rows = u64::try_from(self.file.batch_rows).unwrap_or(1024);
                let rows = usize::try_from(self.left.min(max_rows)).unwrap_or_default();
                (rows, Vec::new())
            }
            Some(decoder) => decoder.advance().map_err(page_error)?.unwrap_or_default(),
        };
        let taken = u64::try_from(rows).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(taken).ok_or_else(|| {
            let message = "the pages hold more rows than the footer says";
            Error::corrupt("data.pages", message)
        })?;
        if rows > 0 {
            return self.batch(&decoded, rows).map(Some);
        }
        if self.left > 0 {
            let message = format!("the pages end {} rows before the footer says", self.left);
            return Err(Error::corrupt("data.pages", message));
        }
        Ok(None)
    }

    fn batch(&mut self, decoded: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
        let file = Arc::clone(&self.file);
        let columns = file.plan.columns();
        let needs_positions = columns
            .iter()
            .any(|column| matches!(column, OutputColumn::RowIndex | OutputColumn::RowId));
        let needed = if needs_positions { rows } else { 0 };
        let positions = self.positions.by_ref().take(needed);
        let positions: Vec<i64> = positions.map(u64::cast_signed).collect();
        let schema = Arc::clone(file.plan.decoded());
        let decoded_rows = DecodedRows {
            base_row_id: file.base_row_id,
            decoded,
            positions: &positions,
            rows,
        };
        let mut arrays = Vec::with_capacity(columns.len());
        for (number, (column, origin)) in columns.iter().zip(&file.origins).enumerate() {
            let constant = self.constants.get_mut(number).and_then(Option::as_mut);
            let array = decoded_rows.column(column, origin, constant);
            arrays.push(array.map_err(|cause| {
                let field = schema.fields().get(number);
                value_error(cause, field.map_or("?", |field| field.name()))
            })?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(schema, arrays, &options).map_err(page_error)?;
        match file.plan.filter() {
            None => Ok(batch),
            Some(filter) => matching(&batch, filter, &file.plan),
        }
    }
}

/// Returns the positions of the rows as ranges; the plan has to return `_row_index` only.
fn positions(batches: Batches) -> Result<Vec<Range<u64>>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for batch in batches {
        let batch = batch?;
        let positions = batch
            .columns()
            .first()
            .and_then(|rows| rows.as_primitive_opt::<Int64Type>());
        for position in positions.into_iter().flat_map(|rows| rows.values()) {
            let position = u64::try_from(*position).unwrap_or_default();
            match ranges.last_mut() {
                Some(last) if last.end == position => last.end += 1,
                _ => ranges.push(position..position + 1),
            }
        }
    }
    Ok(ranges)
}

/// Decoded rows, and the sources of their other columns.
struct DecodedRows<'a> {
    base_row_id: Option<i64>,
    decoded: &'a [ArrayRef],
    positions: &'a [i64],
    rows: usize,
}

impl DecodedRows<'_> {
    fn column(
        &self,
        column: &OutputColumn,
        origin: &Origin,
        constant: Option<&mut Constant>,
    ) -> Result<ArrayRef, ArrowError> {
        let (decoded, positions, rows) = (self.decoded, self.positions, self.rows);
        let stored = || match origin {
            Origin::File { .. } => origin.apply(decoded, rows).map(Some),
            Origin::Missing(_) => Ok(None),
        };
        let constant = constant.map(|constant| constant.rows(rows)).transpose()?;
        match (column, constant) {
            (OutputColumn::RowCommitVersion, Some(default)) => stored_or(stored()?, default),
            (_, Some(constant)) => Ok(constant),
            (OutputColumn::RowIndex, _) => Ok(Arc::new(Int64Array::from(positions.to_vec()))),
            (OutputColumn::RowId, _) => {
                let default: ArrayRef = match self.base_row_id {
                    Some(base) => Arc::new(Int64Array::from_iter_values(
                        positions
                            .iter()
                            .map(|position| base.saturating_add(*position)),
                    )),
                    None => new_null_array(&ArrowType::Int64, rows),
                };
                stored_or(stored()?, default)
            }
            _ => origin.apply(decoded, rows),
        }
    }
}

/// Returns the output columns of the decoded rows that satisfy the predicate.
fn matching(batch: &RecordBatch, filter: &BoundPredicate, plan: &ReadPlan) -> Result<RecordBatch> {
    // only the columns of the predicate: an extra may have the name of one of them
    let used = batch.project(plan.filter_columns()).map_err(page_error)?;
    let matches = filter.evaluate(&used)?;
    let columns: Vec<usize> = (0..plan.schema().fields().len()).collect();
    let batch = batch.project(&columns).map_err(page_error)?;
    if matches.true_count() == batch.num_rows() {
        return Ok(batch);
    }
    filter_record_batch(&batch, &matches).map_err(page_error)
}

fn constants(file: &OpenFile) -> Vec<Option<Constant>> {
    let mut partition_values = file.partition_values.columns().iter();
    let columns = file.plan.columns().iter();
    let mut constant = |column: &OutputColumn| -> Option<ArrayRef> {
        match column {
            OutputColumn::Partition(..) => partition_values.next().cloned(),
            OutputColumn::FilePath => {
                Some(Arc::new(StringArray::from(vec![file.log_path.clone()])))
            }
            OutputColumn::RowCommitVersion => Some(Arc::new(Int64Array::from(vec![
                file.default_row_commit_version,
            ]))),
            OutputColumn::Data(_)
            | OutputColumn::RowIndex
            | OutputColumn::RowId
            | OutputColumn::ChangeType => None,
        }
    };
    columns
        .map(|column| constant(column).map(Constant::new))
        .collect()
}

fn page_error(cause: ArrowError) -> Error {
    let message = "the pages of the data file do not decode: the file is damaged, restore it or \
                   remove it from the table";
    Error::corrupt("data.pages", message).because(cause)
}

fn value_error(cause: ArrowError, column: &str) -> Error {
    if let ArrowError::ExternalError(missing) = &cause
        && let Some(missing) = missing.downcast_ref::<ZoneMissing>()
    {
        let message = format!(
            "the column {column} has timestamps before 1900 in the calendar of old versions of Spark and in \
             {missing}: set the environment variable DELTAREPLAY_LEGACY_TIME_ZONE to the time zone of the \
             session that wrote the file"
        );
        return Error::unsupported("data.calendar", message);
    }
    let message = format!(
        "the column {column} has a value that its type in the table cannot hold: rewrite the file with \
         values that fit"
    );
    Error::corrupt("data.value", message).because(cause)
}
