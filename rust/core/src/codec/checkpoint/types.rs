//! In which Arrow types the leaves of a checkpoint are decoded.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::basic::Type;
use parquet::schema::types::SchemaDescriptor;

use crate::codec::gather::viewed;

/// The schema to decode in: text as views, but for typed structs, which are handed on as they are; and
/// 96-bit timestamps as microseconds, since in nanoseconds a date of another age would overflow.
pub(super) fn reading_schema(plain: &Schema, parquet: &SchemaDescriptor) -> Schema {
    let instants: Vec<&[String]> = parquet
        .columns()
        .iter()
        .filter(|leaf| leaf.physical_type() == Type::INT96)
        .map(|leaf| leaf.path().parts())
        .collect();
    let roots = plain.fields().iter().map(|root| {
        let DataType::Struct(children) = root.data_type() else {
            return Arc::clone(root);
        };
        let children = children.iter().map(|child| {
            if !child.name().ends_with("_parsed") {
                return typed(child, viewed(child.data_type()));
            }
            if instants.is_empty() {
                return Arc::clone(child);
            }
            let mut path = vec![root.name().clone(), child.name().clone()];
            in_microseconds(child, &instants, &mut path)
        });
        typed(root, DataType::Struct(children.collect()))
    });
    Schema::new(roots.collect::<Fields>())
}

fn typed(field: &Field, data_type: DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(data_type))
}

/// Recurses along structs, as deep as the footer, which the decoder of footers bounds.
fn in_microseconds(field: &FieldRef, instants: &[&[String]], path: &mut Vec<String>) -> FieldRef {
    match field.data_type() {
        DataType::Struct(children) => {
            let children = children.iter().map(|child| {
                path.push(child.name().clone());
                let child = in_microseconds(child, instants, path);
                path.pop();
                child
            });
            typed(field, DataType::Struct(children.collect()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, None) if instants.contains(&path.as_slice()) => {
            let utc = Some("UTC".into());
            typed(field, DataType::Timestamp(TimeUnit::Microsecond, utc))
        }
        _ => Arc::clone(field),
    }
}
