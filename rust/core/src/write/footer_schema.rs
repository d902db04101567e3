//! The columns of a data file written by another engine, from its footer.
//!
//! Spark stores its own schema in the footer, which is more precise than Parquet's and takes precedence. All
//! columns are nullable, as in everything that Spark reads from files.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;

use super::footer::arrow_schema;
use crate::error::Result;
use crate::replay::Source;
use crate::scan::data_file::FOOTER_RULES;
use crate::spec::schema::{ArrayType, DataType, MapType, StructField, StructType};

const SPARK_SCHEMA: &str = "org.apache.spark.sql.parquet.row.metadata";

/// Returns the columns of a file; `path` is as in the log.
///
/// # Errors
///
/// Corrupt: `data.footer`.
pub fn footer_schema(source: &Source, path: &str, size: u64) -> Result<StructType> {
    let stored = source.resolver.resolve("", path)?;
    source
        .footer(&stored, size, FOOTER_RULES)
        .and_then(|footer| schema(&footer.metadata))
        .map_err(|error| error.at_path(&*stored))
}

fn schema(footer: &ParquetMetaData) -> Result<StructType> {
    let file = footer.file_metadata();
    let mut properties = file.key_value_metadata().into_iter().flatten();
    let spark = properties.find(|property| property.key == SPARK_SCHEMA);
    let spark = spark.and_then(|property| StructType::parse(property.value.as_deref()?).ok());
    if let Some(spark) = spark {
        return nullable(&spark);
    }
    let arrow_schema = arrow_schema(file.schema_descr())?;
    let leaves = file.schema_descr().columns().iter();
    let mut is_int96 = leaves.map(|leaf| leaf.physical_type() == PhysicalType::INT96);
    let fields: Vec<FieldRef> = arrow_schema
        .fields()
        .iter()
        .map(|field| int96_as_timestamp(field, &mut is_int96))
        .collect();
    nullable(&StructType::from_arrow(&Schema::new(fields))?)
}

/// Replaces the type of 96-bit timestamps by one with a time zone. `is_int96` has one value for each leaf
/// column, in order.
fn int96_as_timestamp(field: &FieldRef, is_int96: &mut dyn Iterator<Item = bool>) -> FieldRef {
    let data_type = match field.data_type() {
        ArrowType::Struct(parts) => ArrowType::Struct(
            parts
                .iter()
                .map(|part| int96_as_timestamp(part, is_int96))
                .collect::<Fields>(),
        ),
        ArrowType::List(element) => ArrowType::List(int96_as_timestamp(element, is_int96)),
        ArrowType::Map(entries, sorted) => {
            ArrowType::Map(int96_as_timestamp(entries, is_int96), *sorted)
        }
        other => match is_int96.next() {
            Some(true) => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            _ => other.clone(),
        },
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

/// Returns the schema with all fields nullable, without the metadata of the table that the file was written for.
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
