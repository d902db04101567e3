//! The table's schema with what rows have beyond it.
//!
//! Protocol: "Schema evolution" is left to writers; columns are appended, and may be null.

use arrow_schema::Schema;

use crate::error::Result;
use crate::spec::schema::{StructField, StructType};

/// The schema with columns, and parts of columns, that only the rows have; `None` where there are none.
///
/// # Errors
///
/// Invalid argument: `schema.arrow_type` for a type that tables do not have.
pub fn merged_schema(table: &StructType, given: &Schema) -> Result<Option<StructType>> {
    let given = StructType::from_arrow(given)?;
    let merged = merged(table, &given)?;
    Ok((merged != *table).then_some(merged))
}

/// The schema of the rows; columns that the table has in the same way stay as they are.
///
/// # Errors
///
/// Invalid argument: `schema.arrow_type` for a type that tables do not have.
pub fn replaced_schema(table: &StructType, given: &Schema) -> Result<StructType> {
    let given = StructType::from_arrow(given)?;
    let plain = |field: &StructField| field.data_type.arrow_type();
    let fields = given.fields().iter().map(|field| {
        let known = table.fields().iter().find(|known| known.name == field.name);
        match known.filter(|known| plain(known).equals_datatype(&plain(field))) {
            Some(known) => known.clone(),
            None => field.clone(),
        }
    });
    StructType::new(fields.collect())
}

/// The schema with columns, and parts of columns, that only another has; these may be null.
///
/// # Errors
///
/// Invalid argument: `schema.type` for a schema that no table can have.
pub fn merged(table: &StructType, given: &StructType) -> Result<StructType> {
    let mut fields = Vec::with_capacity(table.fields().len());
    for field in table.fields() {
        let mut field = field.clone();
        if let Some(other) = given.field(&field.name) {
            field.data_type = field.data_type.joined(&other.data_type, &mut merged)?;
        }
        fields.push(field);
    }
    for other in given.fields() {
        if table.field(&other.name).is_none() {
            fields.push(StructField {
                nullable: true,
                ..other.clone()
            });
        }
    }
    StructType::new(fields)
}
