//! The metadata of a clone.
//!
//! Columns, partitioning and properties are those of the source, except properties that refer to its log or to
//! its catalog. The table id is new. A target that exists keeps its ids, its name, its description, the names of
//! the columns of materialized row ids and row commit versions, and the high-water marks of identity columns.
//!
//! Not part of the protocol; rules as in delta-spark.

use std::collections::BTreeMap;

use super::{CATALOG_TABLE_ID, ROW_TRACKING_COLUMNS, remove_properties, set_properties};
use crate::error::Result;
use crate::spec::Metadata;
use crate::write::keep_high_water_marks;
use crate::write::random::new_id;

/// Properties that refer to the source's own log.
const LOG_PROPERTIES: [&str; 3] = [
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.requireCheckpointProtectionBeforeVersion",
];

/// Returns the metadata of the target, whose current metadata, if it exists, is `existing`, with additional
/// properties.
pub fn cloned_metadata(
    source: &Metadata,
    existing: Option<&Metadata>,
    properties: &BTreeMap<String, String>,
) -> Result<Metadata> {
    let mut new = source.clone();
    let [row_id, row_commit_version] = ROW_TRACKING_COLUMNS.map(|(key, _)| key);
    let own = [row_id, row_commit_version, CATALOG_TABLE_ID];
    remove_properties(&mut new, &[&LOG_PROPERTIES[..], &own].concat());
    for key in own {
        if let Some(value) = existing.and_then(|existing| existing.property(key)) {
            new.configuration.insert(key.to_owned(), value.to_owned());
        }
    }
    new.id = existing.map_or_else(new_id, |existing| existing.id.clone());
    new.name = existing.and_then(|existing| existing.name.clone());
    new.description = existing.and_then(|existing| existing.description.clone());
    let new = set_properties(&new, properties)?;
    match existing {
        Some(existing) => keep_high_water_marks(new, existing),
        None => Ok(new),
    }
}
