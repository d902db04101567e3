//! The requested columns of file actions: fields as in the log, and columns derived from them.
//!
//! One type describes columns from the caller's request down to the decoder: the columns to return, to filter
//! by, and to cache.
//!
//! Protocol: "Add File and Remove File", "Partition Value Serialization", "Per-file Statistics".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, StructArray, new_null_array,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use super::columns::{TypedColumns, columns_mismatch, missing};
use super::file_actions::{ADD_FIELDS, FileField};
use super::partition_values::parse_partition_values;
use super::statistics::{contains_leaves, convert, num_records, parse_stats, union};
use crate::error::{Error, Result};

/// The name of the struct of typed partition values, here and in checkpoints.
pub const PARTITION_VALUES: &str = "partitionValues_parsed";

/// The name of the struct of typed statistics, here and in checkpoints.
pub const STATS: &str = "stats_parsed";

/// The name of the column of row counts.
pub const NUM_RECORDS: &str = "numRecords";

/// A column of file actions.
#[derive(Clone, Debug, PartialEq)]
pub enum FileColumn {
    /// A field, as in the log.
    Field(FileField),
    /// The number of rows, from `stats`.
    NumRecords,
    /// `partitionValues` as a struct: the names in the map, and the fields of the struct.
    PartitionValuesParsed(Vec<(String, FieldRef)>),
    /// `stats` as a struct of this shape: a part of what `stats_schema` returns for the table.
    StatsParsed(Fields),
}

/// Columns of file actions, in the requested order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileColumns(Vec<FileColumn>);

impl FileColumns {
    /// Creates the list of these columns.
    pub fn new(columns: Vec<FileColumn>) -> Self {
        Self(columns)
    }

    /// Selects all fields of `add`.
    pub fn all() -> Self {
        Self::fields_only(&ADD_FIELDS)
    }

    /// Selects these fields.
    pub fn fields_only(fields: &[FileField]) -> Self {
        Self(fields.iter().copied().map(FileColumn::Field).collect())
    }

    /// Returns `true` if the field itself is one of the columns.
    pub fn has(&self, field: FileField) -> bool {
        self.0.contains(&FileColumn::Field(field))
    }

    /// Returns the typed partition values: the names in the map, and the fields of the struct.
    pub fn partition_values(&self) -> &[(String, FieldRef)] {
        let parsed = self.0.iter().find_map(|column| match column {
            FileColumn::PartitionValuesParsed(values) => Some(values.as_slice()),
            _ => None,
        });
        parsed.unwrap_or_default()
    }

    /// Returns the shape of the typed statistics.
    pub fn stats(&self) -> Option<&Fields> {
        self.0.iter().find_map(|column| match column {
            FileColumn::StatsParsed(shape) => Some(shape),
            _ => None,
        })
    }

    /// Returns the columns, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &FileColumn> {
        self.0.iter()
    }

    /// Returns the shape of typed statistics that suffices for all columns derived from statistics.
    pub(super) fn stats_fields(&self) -> Fields {
        let count = Fields::from(vec![Field::new(NUM_RECORDS, DataType::Int64, true)]);
        let shape = self.stats().cloned().unwrap_or_default();
        if self.0.contains(&FileColumn::NumRecords) {
            union(&count, &shape)
        } else {
            shape
        }
    }

    /// Returns `true` if the type of any column depends on the table's schema.
    pub fn depend_on_schema(&self) -> bool {
        !self.partition_values().is_empty() || self.stats().is_some()
    }

    /// Returns `true` if these columns include everything in `other`.
    pub fn covers(&self, other: &Self) -> bool {
        let is_covered =
            |required: &FileColumn| self.0.iter().any(|column| column.covers(required));
        other.0.iter().all(is_covered)
    }

    /// Returns the union: the fields in the protocol's order, then the derived columns.
    pub fn merged(&self, other: &Self) -> Self {
        let mut columns = self.0.clone();
        for theirs in &other.0 {
            let same = |mine: &&mut FileColumn| mine.name() == theirs.name();
            match columns.iter_mut().find(same) {
                Some(mine) => mine.widen(theirs),
                None => columns.push(theirs.clone()),
            }
        }
        columns.sort_by_key(FileColumn::rank);
        Self(columns)
    }

    /// Returns the fields to decode, in the protocol's order.
    pub fn fields(&self) -> Vec<FileField> {
        let mut fields: Vec<_> = self.0.iter().map(FileColumn::source).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// Returns the fields from which these columns are derived, as columns.
    pub fn sources(&self) -> Self {
        Self::fields_only(&self.fields())
    }

    /// Returns the schema of the batches of [`FileColumns::compute`].
    pub fn schema(&self) -> SchemaRef {
        let fields = self.0.iter().map(FileColumn::field);
        Arc::new(Schema::new(fields.collect::<Fields>()))
    }

    /// Computes the columns from rows that have at least the fields of [`FileColumns::fields`].
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns` for a field that is missing or has another type; `partition_value.parse`, with
    /// the file if the rows have their `path`. Unsupported: `partition_value.type`. Statistics that do not
    /// parse are null.
    pub fn compute(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        name_file_on_error(rows, |rows| {
            self.compute_from(rows.num_rows(), |field| rows.array(field.name()).map(Some))
        })
    }

    /// Computes the columns from rows that may lack fields: columns derived from a missing field are null.
    pub fn compute_available(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        name_file_on_error(rows, |rows| {
            self.compute_from(rows.num_rows(), |field| {
                Ok(rows.column_by_name(field.name()))
            })
        })
    }

    /// Computes the columns from those that `source` returns for each field; columns derived from a missing
    /// field are null. `stats` may be a struct of any shape.
    pub(super) fn compute_from<'a>(
        &self,
        rows: usize,
        source: impl Fn(FileField) -> Result<Option<&'a ArrayRef>>,
    ) -> Result<RecordBatch> {
        let compute = |column: &FileColumn| match source(column.source())? {
            Some(source) => column.compute(source),
            None => Ok(new_null_array(column.field().data_type(), rows)),
        };
        let columns = self.0.iter().map(compute).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .map_err(columns_mismatch)
    }
}

impl FileColumn {
    fn name(&self) -> &'static str {
        match self {
            FileColumn::Field(field) => field.name(),
            FileColumn::NumRecords => NUM_RECORDS,
            FileColumn::PartitionValuesParsed(_) => PARTITION_VALUES,
            FileColumn::StatsParsed(_) => STATS,
        }
    }

    fn rank(&self) -> (bool, FileField) {
        (!matches!(self, FileColumn::Field(_)), self.source())
    }

    /// Returns the field that the column is or is derived from.
    fn source(&self) -> FileField {
        match self {
            FileColumn::Field(field) => *field,
            FileColumn::NumRecords | FileColumn::StatsParsed(_) => FileField::Stats,
            FileColumn::PartitionValuesParsed(_) => FileField::PartitionValues,
        }
    }

    /// Adds the path of the failing file to an error of [`FileColumn::compute`].
    pub(super) fn at_file(&self, error: Error, paths: &ArrayRef, source: &ArrayRef) -> Error {
        let fails = |row| self.compute(&source.slice(row, 1)).is_err();
        match paths.as_string_opt() {
            Some(paths) => at_file(error, paths, fails),
            None => error,
        }
    }

    pub(super) fn field(&self) -> FieldRef {
        let nullable = |data_type| Arc::new(Field::new(self.name(), data_type, true));
        match self {
            FileColumn::Field(field) => field.arrow(),
            FileColumn::NumRecords => nullable(DataType::Int64),
            FileColumn::StatsParsed(shape) => nullable(DataType::Struct(shape.clone())),
            FileColumn::PartitionValuesParsed(values) => {
                let fields = values
                    .iter()
                    .map(|(_, field)| field.as_ref().clone().with_nullable(true));
                nullable(DataType::Struct(fields.collect()))
            }
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (FileColumn::StatsParsed(mine), FileColumn::StatsParsed(theirs)) => {
                contains_leaves(mine, theirs)
            }
            (
                FileColumn::PartitionValuesParsed(mine),
                FileColumn::PartitionValuesParsed(theirs),
            ) => theirs.iter().all(|value| mine.contains(value)),
            (mine, theirs) => mine == theirs,
        }
    }

    /// Extends this column by another of the same name.
    fn widen(&mut self, other: &Self) {
        match (self, other) {
            (FileColumn::StatsParsed(mine), FileColumn::StatsParsed(theirs)) => {
                *mine = union(mine, theirs);
            }
            (
                FileColumn::PartitionValuesParsed(mine),
                FileColumn::PartitionValuesParsed(theirs),
            ) => {
                for value in theirs {
                    if !mine.contains(value) {
                        mine.push(value.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Computes the column from its source.
    pub(super) fn compute(&self, source: &ArrayRef) -> Result<ArrayRef> {
        Ok(match self {
            FileColumn::Field(_) => Arc::clone(source),
            FileColumn::NumRecords => count(source)?,
            FileColumn::StatsParsed(shape) => Arc::new(stats(source, shape)?),
            FileColumn::PartitionValuesParsed(values) => {
                let name = FileField::PartitionValues.name();
                let map = source.as_map_opt().ok_or_else(|| missing(name))?;
                Arc::new(parse_partition_values(map, values)?)
            }
        })
    }
}

/// Computes columns from rows; if a value does not parse, the error names its file.
fn name_file_on_error(
    rows: &RecordBatch,
    make: impl Fn(&RecordBatch) -> Result<RecordBatch>,
) -> Result<RecordBatch> {
    make(rows).map_err(|error| {
        let fails = |row| make(&rows.slice(row, 1)).is_err();
        match rows.typed(FileField::Path.name()) {
            Ok(paths) => at_file(error, paths, fails),
            Err(_) => error,
        }
    })
}

/// Adds the path of the first file with a value that does not parse.
fn at_file(error: Error, paths: &StringArray, fails: impl Fn(usize) -> bool) -> Error {
    if error.code() != "partition_value.parse" {
        return error;
    }
    match (0..paths.len()).find(|row| fails(*row)) {
        Some(row) => error.at_path(paths.value(row)),
        None => error,
    }
}

fn count(source: &ArrayRef) -> Result<ArrayRef> {
    Ok(match source.data_type() {
        DataType::Utf8 => Arc::new(num_records(source.as_string::<i32>())),
        DataType::Utf8View => Arc::new(num_records(source.as_string_view())),
        _ => {
            let count = Field::new(NUM_RECORDS, DataType::Int64, true);
            let typed = stats(source, &vec![count].into())?;
            Arc::clone(typed.column(0))
        }
    })
}

fn stats(source: &ArrayRef, shape: &Fields) -> Result<StructArray> {
    match source.data_type() {
        DataType::Utf8 => parse_stats(source.as_string::<i32>(), shape),
        DataType::Utf8View => parse_stats(source.as_string_view(), shape),
        DataType::Struct(_) => convert(source.as_struct(), shape),
        _ => Err(missing(FileField::Stats.name())),
    }
}

#[cfg(test)]
mod tests;
