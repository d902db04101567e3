//! The columns of a data file written by another engine, from its footer.
//!
//! Spark stores its own schema in the footer, which is more precise than Parquet's and takes precedence. All
//! columns are nullable, as in everything that Spark reads from files.

use parquet::file::metadata::ParquetMetaData;

use super::footer::arrow_schema;
use crate::codec::parquet_file::int96_in_micros;
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
    let plain = arrow_schema(file.schema_descr())?;
    let with_micros = int96_in_micros(&plain, file.schema_descr(), Some("UTC"));
    let schema = with_micros.unwrap_or(plain);
    nullable(&StructType::from_arrow(&schema)?)
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
