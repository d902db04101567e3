//! Derives new metadata from old: sets and removes properties, assigns column mapping.
//!
//! Protocol: "Column Mapping", "Row Tracking", "Table Properties".

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::spec::json::clipped;
use crate::spec::properties::MANIFESTS;
use crate::spec::property_rules::{checked_properties, is_protocol_key, is_same_property};
use crate::spec::schema::{StructField, StructType};
use crate::spec::{Metadata, Protocol};
use crate::write::is_identity;
use crate::write::random::new_id;

use self::columns::{STATISTICS, check_statistics_columns};
use self::constraints::{check_constraints, refuse_constraints};

pub mod clone;
pub mod clustering;
pub mod column_changes;
pub mod columns;
pub mod constraints;
pub mod drop_feature;
pub mod replace;
pub mod replace_columns;
pub mod widening;

/// The property for the description of a table in SQL.
const COMMENT: &str = "comment";
const MAPPING_MODE: &str = "delta.columnMapping.mode";
pub(crate) const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";
const ID: &str = "delta.columnMapping.id";
const PHYSICAL: &str = "delta.columnMapping.physicalName";

/// The prefix of the keys of column mapping, in fields and properties.
const COLUMN_MAPPING: &str = "delta.columnMapping.";

/// The id of a table in Unity Catalog. No other table has it.
pub(crate) const CATALOG_TABLE_ID: &str = "io.unitycatalog.tableId";

/// Properties for the names of the materialized row tracking columns, and the prefixes of these names.
pub(crate) const ROW_TRACKING_COLUMNS: [(&str, &str); 2] = [
    (
        "delta.rowTracking.materializedRowIdColumnName",
        "_row-id-col-",
    ),
    (
        "delta.rowTracking.materializedRowCommitVersionColumnName",
        "_row-commit-version-col-",
    ),
];

/// Returns the metadata of a new table.
///
/// # Errors
///
/// Invalid argument: `alter.constraint`, `transaction.partition_columns`, and the properties.
pub fn new_metadata(
    schema: &StructType,
    partition_columns: Vec<String>,
    properties: &BTreeMap<String, String>,
    created_time: i64,
) -> Result<Metadata> {
    check_constraints(schema, properties)?;
    let metadata = metadata_of(schema, partition_columns, properties, created_time)?;
    with_column_mapping(metadata, true)
}

/// Returns the metadata of a table whose files exist already: they use the logical column names.
///
/// # Errors
///
/// Invalid argument: `alter.constraint`, `transaction.partition_columns`, and the properties.
pub fn adopted_metadata(
    schema: &StructType,
    partition_columns: Vec<String>,
    properties: &BTreeMap<String, String>,
    created_time: i64,
) -> Result<Metadata> {
    refuse_constraints(properties)?;
    let metadata = metadata_of(schema, partition_columns, properties, created_time)?;
    with_column_mapping(metadata, false)
}

fn metadata_of(
    schema: &StructType,
    partition_columns: Vec<String>,
    properties: &BTreeMap<String, String>,
    created_time: i64,
) -> Result<Metadata> {
    let metadata = Metadata {
        id: new_id(),
        schema_string: schema.to_json(),
        partition_columns: as_spelled(schema, partition_columns),
        created_time: Some(created_time),
        configuration: checked_properties(properties)?,
        ..Metadata::default()
    };
    check_partitioning(schema, &metadata.partition_columns)?;
    check_statistics_columns(&metadata)?;
    check_manifests(&metadata)?;
    Ok(metadata)
}

/// Checks that no partition column of a new table is an identity column.
fn check_partitioning(schema: &StructType, names: &[String]) -> Result<()> {
    let mut columns = names.iter().filter_map(|name| schema.field(name));
    let Some(column) = columns.find(|column| is_identity(column)) else {
        return Ok(());
    };
    let message = format!(
        "the partition column {} is an identity column: each row would be in a partition of its own",
        clipped(&column.name)
    );
    Err(Error::invalid("transaction.partition_columns", message))
}

/// Returns column names as the schema spells them. Unknown names are kept.
fn as_spelled(schema: &StructType, names: Vec<String>) -> Vec<String> {
    let spelled = |name: String| match schema.field(&name) {
        Some(field) => field.name.clone(),
        None => name,
    };
    names.into_iter().map(spelled).collect()
}

/// Returns the first actions in the log of a new table: its metadata, and the protocol that it requires.
///
/// # Errors
///
/// Unsupported: `protocol.writer_features`.
pub fn first_actions(metadata: Metadata) -> Result<(Metadata, Protocol)> {
    let protocol = Protocol::for_new_table(&metadata)?;
    protocol.check_writable()?;
    let metadata = with_required_properties(without_protocol_keys(metadata), &protocol);
    Ok((metadata, protocol))
}

/// Removes the properties that select the protocol of a new table; they are never written to the log.
pub(super) fn without_protocol_keys(mut metadata: Metadata) -> Metadata {
    metadata
        .configuration
        .retain(|key, _| !is_protocol_key(key));
    metadata
}

/// Returns the old metadata with these properties set; `comment` is the description, as in SQL.
///
/// # Errors
///
/// Invalid argument: `alter.constraint`, `alter.column_mapping` for a change of mode that would require
/// rewriting files.
pub fn set_properties(old: &Metadata, properties: &BTreeMap<String, String>) -> Result<Metadata> {
    refuse_constraints(properties)?;
    let mut new = old.clone();
    let properties = checked_properties(properties)?;
    let sets_statistics = properties.contains_key(STATISTICS);
    for (key, value) in properties {
        if key == COMMENT {
            new.description = Some(value);
            continue;
        }
        remove_properties(&mut new, &[&key]);
        new.configuration.insert(key, value);
    }
    if sets_statistics {
        check_statistics_columns(&new)?;
    }
    check_manifests(&new)?;
    check_mode(old, &new)?;
    if mode(old) == "none" && mode(&new) != "none" {
        // what other schemas left behind: the files have the logical names
        new = without_field_metadata(&new, COLUMN_MAPPING)?;
    }
    with_column_mapping(new, false)
}

/// Removes the field metadata whose keys have this prefix, including nested fields.
fn without_field_metadata(old: &Metadata, prefix: &str) -> Result<Metadata> {
    let mut schema = StructType::parse(&old.schema_string)?;
    schema.change_fields(&mut |field| field.metadata.retain(|key, _| !key.starts_with(prefix)));
    Ok(Metadata {
        schema_string: schema.to_json(),
        ..old.clone()
    })
}

/// Checks that a table whose symlink manifests plain Parquet readers use gets no deletion vectors.
fn check_manifests(metadata: &Metadata) -> Result<()> {
    const VECTORS: &str = "delta.enableDeletionVectors";
    if metadata.is_on(MANIFESTS) && metadata.is_on(VECTORS) {
        let message = format!(
            "{MANIFESTS} and {VECTORS} cannot both be true: the readers of manifests ignore deletion vectors"
        );
        return Err(Error::invalid("properties.value", message));
    }
    Ok(())
}

/// Returns the old metadata without these properties; with `if_exists`, properties that are not set are
/// ignored.
///
/// # Errors
///
/// Invalid argument: `alter.property_absent`, `alter.column_mapping`.
pub fn unset_properties(old: &Metadata, keys: &[String], if_exists: bool) -> Result<Metadata> {
    let mut new = old.clone();
    for key in keys {
        let before = new.configuration.len();
        remove_properties(&mut new, &[key]);
        let had_comment = key == COMMENT && new.description.take().is_some();
        if before == new.configuration.len() && !had_comment && !if_exists {
            let message = format!("the property {} is not set", clipped(key));
            return Err(Error::invalid("alter.property_absent", message));
        }
    }
    check_mode(old, &new)?;
    Ok(new)
}

/// Removes properties; only those of Delta Lake ignore case.
pub(crate) fn remove_properties(metadata: &mut Metadata, keys: &[&str]) {
    let is_removed = |key: &str| keys.iter().any(|removed| is_same_property(removed, key));
    metadata.configuration.retain(|key, _| !is_removed(key));
}

fn mode(metadata: &Metadata) -> String {
    metadata
        .property(MAPPING_MODE)
        .unwrap_or("none")
        .to_ascii_lowercase()
}

fn check_mode(old: &Metadata, new: &Metadata) -> Result<()> {
    let (before, after) = (mode(old), mode(new));
    if before == after || (before == "none" && after == "name") {
        return Ok(());
    }
    let message = format!(
        "{MAPPING_MODE} of an existing table can only change from none to name, not from {before} to \
         {after}; to remove column mapping, drop the feature columnMapping, which rewrites all files"
    );
    Err(Error::invalid("alter.column_mapping", message))
}

/// Returns the old metadata with another schema, which contains all its columns and nested fields, and
/// possibly more.
///
/// # Errors
///
/// Invalid argument: `schema.depth`.
pub fn with_schema(old: &Metadata, schema: &StructType) -> Result<Metadata> {
    let new = Metadata {
        schema_string: schema.to_json(),
        ..old.clone()
    };
    StructType::parse(&new.schema_string).map_err(Error::of_argument)?;
    with_column_mapping(new, true)
}

/// Assigns column ids and physical names to columns that lack them, if column mapping is enabled. With
/// `fresh`, the columns are new and get generated physical names.
fn with_column_mapping(mut metadata: Metadata, fresh: bool) -> Result<Metadata> {
    if mode(&metadata) == "none" {
        return Ok(metadata);
    }
    let mut schema = StructType::parse(&metadata.schema_string)?;
    let before = greatest_id(&metadata, &schema);
    let (mut last, mut has_new) = (before, false);
    schema.change_fields(&mut |field| {
        if field.column_id().is_none() {
            last = last.saturating_add(1);
            has_new = true;
            field.metadata.insert(ID.to_owned(), last.into());
        }
        if field.physical_name().is_none() {
            let name = if fresh {
                format!("col-{}", new_id())
            } else {
                field.name.clone()
            };
            field.metadata.insert(PHYSICAL.to_owned(), name.into());
        }
    });
    if has_new && last > i64::from(i32::MAX) {
        let message = format!(
            "a new column needs an id above {before}, the greatest of the table, and Parquet has none \
             above {}",
            i32::MAX
        );
        return Err(Error::corrupt("schema.column_mapping", message));
    }
    metadata.schema_string = schema.to_json();
    metadata
        .configuration
        .insert(MAX_COLUMN_ID.to_owned(), last.to_string());
    Ok(metadata)
}

/// Returns the greatest column id ever assigned; 0 if there is none.
fn greatest_id(metadata: &Metadata, schema: &StructType) -> i64 {
    let recorded = metadata
        .property(MAX_COLUMN_ID)
        .and_then(|text| text.parse::<i64>().ok());
    let used = schema.all_fields().filter_map(StructField::column_id);
    used.chain(recorded).max().unwrap_or(0).max(0)
}

/// Adds the properties that features require: names of the materialized row tracking columns, and in-commit
/// timestamps if a catalog manages commits.
pub(super) fn with_required_properties(mut metadata: Metadata, protocol: &Protocol) -> Metadata {
    if protocol.is_supported("rowTracking") {
        for (key, prefix) in ROW_TRACKING_COLUMNS {
            let name = || format!("{prefix}{}", new_id());
            metadata
                .configuration
                .entry(key.to_owned())
                .or_insert_with(name);
        }
    }
    let timestamps = "delta.enableInCommitTimestamps";
    if protocol.is_catalog_managed() && metadata.property(timestamps).is_none() {
        metadata
            .configuration
            .insert(timestamps.to_owned(), "true".to_owned());
    }
    metadata
}
