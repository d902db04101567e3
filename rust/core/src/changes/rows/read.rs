//! Reads the rows of pieces, adds the change columns and applies the change filter.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow_select::filter::filter_record_batch;

use super::piece::{ChangeCode, ChangeType, Labels, Piece, PieceRows, RowLabel};
use super::row_schema::{CHANGE_COLUMNS, Purpose, ResolvedDefinition, columns_mismatch};
use crate::changes::range::commits::Stamp;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_files::{FileRows, Opener, Step, read_files};
use crate::spec::variant_name::variant_named;
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Emit, ReadAheadLimits, Rows};

/// Pieces, the purpose of reading each, and a function that converts their rows.
struct PieceFiles<P, M> {
    resolved: Arc<ResolvedDefinition>,
    pieces: Vec<Piece>,
    purpose: P,
    map: M,
}

/// Batches of pieces, in order.
pub(in crate::changes) type PieceBatches<B> = Box<dyn Iterator<Item = Result<B>> + Send>;

/// Reads pieces for a purpose. `map` converts a batch of rows of a piece, whose index it gets first; `None`
/// drops the batch.
pub(in crate::changes) fn read_pieces<B: Rows>(
    source: &Source,
    resolved: &Arc<ResolvedDefinition>,
    pieces: Vec<Piece>,
    purpose: impl Fn(&Piece) -> Purpose + Send + Sync + 'static,
    map: impl Fn(usize, &Piece, RecordBatch) -> Result<Option<B>> + Send + Sync + 'static,
) -> PieceBatches<B> {
    let vectors = pieces.iter().flat_map(Piece::vectors).collect();
    let files = PieceFiles {
        resolved: Arc::clone(resolved),
        pieces,
        purpose,
        map,
    };
    Box::new(read_files(
        source,
        vectors,
        files,
        ReadAheadLimits::default(),
    ))
}

/// Reads the rows of pieces as they are returned to the user.
pub(in crate::changes) fn changed_rows(
    source: &Source,
    resolved: &Arc<ResolvedDefinition>,
    pieces: Vec<Piece>,
) -> PieceBatches<RecordBatch> {
    let purpose = |piece: &Piece| Purpose::Rows {
        numbered: matches!(piece.labels, Labels::Each(_)),
        typed: matches!(piece.labels, Labels::InFile(_)),
    };
    let definition = Arc::clone(resolved);
    read_pieces(source, resolved, pieces, purpose, move |_, piece, batch| {
        let batch = match piece.rows {
            PieceRows::Read(_) => reported_rows(&batch)?,
            _ => batch,
        };
        let rows = add_change_columns(&definition, &piece.labels, &batch)?;
        Ok(Some(rows).filter(|rows| rows.num_rows() > 0))
    })
}

/// Adds file and version to an error.
pub(in crate::changes) fn locate_error(error: Error, piece: &Piece) -> Error {
    let error = error.at_path(piece.file.path.clone());
    match piece.version() {
        Some(version) => error.at_version(version),
        None => error,
    }
}

impl<B, P, M> FileRows for PieceFiles<P, M>
where
    B: Rows,
    P: Fn(&Piece) -> Purpose + Send + Sync + 'static,
    M: Fn(usize, &Piece, RecordBatch) -> Result<Option<B>> + Send + Sync + 'static,
{
    type Batch = B;

    fn len(&self) -> usize {
        self.pieces.len()
    }

    fn file(&self, number: usize) -> Option<(&str, i64)> {
        let piece = self.pieces.get(number)?;
        match piece.rows {
            PieceRows::Read(_) => None,
            _ => Some((&piece.file.path, piece.file.size)),
        }
    }

    fn open(
        &self,
        opener: &Opener,
        number: usize,
        bytes: Option<Arc<FileBytes>>,
    ) -> Result<Vec<Step<B>>> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(Vec::new());
        };
        if let PieceRows::Read(batches) = &piece.rows {
            return Ok(batches.iter().cloned().map(Step::Rows).collect());
        }
        // each piece has two vectors in the list of `read_pieces`
        let (first, second) = (number * 2, number * 2 + 1);
        let vectors = [opener.vector(first)?, opener.vector(second)?];
        let purpose = (self.purpose)(piece);
        let units = match piece.data_file(&opener.source.resolver, vectors)? {
            Some(file) => {
                let plan = self.resolved.plan(&piece.file, purpose)?;
                opener.units(&plan, file, bytes)?
            }
            None => Vec::new(),
        };
        if matches!(purpose, Purpose::Rows { .. }) {
            opener.source.forget(&piece.file.path); // it is not read again
        }
        Ok(units.into_iter().map(Step::Unit).collect())
    }

    fn emit(&self, number: usize, batch: RecordBatch, emit: &mut Emit<'_, B>) -> Result<()> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(());
        };
        match (self.map)(number, piece, batch)? {
            Some(rows) => emit(rows),
            None => Ok(()),
        }
    }

    fn locate_error(&self, number: usize, error: Error) -> Error {
        match self.pieces.get(number) {
            Some(piece) => locate_error(error, piece),
            None => error,
        }
    }
}

/// Adds the change columns to rows and applies the change filter.
fn add_change_columns(
    resolved: &ResolvedDefinition,
    labels: &Labels,
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    if resolved.without_change_columns {
        return Ok(batch.clone());
    }
    let num_read = resolved.filter_schema.fields().len() - CHANGE_COLUMNS.len();
    let rows = batch.num_rows();
    // the column with the position, the type or the code is the last one
    let extra = batch.columns().get(num_read);
    let mut columns: Vec<ArrayRef> = batch.columns().iter().take(num_read).cloned().collect();
    match labels {
        Labels::All(change, stamp) => {
            columns.push(Arc::new(StringArray::new_repeated(change.name(), rows)));
            columns.extend(stamps(std::iter::repeat_n(stamp, rows)));
        }
        Labels::InFile(stamp) => {
            columns.push(Arc::new(types_in_file(extra)?.clone()));
            columns.extend(stamps(std::iter::repeat_n(stamp, rows)));
        }
        Labels::Each(labels) => {
            let runs_of_labels = labels_of(labels, extra)?;
            let labels_of_rows = || {
                let runs = runs_of_labels.iter();
                runs.flat_map(|(label, rows)| std::iter::repeat_n(label, *rows))
            };
            let types = labels_of_rows().map(|label| label.change.name());
            columns.push(Arc::new(StringArray::from_iter_values(types)));
            columns.extend(stamps(labels_of_rows().map(|label| &label.stamp)));
        }
        Labels::Coded(stamps_of_codes) => {
            let codes = codes(extra)?;
            columns.push(types_of(codes));
            let codes = codes.values().iter();
            let stamps_of_rows =
                codes.map(|code| stamps_of_codes.get(ChangeCode::from_number(*code).stamp()));
            let stamps_of_rows: Vec<&Stamp> = stamps_of_rows
                .collect::<Option<_>>()
                .ok_or_else(|| invalid_column("codes"))?;
            columns.extend(stamps(stamps_of_rows.iter().copied()));
        }
    }
    let schema = Arc::clone(&resolved.filter_schema);
    let all = RecordBatch::try_new(schema, columns).map_err(columns_mismatch)?;
    let filtered = match &resolved.change_filter {
        None => all,
        Some(filter) => {
            let mask = filter.evaluate(&all)?;
            filter_record_batch(&all, &mask).map_err(columns_mismatch)?
        }
    };
    let num_columns = resolved.num_columns;
    if num_columns == num_read {
        return Ok(filtered);
    }
    let columns: Vec<usize> = (0..num_columns)
        .chain(num_read..num_read + CHANGE_COLUMNS.len())
        .collect();
    filtered.project(&columns).map_err(columns_mismatch)
}

/// Returns the columns with the version and the timestamp of each row.
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

/// Returns the change types that a change data file has for each row, as strings.
fn types_in_file(column: Option<&ArrayRef>) -> Result<&StringArray> {
    column
        .and_then(|column| column.as_string_opt::<i32>())
        .filter(|strings| strings.null_count() == 0)
        .ok_or_else(|| no_change_type("it has no column _change_type, or a null in it"))
}

fn no_change_type(reason: &str) -> Error {
    let message = format!(
        "the change data file does not state the change type of every row: {reason}; ask its writer"
    );
    Error::corrupt("cdc.change_type", message)
}

pub(in crate::changes) fn change_types(column: Option<&ArrayRef>) -> Result<Vec<ChangeType>> {
    let types = types_in_file(column)?.iter().flatten();
    types
        .map(|text| {
            variant_named(text)
                .ok_or_else(|| no_change_type(&format!("{text:?} is not a change type")))
        })
        .collect()
}

/// Returns the rows that are reported; the last column has the code of each row.
fn reported_rows(batch: &RecordBatch) -> Result<RecordBatch> {
    let is_reported = |code: u32| ChangeCode::from_number(code) != ChangeCode::NONE;
    let codes = codes(batch.columns().last())?;
    if codes.values().iter().all(|code| is_reported(*code)) {
        return Ok(batch.clone());
    }
    let is_reported = BooleanArray::from_unary(codes, is_reported);
    filter_record_batch(batch, &is_reported).map_err(columns_mismatch)
}

fn codes(column: Option<&ArrayRef>) -> Result<&UInt32Array> {
    let column = column.and_then(|column| column.as_primitive_opt::<UInt32Type>());
    column.ok_or_else(|| invalid_column("codes"))
}

fn types_of(codes: &UInt32Array) -> ArrayRef {
    let name = |code: &u32| ChangeCode::from_number(*code).change().name();
    let names = codes.values().iter().map(name);
    let first = names.clone().next().unwrap_or_default();
    // the rows of a batch usually have the same type
    Arc::new(if names.clone().all(|name| name == first) {
        StringArray::new_repeated(first, codes.len())
    } else {
        StringArray::from_iter_values(names)
    })
}

fn end(label: &RowLabel) -> u64 {
    label.row.saturating_add(u64::from(label.rows))
}

fn invalid_column(name: &str) -> Error {
    let message = format!("the {name} of changed rows are missing or invalid");
    Error::corrupt("log.columns", message)
}

/// Returns the labels of the rows at these positions, each with its number of rows.
fn labels_of(labels: &[RowLabel], column: Option<&ArrayRef>) -> Result<Vec<(RowLabel, usize)>> {
    let positions = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
    let positions = positions.ok_or_else(|| invalid_column("positions"))?;
    let first = positions.values().first().copied().unwrap_or_default();
    let first = u64::try_from(first).unwrap_or_default();
    let start = labels.partition_point(|label| end(label) <= first);
    let mut rest = labels.get(start..).unwrap_or_default().iter();
    let mut runs: Vec<(RowLabel, usize)> = Vec::new();
    for position in positions.values() {
        let position = u64::try_from(*position).map_err(|_| invalid_column("positions"))?;
        match runs.last_mut() {
            Some((label, rows)) if position < end(label) => *rows += 1,
            _ => {
                let label = rest.find(|label| position < end(label));
                let label = label.filter(|label| label.row <= position);
                runs.push((*label.ok_or_else(|| invalid_column("positions"))?, 1));
            }
        }
    }
    Ok(runs)
}
