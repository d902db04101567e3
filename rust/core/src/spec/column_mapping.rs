//! Column mapping: each column has a physical name that is unique among its siblings, and an id that is
//! unique in the table.
//!
//! Protocol: "Column Mapping".

use std::collections::HashSet;

use super::properties::ColumnMappingMode;
use super::schema::{StructField, StructType};

/// A fault of a schema's column mapping.
pub(crate) struct Fault {
    pub(crate) message: String,
    /// True if two columns have the same name in files, or the same id.
    pub(crate) is_collision: bool,
}

/// Returns the faults of a schema's column mapping; none without column mapping.
pub(crate) fn faults(schema: &StructType, mode: ColumnMappingMode) -> Vec<Fault> {
    let mut faults = Vec::new();
    if mode == ColumnMappingMode::None {
        return faults;
    }
    let mut ids = HashSet::new();
    for fields in schema.all_structs().map(StructType::fields) {
        let mut physical_names = HashSet::new();
        for field in fields {
            check_column(field, &mut physical_names, &mut ids, &mut faults);
        }
    }
    faults
}

fn check_column<'a>(
    field: &'a StructField,
    physical_names: &mut HashSet<&'a str>,
    ids: &mut HashSet<i64>,
    faults: &mut Vec<Fault>,
) {
    let name = &field.name;
    let mut report = |message: String, is_collision| {
        faults.push(Fault {
            message,
            is_collision,
        });
    };
    match field.physical_name() {
        None => report(format!("the column {name:?} has no physical name"), false),
        Some(physical) if !physical_names.insert(physical) => report(
            format!(
                "the column {name:?} has the same physical name as another one beside it: {physical:?}"
            ),
            true,
        ),
        Some(_) => {}
    }
    match field.column_id() {
        None => report(format!("the column {name:?} has no id"), false),
        Some(id) if !ids.insert(id) => report(
            format!("the column {name:?} has the same id as another column: {id}"),
            true,
        ),
        Some(_) => {}
    }
}
