//! Metadata of a table that leaves a feature behind.
//!
//! Protocol: "Column Mapping", "Type Widening".

use std::collections::BTreeSet;

use super::{MAX_ID, MODE};
use crate::error::Result;
use crate::spec::Metadata;
use crate::spec::schema::StructType;

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
    let mut schema = StructType::parse(&old.schema_string)?;
    schema.change_fields(&mut |field| field.metadata.retain(|key, _| !key.starts_with(prefix)));
    Ok(Metadata {
        schema_string: schema.to_json(),
        ..old.clone()
    })
}
