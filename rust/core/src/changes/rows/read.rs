//! Pieces of files into rows that say what happened to them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;

use super::piece::{ChangeCode, ChangeType, Labels, Piece, PieceRows, RowLabel};
use super::row_schema::{Purpose, Reading};
use crate::changes::range::commits::Stamp;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{DataFile, FileUnit};
use crate::scan::vector_windows::VectorWindows;
use crate::spec::variant_name::variant_named;
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Ahead, Give, Look, OrderedRows, Work};

/// Pieces, and what opens their files.
pub(in crate::changes) struct PieceFiles {
    source: Source,
    pub(in crate::changes) reading: Arc<Reading>,
    pieces: Vec<Piece>,
    /// Two for each piece.
    vectors: VectorWindows,
}

impl PieceFiles {
    /// These pieces in this order.
    pub(in crate::changes) fn new(
        source: &Source,
        reading: &Arc<Reading>,
        pieces: Vec<Piece>,
    ) -> Self {
        let vectors = pieces.iter().flat_map(Piece::vectors).collect();
        Self {
            source: source.clone(),
            reading: Arc::clone(reading),
            vectors: VectorWindows::new(&source.storage, &source.resolver, vectors),
            pieces,
        }
    }

    /// Returns the number of files.
    pub(in crate::changes) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// One of them.
    pub(in crate::changes) fn get(&self, number: usize) -> Option<&Piece> {
        self.pieces.get(number)
    }

    /// Returns the number of requests for their bytes that may be in flight.
    pub(in crate::changes) fn max_requests(&self) -> Option<usize> {
        self.source.storage.max_requests()
    }

    /// The bytes of one, if its file is far away and is to be read.
    pub(in crate::changes) fn bytes(&self, number: usize) -> Option<Arc<FileBytes>> {
        let piece = self.pieces.get(number)?;
        match piece.rows {
            PieceRows::Read(_) => None,
            _ => self.source.file_bytes(&piece.file.path, piece.file.size),
        }
    }

    /// Opens one for a purpose, and gives what can be read side by side; nothing when it has no row.
    pub(in crate::changes) fn open(
        &self,
        number: usize,
        bytes: Option<Arc<FileBytes>>,
        purpose: impl FnOnce(&Piece) -> Purpose,
    ) -> Result<Vec<Numbered>> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(Vec::new());
        };
        let opened = || {
            let (first, second) = (number * 2, number * 2 + 1);
            let vectors = [self.vectors.take(first)?, self.vectors.take(second)?];
            let Some(file) = piece.data_file(&self.source.resolver, vectors)? else {
                return Ok(Vec::new());
            };
            let plan = self.reading.plan(&piece.file, purpose(piece))?;
            let file = DataFile { bytes, ..file };
            let units = FileUnit::all(plan.open_file(&self.source.storage, &file)?);
            Ok(units.into_iter().map(|unit| (number, unit)).collect())
        };
        opened().map_err(|error| blame(error, piece))
    }

    /// Gives the rows of a unit with their piece; what is left of it if it needs other bytes first.
    pub(in crate::changes) fn read(
        &self,
        (number, unit): Numbered,
        give: &mut dyn FnMut(&Piece, RecordBatch) -> Result<()>,
    ) -> Result<Option<Numbered>> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(None);
        };
        let rest = unit.read(&mut |batch| give(piece, batch));
        let rest = rest.map_err(|error| blame(error, piece))?;
        Ok(rest.map(|unit| (number, unit)))
    }

    /// Lets go of the bytes of one that is not read again.
    pub(in crate::changes) fn forget(&self, number: usize) {
        if let Some(piece) = self.pieces.get(number) {
            self.source.forget(&piece.file.path);
        }
    }

    /// The path of one in the storage.
    pub(in crate::changes) fn path(&self, piece: &Piece) -> Result<String> {
        let path = self.source.resolver.resolve("", &piece.file.path)?;
        Ok(path.into_owned())
    }
}

/// A unit, and which of many pieces it is of.
pub(in crate::changes) type Numbered = (usize, FileUnit);

/// Pieces to be read as rows.
pub(in crate::changes) struct ChangedRows(PieceFiles);

/// The rows of these pieces, in their order.
pub(in crate::changes) fn changed_rows(
    source: &Source,
    reading: &Arc<Reading>,
    pieces: Vec<Piece>,
) -> OrderedRows<ChangedRows> {
    let work = ChangedRows(PieceFiles::new(source, reading, pieces));
    OrderedRows::new(work, Look::default())
}

/// Names file and version.
pub(in crate::changes) fn blame(error: Error, piece: &Piece) -> Error {
    let error = error.at_path(piece.file.path.clone());
    match piece.version() {
        Some(version) => error.at_version(version),
        None => error,
    }
}

/// Rows that are read, or were read already.
pub(in crate::changes) enum UnreadRows {
    Unit(Numbered),
    Batch(usize, RecordBatch),
}

impl Work for ChangedRows {
    type Unit = UnreadRows;
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        self.0.len()
    }

    fn max_requests(&self) -> Option<usize> {
        self.0.max_requests()
    }

    fn bytes(&self, number: usize) -> Option<Arc<FileBytes>> {
        self.0.bytes(number)
    }

    fn open(&self, number: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<Self::Unit>> {
        if let Some(PieceRows::Read(batches)) = self.0.get(number).map(|piece| &piece.rows) {
            let batches = batches.iter().cloned();
            return Ok(batches
                .map(|batch| UnreadRows::Batch(number, batch))
                .collect());
        }
        let purpose = |piece: &Piece| Purpose::Rows {
            numbered: matches!(piece.labels, Labels::Each(_)),
            typed: matches!(piece.labels, Labels::InFile(_)),
        };
        let units = self.0.open(number, bytes, purpose)?.into_iter();
        self.0.forget(number);
        Ok(units.map(UnreadRows::Unit).collect())
    }

    fn ahead(&self, rows: &Self::Unit) -> Option<Ahead> {
        match rows {
            UnreadRows::Unit((_, unit)) => unit.ahead(),
            UnreadRows::Batch(..) => None,
        }
    }

    fn read(&self, rows: Self::Unit, give: &mut Give<'_>) -> Result<Option<Self::Unit>> {
        let mut give = |piece: &Piece, batch: &RecordBatch| {
            let labelled = labelled(&self.0.reading, &piece.labels, batch)?;
            if labelled.num_rows() > 0 {
                give(labelled)?;
            }
            Ok(())
        };
        match rows {
            UnreadRows::Batch(number, batch) => {
                let Some(piece) = self.0.get(number) else {
                    return Ok(None);
                };
                let done = reported(&batch).and_then(|batch| give(piece, &batch));
                done.map_err(|error| blame(error, piece)).map(|()| None)
            }
            UnreadRows::Unit(unit) => {
                let rest = self.0.read(unit, &mut |piece, batch| give(piece, &batch))?;
                Ok(rest.map(UnreadRows::Unit))
            }
        }
    }

    fn passes_over(&self, _: usize, _: &Error) -> bool {
        false
    }
}

/// The rows with what happened to them, filtered by that.
fn labelled(reading: &Reading, labels: &Labels, batch: &RecordBatch) -> Result<RecordBatch> {
    if reading.is_bare() {
        return Ok(batch.clone());
    }
    let own = reading.all().fields().len() - 3;
    let rows = batch.num_rows();
    // the position, the type or the code that is there besides
    let beside = batch.columns().get(own);
    let mut columns: Vec<ArrayRef> = batch.columns().iter().take(own).cloned().collect();
    match labels {
        Labels::All(change, stamp) => {
            columns.push(Arc::new(StringArray::new_repeated(change.name(), rows)));
            columns.extend(stamps(std::iter::repeat_n(stamp, rows)));
        }
        Labels::InFile(stamp) => {
            columns.push(types_in_file(beside)?);
            columns.extend(stamps(std::iter::repeat_n(stamp, rows)));
        }
        Labels::Each(labels) => {
            let runs_of_labels = labels_of(labels, beside)?;
            let labels_of_rows = || {
                let runs = runs_of_labels.iter();
                runs.flat_map(|(label, rows)| std::iter::repeat_n(label, *rows))
            };
            let types = labels_of_rows().map(|label| label.change.name());
            columns.push(Arc::new(StringArray::from_iter_values(types)));
            columns.extend(stamps(labels_of_rows().map(|label| &label.stamp)));
        }
        Labels::Coded(all) => {
            let codes = codes(beside)?;
            columns.push(types_of(codes));
            let codes = codes.values().iter();
            let stamps_of_rows = codes.map(|code| all.get(ChangeCode::from_number(*code).stamp()));
            let stamps_of_rows: Vec<&Stamp> = stamps_of_rows
                .collect::<Option<_>>()
                .ok_or_else(missing_positions)?;
            columns.extend(stamps(stamps_of_rows.iter().copied()));
        }
    }
    let misfit = |cause: ArrowError| {
        Error::corrupt("log.columns", "the columns of changed rows do not fit").because(cause)
    };
    let all = RecordBatch::try_new(Arc::clone(reading.all()), columns).map_err(misfit)?;
    let left = match reading.late() {
        None => all,
        Some(filter) => {
            let answers = filter.evaluate(&all)?;
            filter_record_batch(&all, &answers).map_err(misfit)?
        }
    };
    let num_columns = reading.num_columns();
    if num_columns == own {
        return Ok(left);
    }
    let columns: Vec<usize> = (0..num_columns).chain(own..own + 3).collect();
    left.project(&columns).map_err(misfit)
}

fn stamps<'a>(stamps: impl Iterator<Item = &'a Stamp> + Clone) -> [ArrayRef; 2] {
    let versions = stamps
        .clone()
        .map(|stamp| i64::try_from(stamp.version).unwrap_or(i64::MAX));
    let times = stamps.map(|stamp| stamp.timestamp.saturating_mul(1000));
    [
        Arc::new(Int64Array::from_iter_values(versions)),
        Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC")),
    ]
}

/// Returns the types that a change data file has for each row, in its own words.
fn types_in_file(column: Option<&ArrayRef>) -> Result<ArrayRef> {
    let texts = column.and_then(|column| column.as_string_opt::<i32>());
    match texts {
        Some(texts) if texts.null_count() == 0 => Ok(Arc::new(texts.clone())),
        _ => Err(untold("it has no column _change_type, or a null in it")),
    }
}

fn untold(why: &str) -> Error {
    let message = format!(
        "the change data file does not say of every row what happened to it: {why}; ask its writer"
    );
    Error::corrupt("cdc.change_type", message)
}

/// The same as values.
pub(in crate::changes) fn change_types(column: Option<&ArrayRef>) -> Result<Vec<ChangeType>> {
    let texts = types_in_file(column)?;
    let texts = texts.as_string_opt::<i32>();
    let types = texts.into_iter().flat_map(|texts| texts.iter());
    types
        .map(|text| {
            let text = text.unwrap_or_default();
            variant_named(text).ok_or_else(|| untold(&format!("{text:?} is none of the four")))
        })
        .collect()
}

/// The rows that are shown; their codes are the last column.
fn reported(batch: &RecordBatch) -> Result<RecordBatch> {
    let is_reported = |code: u32| ChangeCode::from_number(code) != ChangeCode::NONE;
    let codes = codes(batch.columns().last())?;
    if codes.values().iter().all(|code| is_reported(*code)) {
        return Ok(batch.clone());
    }
    let is_reported = BooleanArray::from_unary(codes, is_reported);
    filter_record_batch(batch, &is_reported).map_err(|cause| missing_positions().because(cause))
}

fn codes(column: Option<&ArrayRef>) -> Result<&UInt32Array> {
    let column = column.and_then(|column| column.as_primitive_opt::<UInt32Type>());
    column.ok_or_else(missing_positions)
}

/// Returns the types of these codes.
fn types_of(codes: &UInt32Array) -> ArrayRef {
    let mut names =
        (codes.values().iter()).map(|code| ChangeCode::from_number(*code).change().name());
    let first = names.clone().next().unwrap_or_default();
    // an image is mostly in files with others of its kind
    Arc::new(if names.all(|name| name == first) {
        StringArray::new_repeated(first, codes.len())
    } else {
        let codes = codes.values().iter();
        StringArray::from_iter_values(
            codes.map(|code| ChangeCode::from_number(*code).change().name()),
        )
    })
}

fn end(label: &RowLabel) -> u64 {
    label.row.saturating_add(u64::from(label.rows))
}

fn positions(column: Option<&ArrayRef>) -> Result<&Int64Array> {
    let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.ok_or_else(missing_positions)
}

fn missing_positions() -> Error {
    Error::corrupt("log.columns", "the positions of changed rows are missing")
}

/// The labels of the rows at these positions, each with the number of rows that it is for.
fn labels_of(labels: &[RowLabel], column: Option<&ArrayRef>) -> Result<Vec<(RowLabel, usize)>> {
    let positions = positions(column)?;
    let first = positions.values().first().copied().unwrap_or_default();
    let first = u64::try_from(first).unwrap_or_default();
    let start = labels.partition_point(|label| end(label) <= first);
    let mut left = labels.get(start..).unwrap_or_default().iter();
    let mut runs: Vec<(RowLabel, usize)> = Vec::new();
    for position in positions.values() {
        let position = u64::try_from(*position).map_err(|_| missing_positions())?;
        match runs.last_mut() {
            Some((label, rows)) if position < end(label) => *rows += 1,
            _ => {
                let label = left.find(|label| position < end(label));
                let label = label.filter(|label| label.row <= position);
                runs.push((*label.ok_or_else(missing_positions)?, 1));
            }
        }
    }
    Ok(runs)
}
