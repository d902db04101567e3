//! Arrow types in which the leaves of a checkpoint are decoded.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::schema::types::SchemaDescriptor;

use super::FileAction;
use crate::codec::file_actions::{ADD_FIELDS, REMOVE_FIELDS};
use crate::codec::filter_concat::with_string_views;
use crate::codec::parquet_file::int96_in_micros;
use crate::error::{Error, Result};

/// Checks that every field of a file action has the protocol's type, an integer type of another width, or for a
/// string bytes that are not annotated as one.
pub(super) fn check_types(plain: &Schema) -> Result<()> {
    for (action, fields) in [
        (FileAction::Add, ADD_FIELDS),
        (FileAction::Remove, REMOVE_FIELDS),
    ] {
        let Some((_, root)) = plain.fields().find(action.name()) else {
            continue;
        };
        let DataType::Struct(children) = root.data_type() else {
            continue; // `check_shape` refuses it
        };
        for field in fields {
            let Some((_, child)) = children.find(field.name()) else {
                continue;
            };
            let name = format!("{}.{}", action.name(), field.name());
            check_type(&name, child.data_type(), &field.data_type())?;
        }
    }
    Ok(())
}

/// Checks one type; recurses along the protocol's type.
fn check_type(name: &str, actual: &DataType, expected: &DataType) -> Result<()> {
    let fits = match (actual, expected) {
        // some writers leave a column without values untyped
        (DataType::Null, _) | (DataType::Binary, DataType::Utf8) => true,
        (DataType::Struct(actual), DataType::Struct(expected)) => {
            for field in expected {
                if let Some((_, child)) = actual.find(field.name()) {
                    let name = format!("{name}.{}", field.name());
                    check_type(&name, child.data_type(), field.data_type())?;
                }
            }
            true
        }
        // the names of key and value fields differ between writers
        (DataType::Map(actual, _), DataType::Map(expected, _)) => {
            let (DataType::Struct(actual), DataType::Struct(expected)) =
                (actual.data_type(), expected.data_type())
            else {
                return Ok(());
            };
            for (child, field) in actual.iter().zip(expected) {
                let name = format!("{name}.{}", child.name());
                check_type(&name, child.data_type(), field.data_type())?;
            }
            true
        }
        (actual, expected) => actual == expected || (actual.is_integer() && expected.is_integer()),
    };
    if fits {
        return Ok(());
    }
    let message = format!("{name} has the type {actual} instead of {expected}");
    Err(Error::corrupt("checkpoint.columns", message))
}

/// Returns the schema for decoding: strings, and bytes that the writer did not annotate as strings, as string
/// views, except in typed structs, which keep their types; and 96-bit timestamps in microseconds, since distant
/// dates overflow in nanoseconds.
pub(super) fn reading_schema(plain: &Schema, parquet: &SchemaDescriptor) -> Schema {
    let with_micros = int96_in_micros(plain, parquet, Some("UTC"));
    let roots = with_micros.as_ref().unwrap_or(plain).fields();
    let roots = roots.iter().map(|root| {
        let DataType::Struct(children) = root.data_type() else {
            return Arc::clone(root);
        };
        let children = children.iter().map(|child| {
            if child.name().ends_with("_parsed") {
                return Arc::clone(child);
            }
            with_type(child, with_string_views(child.data_type()))
        });
        with_type(root, DataType::Struct(children.collect()))
    });
    Schema::new(roots.collect::<Fields>())
}

fn with_type(field: &Field, data_type: DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(data_type))
}
