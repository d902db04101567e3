//! The columns by which a table is clustered: a domain of the system.
//!
//! Protocol: "Clustered Table".

use serde_json::json;

use super::{DataType, StructField, StructType, position};
use crate::error::{Error, Result};
use crate::spec::actions::Metadata;
use crate::spec::json::clipped;
use crate::spec::schema::PrimitiveType;

/// The domain.
pub const CLUSTERING: &str = "delta.clustering";

/// Its configuration where rows are clustered no more.
pub const NOT_CLUSTERED: &str = r#"{"clusteringColumns":[]}"#;

/// The reference implementation takes no more columns than that.
const MOST_COLUMNS: usize = 4;
const FIRST_COLUMNS: i64 = 32;

/// The configuration of the domain that names these columns; parts of structs by dots.
///
/// # Errors
///
/// Invalid argument: `alter.clustering` for a partitioned table, too many columns, a type that has no
/// order, and a column without statistics; `alter.column` for one that is not there.
pub fn clustering(metadata: &Metadata, columns: &[String]) -> Result<String> {
    let refused = |message: String| Err(Error::invalid("alter.clustering", message));
    if !metadata.partition_columns.is_empty() {
        return refused("a partitioned table cannot be clustered".to_owned());
    }
    if columns.len() > MOST_COLUMNS {
        return refused(format!(
            "a table is clustered by at most {MOST_COLUMNS} columns, and not by {}",
            columns.len()
        ));
    }
    let schema = StructType::parse(&metadata.schema_string)?;
    let counted = leaves(&schema);
    let mut found: Vec<Vec<String>> = Vec::with_capacity(columns.len());
    for column in columns {
        let (physical, logical, data_type) = leaf(&schema, column)?;
        if !has_order(data_type) {
            return refused(format!(
                "the table cannot be clustered by {}: its type has no minimum and maximum",
                clipped(column)
            ));
        }
        if !has_statistics(metadata, &counted, &logical) {
            return refused(format!(
                "the table keeps no statistics on {}: name it in delta.dataSkippingStatsColumns, or raise \
                 delta.dataSkippingNumIndexedCols",
                clipped(column)
            ));
        }
        if found.contains(&physical) {
            return refused(format!("the column {} is named twice", clipped(column)));
        }
        found.push(physical);
    }
    Ok(json!({"clusteringColumns": found}).to_string())
}

/// The names of a column's parts in files and in the schema, and its type.
fn leaf<'a>(schema: &'a StructType, column: &str) -> Result<(Vec<String>, String, &'a DataType)> {
    let (mut physical, mut logical) = (Vec::new(), Vec::new());
    let mut open = schema;
    // a name may hold dots itself
    let mut rest = column;
    loop {
        let (name, after) = match rest.split_once('.') {
            Some((name, after)) if open.field(rest).is_none() => (name, Some(after)),
            _ => (rest, None),
        };
        let at = position(open, name)?;
        let Some(field) = open.fields().get(at) else {
            return Err(Error::invalid("alter.column", "no column is named"));
        };
        physical.push(name_in_files(field).to_owned());
        logical.push(field.name.clone());
        match (after, &field.data_type) {
            (None, data_type) => return Ok((physical, logical.join("."), data_type)),
            (Some(after), DataType::Struct(parts)) => (open, rest) = (parts, after),
            (Some(after), _) => {
                let message = format!("{} has no part {}", clipped(name), clipped(after));
                return Err(Error::invalid("alter.column", message));
            }
        }
    }
}

fn name_in_files(field: &StructField) -> &str {
    field.physical_name().unwrap_or(&field.name)
}

fn has_order(data_type: &DataType) -> bool {
    use PrimitiveType as P;
    matches!(
        data_type,
        DataType::Primitive(
            P::String
                | P::Long
                | P::Integer
                | P::Short
                | P::Byte
                | P::Float
                | P::Double
                | P::Decimal { .. }
                | P::Date
                | P::Timestamp
                | P::TimestampNtz
        )
    )
}

/// Dotted names of the columns without parts, in order.
fn leaves(schema: &StructType) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<(String, &StructField)> = Vec::new();
    for field in schema.fields().iter().rev() {
        open.push((field.name.clone(), field));
    }
    while let Some((name, field)) = open.pop() {
        match &field.data_type {
            DataType::Struct(parts) => {
                for part in parts.fields().iter().rev() {
                    open.push((format!("{name}.{}", part.name), part));
                }
            }
            _ => found.push(name),
        }
    }
    found
}

fn has_statistics(metadata: &Metadata, leaves: &[String], column: &str) -> bool {
    if let Some(names) = metadata.property("delta.dataSkippingStatsColumns") {
        return names.split(',').any(|name| {
            let name = name.trim().replace('`', "").to_lowercase();
            let column = column.to_lowercase();
            column == name || column.starts_with(&format!("{name}."))
        });
    }
    let first = metadata
        .property("delta.dataSkippingNumIndexedCols")
        .and_then(|text| text.trim().parse::<i64>().ok())
        .unwrap_or(FIRST_COLUMNS);
    let at = leaves.iter().position(|leaf| leaf == column);
    first < 0 || at.is_some_and(|at| i64::try_from(at).is_ok_and(|at| at < first))
}
