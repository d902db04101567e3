//! The metadata of a table after a feature is dropped.
//!
//! Protocol: "Column Mapping", "Clustered Table", "Type Widening".

use serde_json::json;

use super::clustering::clustering_columns;
use super::{
    COLUMN_MAPPING, MAPPING_MODE, MAX_COLUMN_ID, remove_properties, without_field_metadata,
};
use crate::error::Result;
use crate::spec::Metadata;
use crate::spec::schema::StructType;

/// Returns the old metadata without physical names and column ids, for files that use the logical
/// names.
pub fn without_column_mapping(old: &Metadata) -> Result<Metadata> {
    let mut new = without_field_metadata(old, COLUMN_MAPPING)?;
    remove_properties(&mut new, &[MAPPING_MODE, MAX_COLUMN_ID]);
    Ok(new)
}

/// Returns the configuration of the clustering domain with the names of `schema` instead of physical names.
pub fn clustering_by_logical_names(schema: &StructType, old: &str) -> Result<String> {
    let columns = clustering_columns(schema, old)?;
    Ok(json!({"clusteringColumns": columns}).to_string())
}

/// Returns the old metadata without the recorded type changes of its fields.
pub fn without_type_changes(old: &Metadata) -> Result<Metadata> {
    without_field_metadata(old, "delta.typeChanges")
}
