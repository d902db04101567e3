//! Metadata of a table that leaves a feature behind.
//!
//! Protocol: "Column Mapping", "Type Widening".

use std::collections::BTreeSet;

use super::{ArrayType, DataType, MAX_ID, MODE, MapType, StructField, StructType};
use crate::error::Result;
use crate::spec::actions::Metadata;

/// The old metadata without physical names and ids: files have the names of the columns.
///
/// # Errors
///
/// Corrupt: the schema.
pub fn without_column_mapping(old: &Metadata) -> Result<Metadata> {
    let mut new = without(old, "delta.columnMapping.")?;
    let dropped = BTreeSet::from([MODE, MAX_ID]);
    new.configuration
        .retain(|key, _| !dropped.iter().any(|name| name.eq_ignore_ascii_case(key)));
    Ok(new)
}

/// The old metadata without the types that columns had before.
///
/// # Errors
///
/// Corrupt: the schema.
pub fn without_type_changes(old: &Metadata) -> Result<Metadata> {
    without(old, "delta.typeChanges")
}

/// Without the entries of fields that begin so, nested ones too.
fn without(old: &Metadata, prefix: &str) -> Result<Metadata> {
    let schema = StructType::parse(&old.schema_string)?;
    Ok(Metadata {
        schema_string: fields(&schema, prefix)?.to_json(),
        ..old.clone()
    })
}

fn fields(schema: &StructType, prefix: &str) -> Result<StructType> {
    let one = |field: &StructField| -> Result<StructField> {
        let mut field = field.clone();
        field.metadata.retain(|key, _| !key.starts_with(prefix));
        field.data_type = within(&field.data_type, prefix)?;
        Ok(field)
    };
    StructType::new(schema.fields().iter().map(one).collect::<Result<_>>()?)
}

fn within(data_type: &DataType, prefix: &str) -> Result<DataType> {
    Ok(match data_type {
        DataType::Primitive(primitive) => DataType::Primitive(primitive.clone()),
        DataType::Array(array) => DataType::Array(Box::new(ArrayType {
            element_type: within(&array.element_type, prefix)?,
            contains_null: array.contains_null,
        })),
        DataType::Map(map) => DataType::Map(Box::new(MapType {
            key_type: within(&map.key_type, prefix)?,
            value_type: within(&map.value_type, prefix)?,
            value_contains_null: map.value_contains_null,
        })),
        DataType::Struct(parts) => DataType::Struct(Box::new(fields(parts, prefix)?)),
    })
}
