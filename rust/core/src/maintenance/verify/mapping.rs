//! Column mapping: each column has a unique physical name and a unique id.
//!
//! Protocol: "Column Mapping".

use std::collections::HashSet;

use crate::error::Result;
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::schema::{StructField, StructType};
use crate::spec::{Metadata, Protocol};

/// Returns the faults of a schema's column mapping; none without column mapping.
pub(super) fn faults(
    schema: &StructType,
    metadata: &Metadata,
    protocol: &Protocol,
) -> Result<Vec<String>> {
    let (properties, _) = TableProperties::new(metadata, protocol)?;
    let mut messages = Vec::new();
    if properties.column_mapping_mode == ColumnMappingMode::None {
        return Ok(messages);
    }
    let mut numbers = HashSet::new();
    for part in schema.all_structs() {
        let mut names = HashSet::new();
        for field in part.fields() {
            check_column(field, &mut names, &mut numbers, &mut messages);
        }
    }
    Ok(messages)
}

fn check_column<'a>(
    field: &'a StructField,
    names: &mut HashSet<&'a str>,
    numbers: &mut HashSet<i64>,
    faults: &mut Vec<String>,
) {
    let name = &field.name;
    match field.physical_name() {
        None => faults.push(format!("the column {name:?} has no physical name")),
        Some(physical) if !names.insert(physical) => faults.push(format!(
            "the column {name:?} has the physical name {physical:?} of another one beside it"
        )),
        Some(_) => {}
    }
    match field.column_id() {
        None => faults.push(format!("the column {name:?} has no id")),
        Some(number) if !numbers.insert(number) => faults.push(format!(
            "the column {name:?} has the id {number} of another one"
        )),
        Some(_) => {}
    }
}
