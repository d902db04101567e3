//! The columns of live files, selected by name.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::Snapshot;
use crate::codec::file_actions::{ADD_FIELDS, FileField};
use crate::codec::file_columns::{FileColumn, FileColumns, NUM_RECORDS, PARTITION_VALUES, STATS};
use crate::codec::partition_values::check_partition_column;
use crate::codec::statistics::stats_schema;
use crate::error::{Error, Result};
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{self, StructField, StructType};

/// The columns that are computed from fields of `add`.
const DERIVED: [&str; 3] = [STATS, PARTITION_VALUES, NUM_RECORDS];

impl FileColumns {
    /// Returns the columns of these names, for the files of `snapshot`; `None` for all fields of `add`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.unknown`, `columns.twice`. For typed columns also Corrupt:
    /// `schema.physical_name`, and Unsupported: `partition_value.type`.
    pub fn of_names(names: Option<&[String]>, snapshot: &Snapshot) -> Result<Self> {
        Self::named(names, &TableColumns::of(snapshot))
    }

    /// Returns the columns of these names, as [`Self::of_names`], for the files of `table`.
    pub(super) fn named(names: Option<&[String]>, table: &TableColumns<'_>) -> Result<Self> {
        let Some(names) = names else {
            return Ok(Self::all());
        };
        let mut columns = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if names.iter().take(index).any(|earlier| earlier == name) {
                return Err(Error::invalid(
                    "columns.twice",
                    format!("the column {name:?} is requested twice"),
                ));
            }
            columns.push(Self::column(name, table)?);
        }
        Ok(Self::new(columns))
    }

    fn column(name: &str, table: &TableColumns<'_>) -> Result<FileColumn> {
        if let Some(field) = FileField::by_name(name, &ADD_FIELDS) {
            return Ok(FileColumn::Field(field));
        }
        let partitioned = |field: &StructField| table.partition_columns.contains(&field.name);
        let columns = table.schema.fields().iter();
        match name {
            NUM_RECORDS => Ok(FileColumn::NumRecords),
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
                    .chain(DERIVED)
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(Error::invalid(
                    "columns.unknown",
                    format!("files have no column {name:?}; they have {known}"),
                ))
            }
        }
    }
}

/// The columns of a table, which determine the types of statistics and partition values in its log.
pub(super) struct TableColumns<'a> {
    pub(super) schema: &'a StructType,
    pub(super) partition_columns: &'a [String],
    pub(super) mode: ColumnMappingMode,
}

impl<'a> TableColumns<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        Self {
            schema: snapshot.schema(),
            partition_columns: &snapshot.metadata().partition_columns,
            mode: snapshot.properties().column_mapping_mode,
        }
    }

    /// Returns the type of the table's parsed statistics, with physical names.
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

/// Converts a field to Arrow with its physical name, including nested fields.
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
