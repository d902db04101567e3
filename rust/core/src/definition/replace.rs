//! Metadata that replaces a table's, by CREATE OR REPLACE or by an overwrite with other columns.
//!
//! Both keep column ids and physical names of unchanged columns. An overwrite replaces only schema and
//! partitioning. CREATE OR REPLACE replaces id and properties, too, except for the names of the materialized
//! row tracking columns; deletion vectors and row tracking stay enabled unless the new properties disable
//! them. A table in a catalog keeps its id there; if the catalog manages its commits, also its id in the log and
//! the layout of its checkpoints.
//!
//! Not part of the protocol; rules as in delta-spark.

use std::collections::BTreeMap;

use super::columns::check_statistics_columns;
use super::constraints::check_constraints;
use super::{
    CATALOG_TABLE_ID, ID, MAX_COLUMN_ID, PHYSICAL, ROW_TRACKING_COLUMNS, as_spelled, greatest_id,
    metadata_of, mode, with_column_mapping,
};
use crate::error::Result;
use crate::spec::Metadata;
use crate::spec::schema::{DataType, StructField, StructType, same_name};

/// Properties that stay enabled unless the new properties set them.
const KEPT_PROPERTIES: [&str; 2] = ["delta.enableDeletionVectors", "delta.enableRowTracking"];

/// Returns the metadata of a table that replaces one with the metadata `old`, whose commits a catalog manages
/// or not.
pub fn replacement_metadata(
    old: &Metadata,
    is_managed: bool,
    schema: &StructType,
    partition_columns: Vec<String>,
    properties: &BTreeMap<String, String>,
    created_time: i64,
) -> Result<Metadata> {
    check_constraints(schema, properties)?;
    let mut new = metadata_of(schema, partition_columns, properties, created_time)?;
    for key in KEPT_PROPERTIES {
        if let Some(value) = old.property(key)
            && old.is_on(key)
            && new.property(key).is_none()
        {
            new.configuration.insert(key.to_owned(), value.to_owned());
        }
    }
    for (key, _) in ROW_TRACKING_COLUMNS {
        if let Some(name) = old.property(key) {
            new.configuration.insert(key.to_owned(), name.to_owned());
        }
    }
    let mut identity = vec![CATALOG_TABLE_ID];
    if is_managed {
        new.id.clone_from(&old.id);
        identity.push("delta.checkpointPolicy");
    }
    for key in identity {
        if let Some(value) = old.property(key) {
            let kept = new.configuration.entry(key.to_owned());
            kept.or_insert_with(|| value.to_owned());
        }
    }
    if mode(&new) != "none" {
        keep_ids(&mut new, schema, old)?;
    }
    with_column_mapping(new, true)
}

/// Returns the metadata of a table whose rows, columns and partitioning are replaced; all else is kept.
pub fn overwritten_metadata(
    old: &Metadata,
    schema: &StructType,
    partition_columns: Vec<String>,
) -> Result<Metadata> {
    let mut new = Metadata {
        schema_string: schema.to_json(),
        partition_columns: as_spelled(schema, partition_columns),
        ..old.clone()
    };
    check_statistics_columns(&new)?;
    if mode(&new) != "none" {
        keep_ids(&mut new, schema, old)?;
    }
    with_column_mapping(new, true)
}

/// Keeps the column ids and physical names of unchanged columns. Ids are never reused: those of new columns
/// follow the greatest id ever assigned.
fn keep_ids(new: &mut Metadata, schema: &StructType, old: &Metadata) -> Result<()> {
    let known = StructType::parse(&old.schema_string)?;
    let last = greatest_id(old, &known);
    new.configuration
        .insert(MAX_COLUMN_ID.to_owned(), last.to_string());
    if mode(new) == mode(old) {
        new.schema_string = with_known_ids(schema, &known)?.to_json();
    }
    Ok(())
}

/// Returns the new fields; those of an unchanged type get their old column ids and physical names.
fn with_known_ids(new: &StructType, old: &StructType) -> Result<StructType> {
    let fields = new.fields().iter().map(|field| -> Result<StructField> {
        let Some(known) = old.field(&field.name) else {
            return Ok(field.clone());
        };
        let mut field = field.clone();
        if is_same_type(&field.data_type, &known.data_type) {
            for key in [ID, PHYSICAL] {
                if let Some(value) = known.metadata.get(key) {
                    field.metadata.insert(key.to_owned(), value.clone());
                }
            }
        }
        let mut parts = |new: &DataType, old: &DataType| match (new, old) {
            (DataType::Struct(new), DataType::Struct(old)) => {
                let fields = with_known_ids(new, old)?;
                Ok(Some(DataType::Struct(Box::new(fields))))
            }
            _ => Ok(None),
        };
        field.data_type = field.data_type.joined(&known.data_type, &mut parts)?;
        Ok(field)
    });
    StructType::new(fields.collect::<Result<_>>()?)
}

/// Returns `true` if two types hold the same values, ignoring nullability and metadata of their parts.
fn is_same_type(left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::Primitive(left), DataType::Primitive(right)) => left == right,
        (DataType::Array(left), DataType::Array(right)) => {
            is_same_type(&left.element_type, &right.element_type)
        }
        (DataType::Map(left), DataType::Map(right)) => {
            is_same_type(&left.key_type, &right.key_type)
                && is_same_type(&left.value_type, &right.value_type)
        }
        (DataType::Struct(left), DataType::Struct(right)) => {
            left.fields().len() == right.fields().len()
                && left
                    .fields()
                    .iter()
                    .zip(right.fields())
                    .all(|(left, right)| {
                        same_name(&left.name, &right.name)
                            && is_same_type(&left.data_type, &right.data_type)
                    })
        }
        _ => false,
    }
}
