//! The leaf columns of a Parquet schema, in Arrow types.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

/// Returns the types of all leaves, in order.
pub(super) fn leaf_types(schema: &Schema) -> Vec<DataType> {
    let mut types = Vec::new();
    let _unchanged = with_leaf_types(schema, &mut |_, data_type| {
        types.push(data_type.clone());
        None
    });
    types
}

/// Returns the schema with other leaf types; `other` returns a new type for a leaf's index and type, or
/// `None`.
pub(crate) fn with_leaf_types(
    schema: &Schema,
    other: &mut dyn FnMut(usize, &DataType) -> Option<DataType>,
) -> Schema {
    let mut leaf = 0;
    let fields: Fields = schema
        .fields()
        .iter()
        .map(|field| retyped(field, &mut leaf, other))
        .collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn retyped(
    field: &FieldRef,
    leaf: &mut usize,
    other: &mut dyn FnMut(usize, &DataType) -> Option<DataType>,
) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(parts) => {
            let parts = parts.iter().map(|part| retyped(part, leaf, other));
            DataType::Struct(parts.collect())
        }
        DataType::List(element) => DataType::List(retyped(element, leaf, other)),
        DataType::LargeList(element) => DataType::LargeList(retyped(element, leaf, other)),
        DataType::FixedSizeList(element, size) => {
            DataType::FixedSizeList(retyped(element, leaf, other), *size)
        }
        DataType::Map(entries, sorted) => DataType::Map(retyped(entries, leaf, other), *sorted),
        plain => {
            *leaf += 1;
            other(*leaf - 1, plain).unwrap_or_else(|| plain.clone())
        }
    };
    Field::clone(field).with_data_type(data_type).into()
}
