//! Decodes the `add` and `remove` rows of a unit as views and returns them as plain columns.

use std::iter;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringViewArray, StructArray,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Fields};
use arrow_select::nullif::nullif;

use super::legacy_stats::LegacyStats;
use super::{
    CODE, CheckpointFile, FileAction, PAGES, Unit, arrow_error, first_without, without_field,
};
use crate::codec::file_actions::{DELETION_VECTOR_FIELDS, FileField};
use crate::codec::file_columns::{FileColumn, FileColumns, STATS};
use crate::codec::filter_concat::{
    SelectedRows, check_expansion, filter_concat, nulls, with_types_of,
};
use crate::codec::parquet_file::{BatchSize, FetchedBytes, RowGroupRequest, guarded};
use crate::codec::statistics::render_stats;
use crate::error::{Error, Result};
use crate::spec::arrow::strict_cast;

/// Rows per batch: few enough for CPU caches, and enough to amortize per-column costs.
const BATCH_ROWS: usize = 4 * 1024;

impl CheckpointFile {
    /// Returns the units in which `action` is decoded with these columns; empty if the file has none. A row
    /// group is split if the requested leaves have more compressed bytes than `unit_bytes`.
    pub fn units(&self, action: FileAction, columns: &FileColumns, unit_bytes: u64) -> Vec<Unit> {
        self.units_of(action, &self.row_leaves(action, columns), unit_bytes)
    }

    /// Requests one unit: path, deletion vector and the columns; only the rows in `selected`, if given.
    pub fn request(
        &self,
        unit: &Unit,
        action: FileAction,
        columns: &FileColumns,
        selected: Option<&BooleanBuffer>,
    ) -> RowGroupRequest {
        self.request_leaves(unit, self.row_leaves(action, columns), selected)
    }

    /// Begins to decode the requested columns of a unit whose bytes were all fetched.
    pub fn read(
        &self,
        unit: &Unit,
        action: FileAction,
        request: RowGroupRequest,
        fetched: &FetchedBytes,
    ) -> Result<impl Iterator<Item = Result<FileRows>> + use<>> {
        // the row of the row group that is decoded next; `None` if only selected rows are decoded
        let all = request.rows_of(unit.num_rows()) == unit.num_rows();
        let mut next_row = all.then_some(unit.rows.start);
        let legacy = self.legacy_stats(action);
        let row_group = unit.row_group;
        let batches = self.reader(unit, request, fetched)?;
        Ok(batches.map(move |batch| {
            let batch = batch?;
            let first = next_row;
            next_row = first.map(|first| first + batch.num_rows());
            let rows = FileRows::new(&batch, action, (row_group, first))?;
            match &legacy {
                Some(legacy) => rows.rebased(legacy),
                None => Ok(rows),
            }
        }))
    }

    pub(super) fn request_leaves(
        &self,
        unit: &Unit,
        leaves: Vec<usize>,
        selected: Option<&BooleanBuffer>,
    ) -> RowGroupRequest {
        let selection = unit.selection(selected);
        RowGroupRequest::new(self.metadata(), unit.row_group, leaves, selection)
    }

    /// Reads the rows of one unit with the Parquet decoder, in batches of a few thousand rows. A panic of the
    /// decoder, and a number of rows that differs from the footer's, are reported as corrupt bytes.
    pub(super) fn reader(
        &self,
        unit: &Unit,
        request: RowGroupRequest,
        fetched: &FetchedBytes,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let mut missing = request.rows_of(unit.num_rows());
        let reader = || request.reader(&self.arrow, fetched, BatchSize::Rows(BATCH_ROWS), &PAGES);
        let mut reader = guarded(CODE, reader)?;
        let mut next = move || {
            let Some(batch) = guarded(CODE, || reader.next().transpose().map_err(arrow_error))?
            else {
                if missing == 0 {
                    return Ok(None);
                }
                let message = format!("the pages end {missing} rows before the footer says");
                missing = 0;
                return Err(Error::corrupt("checkpoint.rows", message));
            };
            missing = missing.checked_sub(batch.num_rows()).ok_or_else(|| {
                let message = "the pages hold more rows than the footer says";
                Error::corrupt("checkpoint.rows", message)
            })?;
            Ok(Some(batch))
        };
        Ok(iter::from_fn(move || next().transpose()))
    }
}

/// Decoded rows of `add` or `remove`; rows with other actions have no path.
pub struct FileRows {
    rows: StructArray,
    path: StringViewArray,
    vector: Option<StructArray>,
}

impl FileRows {
    /// Creates the rows, with their row group and, if known, the index of the first row in it for errors.
    fn new(
        batch: &RecordBatch,
        action: FileAction,
        (row_group, first): (usize, Option<usize>),
    ) -> Result<Self> {
        let without_path = || {
            Error::corrupt(
                "checkpoint.columns",
                format!("{} is not a struct with a path", action.name()),
            )
        };
        let rows = batch
            .column_by_name(action.name())
            .and_then(|column| column.as_struct_opt())
            .ok_or_else(without_path)?;
        let path = rows
            .column_by_name("path")
            .and_then(|path| path.as_string_view_opt())
            .ok_or_else(without_path)?;
        // writers differ in which of the two is declared required: either may be the nullable one
        let present = NullBuffer::union(rows.nulls(), path.nulls());
        let schema = batch.schema_ref();
        let required = schema
            .fields()
            .find(action.name())
            .is_some_and(|(_, root)| !root.is_nullable());
        if let Some(row) = first_without(rows, present.as_ref(), required) {
            let row = first.map(|first| first + row);
            return Err(without_field(action.name(), "path", row_group, row));
        }
        let path = match present {
            Some(present) if present.null_count() > path.null_count() => {
                let absent = BooleanArray::new(!present.inner(), None);
                let path = nullif(path, &absent).map_err(arrow_error)?;
                path.as_string_view_opt()
                    .cloned()
                    .ok_or_else(without_path)?
            }
            _ => path.clone(),
        };
        check_repeated(&path)?;
        let vector = rows
            .column_by_name("deletionVector")
            .and_then(|vector| vector.as_struct_opt());
        Ok(Self {
            path,
            vector: vector.map(normal_vector).transpose()?,
            rows: rows.clone(),
        })
    }

    fn rebased(self, legacy: &LegacyStats) -> Result<Self> {
        let rows = legacy.rebase(&self.rows)?;
        Ok(Self { rows, ..self })
    }

    /// Returns the `path` of each row; null if the row holds another action.
    pub fn path(&self) -> &StringViewArray {
        &self.path
    }

    /// Returns the deletion vector descriptor of each row, if the file has the column.
    pub fn vector(&self) -> Option<&StructArray> {
        self.vector.as_ref()
    }

    /// Returns a mask of the rows that hold the action.
    pub fn present(&self) -> BooleanBuffer {
        self.path.nulls().map_or_else(
            || BooleanBuffer::new_set(self.path.len()),
            |nulls| nulls.inner().clone(),
        )
    }

    /// Returns the columns of the selected rows of all `parts`, in plain types; columns that the file lacks
    /// are null. Statistics that exist only as a struct are rendered as JSON; `stats_shape`, their type in
    /// the table, distinguishes timestamps with and without time zone.
    pub fn take(
        parts: &[(Self, SelectedRows)],
        columns: &FileColumns,
        stats_shape: &Fields,
    ) -> Result<RecordBatch> {
        let parts = Parts {
            parts,
            stats_shape,
            rows: parts.iter().map(|(_, keep)| keep.num_rows()).sum(),
        };
        let arrays = columns.iter().map(|column| parts.column(column));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(parts.rows));
        RecordBatch::try_new_with_options(columns.schema(), arrays, &options).map_err(arrow_error)
    }
}

/// Returns the statistics of file actions as decoded: JSON or struct.
pub(super) fn stats_of(rows: &StructArray) -> Result<Option<&ArrayRef>> {
    let text = rows.column_by_name(FileField::Stats.name());
    if let Some(text) = text.and_then(|text| text.as_string_view_opt()) {
        check_expansion(text).map_err(arrow_error)?;
    }
    Ok(text.or_else(|| rows.column_by_name(STATS)))
}

/// Rows of several parts that become one batch, with the selection of each.
struct Parts<'a> {
    parts: &'a [(FileRows, SelectedRows)],
    stats_shape: &'a Fields,
    rows: usize,
}

impl Parts<'_> {
    fn column(&self, column: &FileColumn) -> Result<ArrayRef> {
        match column {
            FileColumn::Field(field) => self.field(*field),
            // convert each part separately: dropped rows are not parsed, and text is not copied
            FileColumn::NumRecords | FileColumn::StatsParsed(_) => {
                let array = |rows: &FileRows| {
                    let stats = stats_of(&rows.rows)?;
                    stats.map(|stats| column.compute(stats)).transpose()
                };
                let array = self.kept(array)?;
                Ok(array.unwrap_or_else(|| new_null_array(column.field().data_type(), self.rows)))
            }
            FileColumn::PartitionValuesParsed(_) => {
                let values = self.field(FileField::PartitionValues)?;
                column.compute(&values).or_else(|error| {
                    let path = self.field(FileField::Path)?;
                    Err(column.at_file(error, &path, &values))
                })
            }
        }
    }

    fn field(&self, field: FileField) -> Result<ArrayRef> {
        let data_type = field.data_type();
        let column = match field {
            FileField::DeletionVector => self.kept(|rows| {
                let vector = rows.vector.clone();
                Ok(vector.map(|vector| Arc::new(vector) as ArrayRef))
            })?,
            FileField::Stats => self.kept(|rows| Ok(stats_of(&rows.rows)?.cloned()))?,
            _ => self.kept(|rows| Ok(rows.rows.column_by_name(field.name()).cloned()))?,
        };
        match column {
            None => Ok(nulls(&data_type, self.rows)),
            Some(column) if *column.data_type() == data_type => Ok(column),
            Some(column) => match (field, column.as_struct_opt()) {
                (FileField::Stats, Some(typed)) => {
                    let text = render_stats(typed, Some(self.stats_shape))?;
                    Ok(Arc::new(text))
                }
                _ => strict_cast(&column, &data_type).map_err(arrow_error),
            },
        }
    }

    /// Returns the selected rows of a column; `None` if a part lacks it, or if there are no parts.
    fn kept(
        &self,
        column: impl Fn(&FileRows) -> Result<Option<ArrayRef>>,
    ) -> Result<Option<ArrayRef>> {
        let mut columns = Vec::with_capacity(self.parts.len());
        for (rows, keep) in self.parts {
            match column(rows)? {
                Some(column) => columns.push((column, keep)),
                None => return Ok(None),
            }
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let columns: Vec<_> = columns
            .iter()
            .map(|(column, keep)| (column, *keep))
            .collect();
        filter_concat(&columns).map(Some).map_err(arrow_error)
    }
}

/// Refuses paths that are long and repeated too often. Paths are mostly distinct, so the buffers are about
/// as long as all paths together; only a file that was removed with many deletion vectors repeats its path.
/// Otherwise, a dictionary of a few kilobytes could claim one long path for every row, and expand to gigabytes.
fn check_repeated(path: &StringViewArray) -> Result<()> {
    // the bytes of a batch of paths of 2,000 bytes each
    const ALWAYS_ACCEPTED: u64 = 2_000 * BATCH_ROWS as u64;
    let buffered: usize = path.data_buffers().iter().map(|buffer| buffer.len()).sum();
    let total: u64 = path.lengths().map(u64::from).sum();
    if total > ALWAYS_ACCEPTED + 8 * buffered as u64 {
        let message = "many rows of add or remove repeat the same few paths";
        return Err(Error::corrupt("checkpoint.columns", message));
    }
    Ok(())
}

/// Returns the descriptor with exactly the protocol's fields; null if it has no storage type, since some
/// writers store an empty struct for "no vector".
fn normal_vector(vector: &StructArray) -> Result<StructArray> {
    let rows = vector.len();
    let children = DELETION_VECTOR_FIELDS.iter().map(|field| {
        let target = match field.data_type() {
            DataType::Utf8 => DataType::Utf8View,
            other => other.clone(),
        };
        match vector.column_by_name(field.name()) {
            Some(column) if *column.data_type() == target => Ok(Arc::clone(column)),
            Some(column) => strict_cast(column, &target).map_err(arrow_error),
            None => Ok(new_null_array(&target, rows)),
        }
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let typed = children.first().and_then(|column| column.logical_nulls());
    let nulls = NullBuffer::union(vector.nulls(), typed.as_ref());
    let fields = with_types_of(&DELETION_VECTOR_FIELDS, &children);
    StructArray::try_new_with_length(fields, children, nulls, rows).map_err(arrow_error)
}
