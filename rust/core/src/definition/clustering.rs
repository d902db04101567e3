//! The clustering columns of a table, stored in a system domain.
//!
//! Protocol: "Clustered Table".

use serde_json::{Value, json};

use super::columns::{no_such_part, position};
use crate::error::{Error, Result};
use crate::spec::Metadata;
use crate::spec::column_path::{column_path_text, is_within, named_path, physical_path};
use crate::spec::json::clipped;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};
use crate::write::has_statistics;

/// The name of the domain.
pub const CLUSTERING: &str = "delta.clustering";

/// The configuration of the domain when clustering is disabled.
pub const NOT_CLUSTERED: &str = r#"{"clusteringColumns":[]}"#;

/// delta-spark allows at most this many columns.
const MAX_COLUMNS: usize = 4;

/// Returns the configuration of the domain for these columns; struct fields are separated by dots.
///
/// # Errors
///
/// Invalid argument: `alter.clustering` for a partitioned table, too many columns, a type without an order,
/// a column without statistics, and a column named twice; `alter.column` for a column that does not exist.
pub fn clustering(metadata: &Metadata, columns: &[String]) -> Result<String> {
    let refused = |message: String| Err(Error::invalid("alter.clustering", message));
    if !metadata.partition_columns.is_empty() {
        return refused("a partitioned table cannot be clustered".to_owned());
    }
    if columns.len() > MAX_COLUMNS {
        return refused(format!(
            "a table is clustered by at most {MAX_COLUMNS} columns, not by {}",
            columns.len()
        ));
    }
    let schema = StructType::parse(&metadata.schema_string)?;
    let mut columns_to_cluster: Vec<Vec<String>> = Vec::with_capacity(columns.len());
    for column in columns {
        let (path, data_type) = leaf(&schema, column)?;
        if !data_type.has_min_max() {
            return refused(format!(
                "the table cannot be clustered by {}: its type has no minimum and maximum",
                clipped(column)
            ));
        }
        if !has_statistics(metadata, &schema, &path)? {
            return refused(format!(
                "the table keeps no statistics on {}: name it in delta.dataSkippingStatsColumns, or raise \
                 delta.dataSkippingNumIndexedCols",
                clipped(column)
            ));
        }
        let physical = physical_path(&schema, &path);
        if columns_to_cluster.contains(&physical) {
            return refused(format!("the column {} is named twice", clipped(column)));
        }
        columns_to_cluster.push(physical);
    }
    Ok(json!({"clusteringColumns": columns_to_cluster}).to_string())
}

/// Returns the columns to order rows by, as the schema spells them.
///
/// # Errors
///
/// Invalid argument: `optimize.z_order` for a partition column, a type without an order, a column without
/// statistics, and a column named twice; `alter.column` for a column that does not exist.
pub fn ordered_columns(metadata: &Metadata, columns: &[String]) -> Result<Vec<Vec<String>>> {
    let refused = |message: String| Err(Error::invalid("optimize.z_order", message));
    let schema = StructType::parse(&metadata.schema_string)?;
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(columns.len());
    for column in columns {
        let (path, data_type) = leaf(&schema, column)?;
        let name = clipped(column);
        if matches!(&*path, [name] if metadata.partition_columns.contains(name)) {
            return refused(format!(
                "{name} is a partition column, so all rows of a file have the same value: leave it out"
            ));
        }
        let boolean = *data_type == DataType::Primitive(PrimitiveType::Boolean);
        if !data_type.has_min_max() && !boolean {
            return refused(format!(
                "rows cannot be ordered by {name}: its type has no order"
            ));
        }
        if !has_statistics(metadata, &schema, &path)? {
            return refused(format!(
                "the table keeps no statistics on {name}, so no file would be skipped by it: name it in \
                 delta.dataSkippingStatsColumns, or raise delta.dataSkippingNumIndexedCols"
            ));
        }
        if paths.contains(&path) {
            return refused(format!("the column {name} is named twice"));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Returns the columns in a configuration, as the schema spells them.
///
/// # Errors
///
/// Corrupt: `optimize.clustering` if the configuration is malformed, or names a column that the schema lacks.
pub fn clustering_columns(schema: &StructType, configuration: &str) -> Result<Vec<Vec<String>>> {
    let invalid = || {
        let message = format!(
            "the configuration of the domain {CLUSTERING} names no columns of the table: {}",
            clipped(configuration)
        );
        Error::corrupt("optimize.clustering", message)
    };
    let value: Value = serde_json::from_str(configuration).map_err(|_| invalid())?;
    let columns = value.get("clusteringColumns").and_then(Value::as_array);
    let mut paths = Vec::new();
    for column in columns.ok_or_else(invalid)? {
        // names are plain strings in the protocol's example, and lists of strings in practice
        let names: Vec<String> = match column {
            Value::String(name) => vec![name.clone()],
            other => serde_json::from_value(other.clone()).map_err(|_| invalid())?,
        };
        let mut parent = Some(schema);
        let mut path = Vec::with_capacity(names.len());
        for name in &names {
            let mut fields = parent.ok_or_else(invalid)?.fields().iter();
            let has_name =
                |field: &&StructField| field.physical_name().unwrap_or(&field.name) == name;
            let field = fields.find(has_name).ok_or_else(invalid)?;
            path.push(field.name.clone());
            parent = match &field.data_type {
                DataType::Struct(parts) => Some(parts),
                _ => None,
            };
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Returns `true` if the schema has the columns of a configuration, with types to cluster by.
pub fn can_cluster(schema: &StructType, configuration: &str) -> bool {
    let has_order = |path: &Vec<String>| {
        leaf(schema, &column_path_text(path)).is_ok_and(|(_, data_type)| data_type.has_min_max())
    };
    clustering_columns(schema, configuration).is_ok_and(|paths| paths.iter().all(has_order))
}

/// Refuses to drop a clustering column.
///
/// # Errors
///
/// Invalid argument: `alter.clustering`.
pub fn refuse_if_clustered_by(
    metadata: &Metadata,
    configuration: &str,
    path: &[String],
) -> Result<()> {
    let schema = StructType::parse(&metadata.schema_string)?;
    let columns = clustering_columns(&schema, configuration).unwrap_or_default();
    if columns.iter().any(|column| is_within(column, path)) {
        let column = column_path_text(path);
        let message = format!(
            "the column {} cannot be dropped: the table is clustered by it; choose other columns with cluster_by first",
            clipped(&column)
        );
        return Err(Error::invalid("alter.clustering", message));
    }
    Ok(())
}

/// Returns the path of a column, as the schema spells it, and its type.
fn leaf<'a>(schema: &'a StructType, column: &str) -> Result<(Vec<String>, &'a DataType)> {
    let mut path: Vec<String> = Vec::new();
    let mut current: Option<&DataType> = None;
    for name in named_path(schema, column) {
        let fields = match current {
            None => schema,
            Some(DataType::Struct(parts)) => parts,
            Some(_) => return Err(no_such_part(&name)),
        };
        if let Some(field) = fields.fields().get(position(fields, &name)?) {
            path.push(field.name.clone());
            current = Some(&field.data_type);
        }
    }
    match current {
        Some(data_type) => Ok((path, data_type)),
        None => Err(Error::invalid("alter.column", "no column is named")),
    }
}
