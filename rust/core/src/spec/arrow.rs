//! The table's schema in Arrow: logical names, plain types, no views.
//!
//! Nullability follows the schema; values of field metadata that are not strings become JSON text.
//! Variants are structs of `metadata` and `value`, geometries are WKB in binary columns marked by metadata.
//!
//! Protocol: "Schema Serialization Format", "Primitive Types".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{
    ArrowError, DataType as ArrowType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef,
    TimeUnit,
};
use serde_json::Value;

mod split_batch;

pub(crate) use split_batch::{longest_row, plain_bytes, split_batch};

use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType, same_name};

impl StructType {
    /// Converts the schema to Arrow, with logical names.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.arrow_fields()))
    }

    /// Converts the fields to Arrow, with logical names.
    pub fn arrow_fields(&self) -> Fields {
        self.fields()
            .iter()
            .map(|field| Arc::new(field.arrow_field()))
            .collect()
    }
}

impl StructField {
    /// Converts the field to Arrow, with its logical name.
    pub fn arrow_field(&self) -> Field {
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let mut metadata: HashMap<_, _> = self
            .metadata
            .iter()
            .map(|(key, value)| (key.clone(), text(value)))
            .collect();
        let field = self.data_type.arrow_field(&self.name, self.nullable);
        metadata.extend(field.metadata().clone());
        field.with_metadata(metadata)
    }
}

impl DataType {
    fn arrow_field(&self, name: &str, nullable: bool) -> Field {
        let field = Field::new(name, self.arrow_type(), nullable);
        match self {
            Self::Primitive(primitive) => field.with_metadata(primitive.arrow_metadata()),
            _ => field,
        }
    }

    /// Converts the type to Arrow.
    pub fn arrow_type(&self) -> ArrowType {
        match self {
            Self::Primitive(primitive) => primitive.arrow_type(),
            Self::Array(array) => {
                let element = array
                    .element_type
                    .arrow_field("element", array.contains_null);
                ArrowType::List(Arc::new(element))
            }
            Self::Map(map) => {
                let key = map.key_type.arrow_field("key", false);
                let value = map.value_type.arrow_field("value", map.value_contains_null);
                let entries = ArrowType::Struct(Fields::from(vec![key, value]));
                ArrowType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            Self::Struct(parts) => ArrowType::Struct(parts.arrow_fields()),
        }
    }
}

/// Replaces parts of a type, at any depth, for which `replacement` returns a type.
pub(crate) fn replace_types(
    data_type: &ArrowType,
    replacement: &dyn Fn(&ArrowType) -> Option<ArrowType>,
) -> ArrowType {
    let field = |field: &FieldRef| {
        let data_type = replace_types(field.data_type(), replacement);
        Arc::new(Field::clone(field).with_data_type(data_type))
    };
    if let Some(replaced) = replacement(data_type) {
        return replaced;
    }
    match data_type {
        ArrowType::Struct(fields) => ArrowType::Struct(fields.iter().map(field).collect()),
        ArrowType::Map(entries, sorted) => ArrowType::Map(field(entries), *sorted),
        ArrowType::List(element) => ArrowType::List(field(element)),
        plain => plain.clone(),
    }
}

/// Casts values to another type. Values that do not fit are an error, not null.
pub(crate) fn strict_cast(
    values: &dyn Array,
    data_type: &ArrowType,
) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(values, data_type, &options)
}

/// Returns the index of a field: the one of exactly this name, else one that differs in upper and
/// lower case only.
pub(crate) fn field_index(fields: &Fields, name: &str) -> Option<usize> {
    let exact = fields.iter().position(|field| field.name() == name);
    exact.or_else(|| {
        fields
            .iter()
            .position(|field| same_name(field.name(), name))
    })
}

impl PrimitiveType {
    /// Converts the type to Arrow.
    pub fn arrow_type(&self) -> ArrowType {
        match self {
            Self::String => ArrowType::Utf8,
            Self::Long => ArrowType::Int64,
            Self::Integer => ArrowType::Int32,
            Self::Short => ArrowType::Int16,
            Self::Byte => ArrowType::Int8,
            Self::Float => ArrowType::Float32,
            Self::Double => ArrowType::Float64,
            // Arrow has no decimals without digits; the only value, zero, has one
            Self::Decimal { precision, scale } => {
                ArrowType::Decimal128((*precision).max(1), i8::try_from(*scale).unwrap_or(0))
            }
            Self::Boolean => ArrowType::Boolean,
            Self::Binary | Self::Geometry { .. } | Self::Geography { .. } => ArrowType::Binary,
            Self::Date => ArrowType::Date32,
            Self::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::TimestampNtz => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            Self::Variant => ArrowType::Struct(Fields::from(vec![
                Field::new("metadata", ArrowType::Binary, false),
                Field::new("value", ArrowType::Binary, false),
            ])),
            Self::Void => ArrowType::Null,
            Self::IntervalYearMonth => ArrowType::Interval(IntervalUnit::YearMonth),
            Self::IntervalDayTime => ArrowType::Duration(TimeUnit::Microsecond),
        }
    }
}

#[cfg(test)]
mod tests;
