//! The columns of a data file written by another engine, from its footer.
//!
//! Spark stores its own schema in the footer, which is more precise than Parquet's and takes precedence. All
//! columns are nullable, as in everything that Spark reads from files.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;

use super::footer::RULES;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::spec::schema::{ArrayType, DataType, MapType, StructField, StructType};

/// The key of the schema written by Spark.
const SPARK: &str = "org.apache.spark.sql.parquet.row.metadata";

/// Returns the columns of a file; `path` is as in the log.
///
/// # Errors
///
/// Corrupt: `data.footer`; Invalid argument: `schema.arrow_type` for a type that Delta does not support.
/// Storage errors.
pub fn footer_schema(source: &Source, path: &str, size: u64) -> Result<StructType> {
    let stored = source.resolver.resolve("", path)?;
    source
        .footer(&stored, size, RULES)
        .and_then(|footer| schema(&footer.metadata))
        .map_err(|error| error.at_path(&*stored))
}

fn schema(footer: &ParquetMetaData) -> Result<StructType> {
    let file = footer.file_metadata();
    let mut strings = file.key_value_metadata().into_iter().flatten();
    let spark = strings.find(|text| text.key == SPARK);
    let spark = spark.and_then(|text| StructType::parse(text.value.as_deref()?).ok());
    if let Some(spark) = spark {
        return nullable(&spark);
    }
    let arrow_schema = parquet_to_arrow_schema(file.schema_descr(), None).map_err(|cause| {
        Error::corrupt("data.footer", "the Parquet schema has no types").because(cause)
    })?;
    let leaves = file.schema_descr().columns().iter();
    let mut instants = leaves.map(|leaf| leaf.physical_type() == PhysicalType::INT96);
    let fields: Vec<FieldRef> = arrow_schema
        .fields()
        .iter()
        .map(|field| instant(field, &mut instants))
        .collect();
    nullable(&StructType::from_arrow(&Schema::new(fields))?)
}

/// Converts 96-bit timestamps to instants, whatever the Arrow type says. `leaves` tells for each leaf column,
/// in order, whether it is one.
fn instant(field: &FieldRef, leaves: &mut dyn Iterator<Item = bool>) -> FieldRef {
    let data_type = match field.data_type() {
        ArrowType::Struct(parts) => ArrowType::Struct(
            parts
                .iter()
                .map(|part| instant(part, leaves))
                .collect::<Fields>(),
        ),
        ArrowType::List(element) => ArrowType::List(instant(element, leaves)),
        ArrowType::Map(entries, sorted) => ArrowType::Map(instant(entries, leaves), *sorted),
        other => match leaves.next() {
            Some(true) => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            _ => other.clone(),
        },
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

/// Returns the schema with all fields nullable, without metadata of the table that the file was written for.
fn nullable(schema: &StructType) -> Result<StructType> {
    let fields = schema.fields().iter().map(|field| {
        let mut metadata = field.metadata.clone();
        metadata.retain(|key, _| !key.starts_with("delta.") && key != "parquet.field.id");
        Ok(StructField {
            name: field.name.clone(),
            data_type: nullable_type(&field.data_type)?,
            nullable: true,
            metadata,
        })
    });
    StructType::new(fields.collect::<Result<_>>()?)
}

fn nullable_type(data_type: &DataType) -> Result<DataType> {
    Ok(match data_type {
        DataType::Primitive(_) => data_type.clone(),
        DataType::Struct(parts) => DataType::Struct(Box::new(nullable(parts)?)),
        DataType::Array(array) => DataType::Array(Box::new(ArrayType {
            element_type: nullable_type(&array.element_type)?,
            contains_null: true,
        })),
        DataType::Map(map) => DataType::Map(Box::new(MapType {
            key_type: nullable_type(&map.key_type)?,
            value_type: nullable_type(&map.value_type)?,
            value_contains_null: true,
        })),
    })
}
