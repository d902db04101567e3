//! Which columns of the live files are wanted: fields of `add`, and columns made from them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use super::Snapshot;
use crate::codec::columns::{TypedColumns, misfit};
use crate::codec::file_actions::{ADD_FIELDS, FileField};
use crate::codec::parsed_columns::{PARTITION_VALUES, STATS};
use crate::codec::partition_values::{Unparsable, check_partition_column, parse_partition_values};
use crate::codec::statistics::{num_records, parse_stats, stats_schema};
use crate::error::{Error, Result};
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{self, StructField, StructType};

/// A column of the live files.
#[derive(Clone, Debug, PartialEq)]
enum FileColumn {
    Field(FileField),
    /// The number of rows, out of `stats`.
    NumRecords,
    /// `stats` as a struct of this shape.
    StatsParsed(Fields),
    /// `partitionValues` as a struct: names in the map, fields to give.
    PartitionValuesParsed(Vec<(String, FieldRef)>),
}

/// Columns made from others.
const MADE: [&str; 3] = [STATS, PARTITION_VALUES, "numRecords"];

/// Columns of the live files, in the order asked.
#[derive(Clone, Debug, PartialEq)]
pub struct FileColumns(Vec<FileColumn>);

impl FileColumns {
    /// All fields of `add`.
    pub fn all() -> Self {
        Self(ADD_FIELDS.iter().copied().map(FileColumn::Field).collect())
    }

    /// These fields of `add`.
    pub fn fields_only(fields: &[FileField]) -> Self {
        Self(fields.iter().copied().map(FileColumn::Field).collect())
    }

    /// The columns of these names, for the files of `snapshot`; `None` for all fields of `add`.
    ///
    /// # Errors
    ///
    /// `columns.unknown`, `columns.twice`; `schema.physical_name` where typed columns are asked for
    /// and the schema does not say how the log names them.
    pub fn new(names: Option<&[String]>, snapshot: &Snapshot) -> Result<Self> {
        Self::named(names, &Naming::of(snapshot))
    }

    /// The same where no snapshot is at hand.
    pub(super) fn named(names: Option<&[String]>, table: &Naming<'_>) -> Result<Self> {
        let Some(names) = names else {
            return Ok(Self::all());
        };
        let mut columns = Vec::with_capacity(names.len());
        for (number, name) in names.iter().enumerate() {
            if names.iter().take(number).any(|before| before == name) {
                return Err(Error::invalid(
                    "columns.twice",
                    format!("the column {name:?} is asked for twice"),
                ));
            }
            columns.push(Self::column(name, table)?);
        }
        Ok(Self(columns))
    }

    fn column(name: &str, table: &Naming<'_>) -> Result<FileColumn> {
        if let Some(field) = FileField::by_name(name, &ADD_FIELDS) {
            return Ok(FileColumn::Field(field));
        }
        let partitioned = |field: &StructField| table.partition_columns.contains(&field.name);
        let columns = table.schema.fields().iter();
        match name {
            "numRecords" => Ok(FileColumn::NumRecords),
            STATS => Ok(FileColumn::StatsParsed(table.stats_shape()?)),
            PARTITION_VALUES => {
                let typed = |field: &StructField| {
                    check_partition_column(field)?;
                    physical(field, table.mode).map(|field| (field.name().clone(), field))
                };
                Ok(FileColumn::PartitionValuesParsed(
                    columns
                        .filter(|field| partitioned(field))
                        .map(typed)
                        .collect::<Result<_>>()?,
                ))
            }
            _ => {
                let known = ADD_FIELDS
                    .iter()
                    .map(|field| field.name())
                    .chain(MADE)
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(Error::invalid(
                    "columns.unknown",
                    format!("files have no column {name:?}; they have {known}"),
                ))
            }
        }
    }

    /// Whether these are exactly the fields, in their order.
    pub fn are(&self, fields: &[FileField]) -> bool {
        let plain = |column: &FileColumn| match column {
            FileColumn::Field(field) => Some(*field),
            _ => None,
        };
        self.0
            .iter()
            .map(plain)
            .eq(fields.iter().copied().map(Some))
    }

    /// The fields of `add` that have to be decoded, in the protocol's order.
    pub fn fields(&self) -> Vec<FileField> {
        let needed = |column: &FileColumn| match column {
            FileColumn::Field(field) => *field,
            FileColumn::NumRecords | FileColumn::StatsParsed(_) => FileField::Stats,
            FileColumn::PartitionValuesParsed(_) => FileField::PartitionValues,
        };
        let needed: Vec<FileField> = self.0.iter().map(needed).collect();
        ADD_FIELDS
            .into_iter()
            .filter(|field| needed.contains(field))
            .collect()
    }

    /// The schema of what [`FileColumns::of`] gives.
    pub fn schema(&self) -> SchemaRef {
        let field = |column: &FileColumn| -> FieldRef {
            let made = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
            match column {
                FileColumn::Field(field) => field.arrow(),
                FileColumn::NumRecords => made("numRecords", DataType::Int64),
                FileColumn::StatsParsed(shape) => made(STATS, DataType::Struct(shape.clone())),
                FileColumn::PartitionValuesParsed(columns) => {
                    let fields = columns
                        .iter()
                        .map(|(_, field)| field.as_ref().clone().with_nullable(true));
                    made(PARTITION_VALUES, DataType::Struct(fields.collect()))
                }
            }
        };
        Arc::new(Schema::new(self.0.iter().map(field).collect::<Fields>()))
    }

    /// The columns, from a batch that has at least [`FileColumns::fields`].
    pub fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = self
            .0
            .iter()
            .map(|column| column.of(rows))
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options).map_err(misfit)
    }
}

impl FileColumn {
    fn of(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let stats = || rows.typed::<StringArray>(FileField::Stats.name());
        match self {
            FileColumn::Field(field) => rows.array(field.name()).cloned(),
            FileColumn::NumRecords => Ok(Arc::new(num_records(stats()?))),
            FileColumn::StatsParsed(shape) => Ok(Arc::new(parse_stats(stats()?, shape)?)),
            FileColumn::PartitionValuesParsed(columns) => {
                let map = rows.typed(FileField::PartitionValues.name())?;
                Ok(Arc::new(parse_partition_values(
                    map,
                    columns,
                    Unparsable::Refuse,
                )?))
            }
        }
    }
}

/// How the log names the columns of a table: what decides it.
pub(super) struct Naming<'a> {
    pub(super) schema: &'a StructType,
    pub(super) partition_columns: &'a [String],
    pub(super) mode: ColumnMappingMode,
}

impl<'a> Naming<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        Self {
            schema: snapshot.schema(),
            partition_columns: &snapshot.metadata().partition_columns,
            mode: snapshot.properties().column_mapping_mode,
        }
    }

    /// The type of the table's parsed statistics, under the names that the log uses.
    pub(super) fn stats_shape(&self) -> Result<Fields> {
        let data = self
            .schema
            .fields()
            .iter()
            .filter(|field| !self.partition_columns.contains(&field.name))
            .map(|field| physical(field, self.mode));
        Ok(stats_schema(&data.collect::<Result<Fields>>()?))
    }
}

/// The field in Arrow's types under the names that the log uses, down through structs.
fn physical(field: &StructField, mode: ColumnMappingMode) -> Result<FieldRef> {
    let name = field.name_in_files(mode)?;
    let data_type = match &field.data_type {
        schema::DataType::Struct(fields) => {
            let fields = fields
                .fields()
                .iter()
                .map(|field| physical(field, mode))
                .collect::<Result<Fields>>()?;
            DataType::Struct(fields)
        }
        other => other.arrow_type(),
    };
    Ok(Arc::new(Field::new(name, data_type, true)))
}
