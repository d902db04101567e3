//! The leaf columns of a data file's Arrow schema, in the order of the Parquet columns.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::SchemaDescriptor;

/// Returns the types of all leaves, by the index of the Parquet column.
pub(super) fn leaf_types(schema: &Schema) -> Vec<DataType> {
    let mut types = Vec::new();
    let _unchanged = with_leaf_types(schema, &mut |_, data_type| {
        types.push(data_type.clone());
        None
    });
    types
}

/// Returns the schema with the types of some leaves replaced. `new_type` gets a leaf's index and type; `None`
/// keeps the type.
pub(crate) fn with_leaf_types(
    schema: &Schema,
    new_type: &mut dyn FnMut(usize, &DataType) -> Option<DataType>,
) -> Schema {
    let mut leaf = 0;
    let fields: Fields = schema
        .fields()
        .iter()
        .map(|field| retyped(field, &mut leaf, new_type))
        .collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Returns the schema with 96-bit timestamps in microseconds, Delta's unit, with this time zone; `None` if there are
/// none. Arrow's default, nanoseconds, ends in the year 2262.
pub(crate) fn int96_in_micros(
    schema: &Schema,
    parquet: &SchemaDescriptor,
    zone: Option<&str>,
) -> Option<Schema> {
    let is_int96 = |leaf: usize| {
        let leaf = parquet.columns().get(leaf);
        leaf.is_some_and(|leaf| leaf.physical_type() == PhysicalType::INT96)
    };
    if !(0..parquet.num_columns()).any(is_int96) {
        return None;
    }
    let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    let new_type = &mut |leaf, _: &_| is_int96(leaf).then(|| micros.clone());
    Some(with_leaf_types(schema, new_type))
}

fn retyped(
    field: &FieldRef,
    leaf: &mut usize,
    new_type: &mut dyn FnMut(usize, &DataType) -> Option<DataType>,
) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| retyped(field, leaf, new_type));
            DataType::Struct(fields.collect())
        }
        DataType::List(element) => DataType::List(retyped(element, leaf, new_type)),
        DataType::LargeList(element) => DataType::LargeList(retyped(element, leaf, new_type)),
        DataType::FixedSizeList(element, size) => {
            DataType::FixedSizeList(retyped(element, leaf, new_type), *size)
        }
        DataType::Map(entries, sorted) => DataType::Map(retyped(entries, leaf, new_type), *sorted),
        plain => {
            *leaf += 1;
            new_type(*leaf - 1, plain).unwrap_or_else(|| plain.clone())
        }
    };
    Field::clone(field).with_data_type(data_type).into()
}
