//! The table's schema as Arrow sees it: logical names, plain types, no views.
//!
//! Nullability comes from the schema; field metadata comes along as text, strings bare and other JSON
//! as JSON. Variants are structs of `metadata` and `value`, shapes are WKB in binary columns.
//!
//! Protocol: "Schema Serialization Format", "Primitive Types".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{
    DataType as ArrowType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit,
};
use serde_json::Value;

use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

impl StructType {
    /// This schema in Arrow, with logical names.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.arrow_fields()))
    }

    /// These fields in Arrow, with logical names.
    pub fn arrow_fields(&self) -> Fields {
        self.fields()
            .iter()
            .map(|field| Arc::new(field.arrow_field()))
            .collect()
    }
}

impl StructField {
    /// This field in Arrow, with its logical name.
    pub fn arrow_field(&self) -> Field {
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let metadata: HashMap<_, _> = self
            .metadata
            .iter()
            .map(|(key, value)| (key.clone(), text(value)))
            .collect();
        Field::new(&self.name, self.data_type.arrow_type(), self.nullable).with_metadata(metadata)
    }
}

impl DataType {
    /// This type in Arrow.
    pub fn arrow_type(&self) -> ArrowType {
        match self {
            Self::Primitive(primitive) => primitive.arrow_type(),
            Self::Array(array) => {
                let element = Field::new(
                    "element",
                    array.element_type.arrow_type(),
                    array.contains_null,
                );
                ArrowType::List(Arc::new(element))
            }
            Self::Map(map) => {
                let key = Field::new("key", map.key_type.arrow_type(), false);
                let value = Field::new(
                    "value",
                    map.value_type.arrow_type(),
                    map.value_contains_null,
                );
                let entries = ArrowType::Struct(Fields::from(vec![key, value]));
                ArrowType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            Self::Struct(parts) => ArrowType::Struct(parts.arrow_fields()),
        }
    }
}

impl PrimitiveType {
    /// This type in Arrow.
    pub fn arrow_type(&self) -> ArrowType {
        match self {
            Self::String => ArrowType::Utf8,
            Self::Long => ArrowType::Int64,
            Self::Integer => ArrowType::Int32,
            Self::Short => ArrowType::Int16,
            Self::Byte => ArrowType::Int8,
            Self::Float => ArrowType::Float32,
            Self::Double => ArrowType::Float64,
            // Arrow has no decimals of no digits; their only value, zero, has one
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
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn one_column(data_type: &str) -> ArrowType {
        let text = format!(r#"{{"type":"struct","fields":[{{"name":"c","type":{data_type}}}]}}"#);
        StructType::parse(&text)
            .unwrap()
            .arrow_schema()
            .field(0)
            .data_type()
            .clone()
    }

    /// The mapping table of the protocol digest, by Arrow's own names.
    #[test]
    fn each_type_has_its_arrow_type() {
        for (delta, arrow) in [
            (r#""boolean""#, "Boolean"),
            (r#""byte""#, "Int8"),
            (r#""short""#, "Int16"),
            (r#""integer""#, "Int32"),
            (r#""long""#, "Int64"),
            (r#""float""#, "Float32"),
            (r#""double""#, "Float64"),
            (r#""decimal(38, 18)""#, "Decimal128(38, 18)"),
            (r#""string""#, "Utf8"),
            (r#""binary""#, "Binary"),
            (r#""date""#, "Date32"),
            (r#""timestamp""#, r#"Timestamp(µs, "UTC")"#),
            (r#""timestamp_ntz""#, "Timestamp(µs)"),
            (r#""void""#, "Null"),
            (r#""interval year to month""#, "Interval(YearMonth)"),
            (r#""interval day to second""#, "Duration(µs)"),
            (
                r#""variant""#,
                r#"Struct("metadata": non-null Binary, "value": non-null Binary)"#,
            ),
            (
                r#"{"type":"array","elementType":"string","containsNull":false}"#,
                r#"List(non-null Utf8, field: 'element')"#,
            ),
            (
                r#"{"type":"map","keyType":"string","valueType":"long"}"#,
                r#"Map("entries": non-null Struct("key": non-null Utf8, "value": Int64), unsorted)"#,
            ),
        ] {
            assert_eq!(one_column(delta).to_string(), arrow, "{delta}");
        }
    }

    #[test]
    fn names_nulls_and_metadata_come_along() {
        let text = r#"{"type":"struct","fields":[{"name":"s","nullable":false,"metadata":
            {"comment":"a \"b\"","delta.columnMapping.id":3,"flags":[true,null],"o":{"k":"v"}},
            "type":{"type":"struct","fields":[{"name":"inner","type":"date","metadata":{"comment":"deep"}}]}}]}"#;
        let schema = StructType::parse(text).unwrap().arrow_schema();
        let field = schema.field(0);
        assert!(!field.is_nullable());
        let expected = [
            ("comment", r#"a "b""#),
            ("delta.columnMapping.id", "3"),
            ("flags", "[true,null]"),
            ("o", r#"{"k":"v"}"#),
        ];
        assert_eq!(field.metadata().len(), expected.len());
        for (key, value) in expected {
            assert_eq!(field.metadata()[key], value);
        }
        let ArrowType::Struct(parts) = field.data_type() else {
            panic!("no struct")
        };
        assert_eq!(
            (
                parts[0].name().as_str(),
                parts[0].metadata()["comment"].as_str()
            ),
            ("inner", "deep")
        );
    }

    #[test]
    fn the_deepest_schema_fits_a_thread() {
        let levels = crate::spec::schema::MAX_TYPE_DEPTH;
        let (open, close) = (r#"{"type":"struct","fields":[{"name":"c","type":"#, "}]}");
        let text = format!(
            r#"{{"type":"struct","fields":[{{"name":"c","type":{}"long"{}}}]}}"#,
            open.repeat(levels),
            close.repeat(levels)
        );
        let work = move || {
            let schema = StructType::parse(&text).unwrap().arrow_schema();
            assert_eq!(schema.as_ref().clone(), *schema);
            schema.to_string().len()
        };
        let printed = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(work)
            .unwrap()
            .join()
            .unwrap();
        assert!(printed > levels);
    }
}
