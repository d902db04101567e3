//! Values of partition columns, parsed from directory names.
//!
//! Hive's convention: one directory `column=value` per partition column, with names and values
//! percent-encoded and a reserved name for null.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};
use percent_encoding::percent_decode_str;

use crate::codec::partition_values::parse_integer;
use crate::error::{Error, Result};
use crate::spec::char_length::{DECLARED_TYPE, declared_length};
use crate::spec::json::clipped;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType, same_name};
use crate::write::actions::StringMap;
use crate::write::{HIVE_NULL, partition_text};

/// Returns the partition values of a file with this decoded path, in the form of the log.
///
/// # Errors
///
/// Invalid argument: `convert.partition` if the directories and the schema have different columns, or a value
/// is null in a NOT NULL column, does not parse as its column's type, or is too long for it.
pub fn partition_values(path: &str, schema: &StructType) -> Result<StringMap> {
    let refused = |message: String, advice: &str| {
        Err(Error::invalid("convert.partition", format!("{message}: {advice}")).at_path(path))
    };
    let parsed = directories(path);
    let list = |names: &[&str]| match names {
        [] => "no partition columns".to_owned(),
        names => format!("the partition columns {}", clipped(&names.join(", "))),
    };
    let names: Vec<&str> = parsed.iter().map(|(name, _)| name.as_str()).collect();
    let expected = schema.fields().iter();
    let expected: Vec<&str> = expected.map(|field| field.name.as_str()).collect();
    let mut pairs = names.iter().zip(&expected);
    if names.len() != expected.len() || !pairs.all(|(name, expected)| same_name(name, expected)) {
        let message = format!(
            "the directories of this file have {}, but the partition schema has {}",
            list(&names),
            list(&expected)
        );
        let advice =
            "pass the partition columns in partition_schema, in the order of the directories";
        return refused(message, advice);
    }
    let type_advice = "pass a type in partition_schema that fits all values";
    let mut values = StringMap::new();
    for (field, (_, text)) in schema.fields().iter().zip(&parsed) {
        let value = match text {
            None if !field.nullable => {
                let message = format!(
                    "the directory of this file has no value for the partition column {}, which is NOT NULL",
                    clipped(&field.name)
                );
                return refused(message, "make the column nullable in partition_schema");
            }
            None => None,
            Some(text) => match value(text, &field.data_type) {
                Some(_) if let Some(declared) = exceeded_length(text, field) => {
                    let message = format!(
                        "the value {} of the partition column {} is longer than {}",
                        clipped(text),
                        clipped(&field.name),
                        clipped(declared)
                    );
                    return refused(message, type_advice);
                }
                Some(value) => Some(value),
                None => {
                    let message = format!(
                        "the value {} of the partition column {} is not of the type {}",
                        clipped(text),
                        clipped(&field.name),
                        field.data_type.arrow_type()
                    );
                    return refused(message, type_advice);
                }
            },
        };
        values.insert(field.name.clone(), value);
    }
    Ok(values)
}

/// Returns the column and the value of each directory, outermost first; null has no value.
fn directories(path: &str) -> Vec<(String, Option<String>)> {
    let mut parsed = Vec::new();
    for part in path.rsplit('/').skip(1) {
        match part.split_once('=') {
            Some((name, value)) => {
                let value = (value != HIVE_NULL).then(|| unescaped(value));
                parsed.push((unescaped(name), value));
            }
            // directories above the partitions
            None if !parsed.is_empty() => break,
            None => {}
        }
    }
    parsed.reverse();
    parsed
}

fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the value in the form of the log; `None` if the text does not parse as the type.
fn value(text: &str, data_type: &DataType) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let integer = match data_type {
        DataType::Primitive(
            PrimitiveType::Byte
            | PrimitiveType::Short
            | PrimitiveType::Integer
            | PrimitiveType::Long,
        ) => Some(parse_integer::<i64>(text)?.to_string()),
        _ => None,
    };
    let text = integer.as_deref().unwrap_or(text);
    let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let serialized = partition_text(&array, data_type).ok()?;
    let serialized = serialized
        .is_valid(0)
        .then(|| serialized.value(0).to_owned())?;
    Some(match data_type {
        // without a zone it is local to the reader's session time zone, and must stay so
        DataType::Primitive(PrimitiveType::Timestamp) => text.to_owned(),
        _ => serialized,
    })
}

/// Returns the declared type of the column if it is too short for the text without trailing spaces.
fn exceeded_length<'a>(text: &str, field: &'a StructField) -> Option<&'a str> {
    let declared = field.metadata.get(DECLARED_TYPE)?.as_str()?;
    let length = ["char", "varchar"]
        .iter()
        .find_map(|name| declared_length(declared, name))?;
    let text = text.trim_end_matches(' ');
    Some(declared).filter(|_| text.chars().count() > length)
}

#[cfg(test)]
mod tests;
