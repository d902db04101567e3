//! Column mapping: each column has a physical name that is unique among its siblings, and an id that is
//! unique in the table.
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
    let mut faults = Vec::new();
    if properties.column_mapping_mode == ColumnMappingMode::None {
        return Ok(faults);
    }
    let mut ids = HashSet::new();
    for fields in schema.all_structs().map(StructType::fields) {
        let mut physical_names = HashSet::new();
        for field in fields {
            check_column(field, &mut physical_names, &mut ids, &mut faults);
        }
    }
    Ok(faults)
}

fn check_column<'a>(
    field: &'a StructField,
    physical_names: &mut HashSet<&'a str>,
    ids: &mut HashSet<i64>,
    faults: &mut Vec<String>,
) {
    let name = &field.name;
    match field.physical_name() {
        None => faults.push(format!("the column {name:?} has no physical name")),
        Some(physical) if !physical_names.insert(physical) => faults.push(format!(
            "the column {name:?} has the same physical name as another one beside it: {physical:?}"
        )),
        Some(_) => {}
    }
    match field.column_id() {
        None => faults.push(format!("the column {name:?} has no id")),
        Some(id) if !ids.insert(id) => faults.push(format!(
            "the column {name:?} has the same id as another column: {id}"
        )),
        Some(_) => {}
    }
}
