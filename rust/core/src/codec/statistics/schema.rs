//! The statistics that a table's columns can have, as Arrow fields.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::MAX_SCHEMA_DEPTH;

/// Returns the type of parsed statistics for a table with these data columns (physical names, without
/// partition columns): `numRecords`, `minValues`, `maxValues`, `nullCount`, `tightBounds`, all nullable.
///
/// Bounds exist for integers, floating-point numbers, decimals, dates, timestamps and strings; null counts
/// for every leaf, where a list, map or variant is one leaf. Structs without leaves, and fields nested more
/// than 100 structs deep, are omitted.
pub fn stats_schema(data_fields: &Fields) -> Fields {
    let bounds = map_leaves(data_fields, 0, &|leaf| bound_type(leaf));
    let counts = map_leaves(data_fields, 0, &|_| Some(DataType::Int64));
    let mut fields = vec![Field::new("numRecords", DataType::Int64, true)];
    if !bounds.is_empty() {
        fields.push(Field::new(
            "minValues",
            DataType::Struct(bounds.clone()),
            true,
        ));
        fields.push(Field::new("maxValues", DataType::Struct(bounds), true));
    }
    if !counts.is_empty() {
        fields.push(Field::new("nullCount", DataType::Struct(counts), true));
    }
    fields.push(Field::new("tightBounds", DataType::Boolean, true));
    fields.into()
}

/// Returns the structs with the leaves that `leaf` returns; recurses along the type, to a bounded depth.
fn map_leaves(
    fields: &Fields,
    depth: usize,
    leaf: &dyn Fn(&DataType) -> Option<DataType>,
) -> Fields {
    let mapped = |field: &FieldRef| {
        let data_type = match field.data_type() {
            variant if is_variant(variant) => leaf(variant)?,
            DataType::Struct(_) if depth >= MAX_SCHEMA_DEPTH => return None,
            DataType::Struct(fields) => {
                let fields = map_leaves(fields, depth + 1, leaf);
                if fields.is_empty() {
                    return None;
                }
                DataType::Struct(fields)
            }
            other => leaf(other)?,
        };
        Some(Arc::new(Field::new(field.name(), data_type, true)))
    };
    fields.iter().filter_map(mapped).collect()
}

/// Returns `true` for a variant, which is a struct in Arrow, but has opaque bounds and a single null count.
fn is_variant(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else {
        return false;
    };
    let is_bytes = |field: &FieldRef| *field.data_type() == DataType::Binary;
    fields.len() == 2
        && fields.iter().all(is_bytes)
        && ["metadata", "value"]
            .iter()
            .all(|name| fields.find(name).is_some())
}

fn bound_type(leaf: &DataType) -> Option<DataType> {
    match leaf {
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Timestamp(..)
        | DataType::Utf8 => Some(leaf.clone()),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
