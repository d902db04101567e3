//! The layout of a table's files: their columns and physical names, their paths, their compression.
//!
//! Protocol: "Column Mapping", "Data Files".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use parquet::basic::Compression;

use super::columns::{columns_mismatch, is_void, nullable};
use super::statistics::StatisticsPlan;
use crate::codec::parquet_file::codec;
use crate::error::{Error, Result};
use crate::spec::column_mapping;
use crate::spec::json::clipped;
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType, same_name};
use crate::spec::{Metadata, Protocol};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Rows of the table.
    Data,
    /// Changed rows, for the change data feed.
    Changes,
}

/// The layout of files, shared by all files of one write.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) purpose: Purpose,
    /// Why this release cannot write rows.
    unwritable: Option<String>,
    /// Names the first two columns that have the same name in files, or the same id.
    collision: Option<String>,
    row_schema: SchemaRef,
    /// The partition columns, in the table's order: index among the columns, name, name in the log.
    pub(super) partitions: Vec<(usize, String, String)>,
    /// Indexes of the columns stored in the files.
    data_columns: Vec<usize>,
    pub(super) file_schema: SchemaRef,
    /// True if files are written to directories with random names.
    pub(super) random_directories: bool,
    /// The length of these names.
    pub(super) prefix_length: usize,
    pub(super) compression: Compression,
    pub(super) suffix: &'static str,
    pub(super) statistics: StatisticsPlan,
}

impl Layout {
    /// Creates the layout for a table with this metadata and protocol, with columns in addition to those of
    /// its schema.
    pub fn new(
        metadata: &Metadata,
        protocol: &Protocol,
        purpose: Purpose,
        extras: &[Field],
    ) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let (properties, _) = TableProperties::new(metadata, protocol)?;
        let mode = properties.column_mapping_mode;
        let mut partitions = Vec::with_capacity(metadata.partition_columns.len());
        for name in &metadata.partition_columns {
            let mut fields = schema.fields().iter().enumerate();
            if let Some((index, field)) = fields.find(|(_, field)| same_name(&field.name, name)) {
                let name_in_log = field.name_in_files(mode)?.to_owned();
                partitions.push((index, field.name.clone(), name_in_log));
            }
        }
        let (mut data_columns, mut files) = (Vec::new(), Vec::new());
        for (index, field) in schema.fields().iter().enumerate() {
            let is_partition = partitions.iter().any(|(partition, ..)| *partition == index);
            if !is_partition && !is_void(field) {
                data_columns.push(index);
                files.push(Arc::new(physical(field, mode)?));
            }
        }
        let unwritable = if files.is_empty() {
            let message =
                "no column of the table is stored in files: add one that is not a partition column";
            Some(message.to_owned())
        } else {
            unwritable_column(&schema).map(|column| {
                format!(
                    "this release cannot write rows to a table with {column}: write them with another client, \
                     or commit its files with Table.transaction"
                )
            })
        };
        let statistics = StatisticsPlan::new(metadata, protocol, &schema, mode)?;
        let mut rows: Vec<FieldRef> = nullable(&schema).fields().iter().cloned().collect();
        for extra in extras {
            data_columns.push(rows.len());
            rows.push(Arc::new(extra.clone()));
            files.push(Arc::new(extra.clone()));
        }
        let length = metadata.property("delta.randomPrefixLength");
        let (compression, suffix) = codec(metadata.property("delta.parquet.compression.codec"));
        Ok(Self {
            purpose,
            unwritable,
            collision: column_mapping::faults(&schema, mode)
                .into_iter()
                .find(|fault| fault.is_collision)
                .map(|fault| fault.message),
            row_schema: Arc::new(Schema::new(Fields::from(rows))),
            partitions,
            data_columns,
            file_schema: Arc::new(Schema::new(Fields::from(files))),
            random_directories: mode != ColumnMappingMode::None
                || metadata.is_on("delta.randomizeFilePrefixes"),
            prefix_length: length
                .and_then(|text| text.trim().parse().ok())
                .filter(|length: &usize| *length > 0)
                .unwrap_or(2),
            compression,
            suffix,
            statistics,
        })
    }

    /// Checks that rows can be written. Their removal needs no such check: files may be removed as a whole, and
    /// deletion vectors have no columns.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.column_mapping` if ids or physical names collide. Unsupported:
    /// `rows.unsupported` for types that cannot be written, and for a table without columns in its files.
    pub fn check_writable(&self) -> Result<()> {
        if let Some(collision) = &self.collision {
            let message = format!(
                "{collision}: no rows are written with such a schema, because readers may mix up its columns"
            );
            return Err(Error::corrupt("schema.column_mapping", message));
        }
        match &self.unwritable {
            Some(message) => Err(Error::unsupported("rows.unsupported", message.clone())),
            None => Ok(()),
        }
    }

    /// Returns the schema of the rows to write: the table's columns under their logical names, all nullable,
    /// then those in addition to its schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.row_schema)
    }

    pub(super) fn as_in_files(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.data_columns.len());
        for (index, field) in self.data_columns.iter().zip(self.file_schema.fields()) {
            let values = rows
                .columns()
                .get(*index)
                .ok_or_else(|| Error::invalid("rows.type", "rows lack a column of the table"))?;
            columns.push(renamed(values, field.data_type())?);
        }
        RecordBatch::try_new(Arc::clone(&self.file_schema), columns).map_err(columns_mismatch)
    }
}

/// Returns the first column of a type that cannot be written.
fn unwritable_column(schema: &StructType) -> Option<String> {
    let mut fields = schema.fields().iter().filter(|field| !is_void(field));
    fields.find_map(|field| {
        let types = check_type(&field.data_type).err()?;
        Some(format!("{types} (the column {})", clipped(&field.name)))
    })
}

fn check_type(data_type: &DataType) -> Result<(), &'static str> {
    use PrimitiveType as P;
    let is_void = |part: &DataType| *part == DataType::Primitive(P::Void);
    data_type.all_types().try_for_each(|nested| match nested {
        DataType::Struct(parts) if parts.fields().iter().all(|part| is_void(&part.data_type)) => {
            Err("structs that have only void fields")
        }
        DataType::Array(array) if is_void(&array.element_type) => Err("arrays of void"),
        DataType::Map(map) if is_void(&map.key_type) || is_void(&map.value_type) => {
            Err("maps of void")
        }
        DataType::Primitive(P::IntervalYearMonth | P::IntervalDayTime) => Err("intervals"),
        DataType::Primitive(P::Geometry { .. } | P::Geography { .. }) => Err("geometries"),
        _ => Ok(()),
    })
}

/// Returns the field as stored in files: with its physical name and its id.
fn physical(field: &StructField, mode: ColumnMappingMode) -> Result<Field> {
    let name = field.name_in_files(mode)?;
    let plain = Field::new(name, physical_type(&field.data_type, mode)?, field.nullable);
    let id = field
        .column_id()
        .filter(|_| mode != ColumnMappingMode::None);
    Ok(match id {
        Some(id) => plain.with_metadata(HashMap::from([(
            PARQUET_FIELD_ID_META_KEY.to_owned(),
            id.to_string(),
        )])),
        None => plain,
    })
}

fn physical_type(data_type: &DataType, mode: ColumnMappingMode) -> Result<ArrowType> {
    Ok(match data_type {
        DataType::Primitive(primitive) => primitive.arrow_type(),
        DataType::Struct(parts) => {
            let parts = parts.fields().iter().filter(|part| !is_void(part));
            let parts = parts.map(|part| physical(part, mode));
            ArrowType::Struct(parts.collect::<Result<Fields>>()?)
        }
        DataType::Array(array) => {
            let element = physical_type(&array.element_type, mode)?;
            ArrowType::List(Arc::new(Field::new(
                "element",
                element,
                array.contains_null,
            )))
        }
        DataType::Map(map) => {
            let key = Field::new("key", physical_type(&map.key_type, mode)?, false);
            let value = physical_type(&map.value_type, mode)?;
            let value = Field::new("value", value, map.value_contains_null);
            let entries = ArrowType::Struct(Fields::from(vec![key, value]));
            ArrowType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
    })
}

/// Renames the fields of values to those of another type, which may differ in nothing else, except that its
/// structs lack the `void` fields.
pub(super) fn renamed(values: &ArrayRef, target: &ArrowType) -> Result<ArrayRef> {
    if values.data_type() == target {
        return Ok(Arc::clone(values));
    }
    Ok(match (target, values.data_type()) {
        (ArrowType::Struct(fields), ArrowType::Struct(_)) => {
            let structure = values.as_struct();
            let columns = structure.columns().iter();
            let columns = columns.filter(|column| *column.data_type() != ArrowType::Null);
            let columns = columns
                .zip(fields)
                .map(|(column, field)| renamed(column, field.data_type()))
                .collect::<Result<Vec<_>>>()?;
            let nulls = structure.nulls().cloned();
            Arc::new(
                StructArray::try_new(fields.clone(), columns, nulls).map_err(columns_mismatch)?,
            )
        }
        (ArrowType::List(field), ArrowType::List(_)) => {
            let list = values.as_list::<i32>();
            let inner = renamed(list.values(), field.data_type())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            let array = ListArray::try_new(Arc::clone(field), offsets, inner, nulls);
            Arc::new(array.map_err(columns_mismatch)?)
        }
        (ArrowType::Map(field, sorted), ArrowType::Map(..)) => {
            let map = values.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = renamed(&entries, field.data_type())?;
            let entries = entries.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let array = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted);
            Arc::new(array.map_err(columns_mismatch)?)
        }
        _ => {
            let message = format!("{} is not {target}", values.data_type());
            return Err(columns_mismatch(ArrowError::CastError(message)));
        }
    })
}
