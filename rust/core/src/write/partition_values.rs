//! Serialization of partition values.
//!
//! Protocol: "Partition Value Serialization".

use std::fmt::Debug;
use std::str::Utf8Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};

use crate::error::{Error, Result};
use crate::spec::calendar::{DateText, TimestampText};

/// Serializes each value; null for null, and for empty binary values, which the log cannot distinguish from
/// null.
///
/// # Errors
///
/// Invalid argument: `rows.partition` for a type that cannot partition a table, and for a value that has no
/// serialization: bytes that are not UTF-8.
pub(super) fn serialized(values: &ArrayRef) -> Result<StringArray> {
    let refused = || {
        let message = format!(
            "values of the type {} cannot partition a table",
            values.data_type()
        );
        Error::invalid("rows.partition", message)
    };
    Ok(match values.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let text = |micros: i64| match zone {
                Some(_) => format!("{}Z", TimestampText(micros, 'T')),
                None => TimestampText(micros, ' ').to_string(),
            };
            let micros = values.as_primitive::<TimestampMicrosecondType>();
            micros.iter().map(|value| value.map(text)).collect()
        }
        DataType::Date32 => {
            let text = |day: i32| DateText(day.into()).to_string();
            let days = values.as_primitive::<Date32Type>();
            days.iter().map(|value| value.map(text)).collect()
        }
        DataType::Float32 => {
            let numbers = values.as_primitive::<Float32Type>().iter();
            numbers.map(|number| number.map(as_in_java)).collect()
        }
        DataType::Float64 => {
            let numbers = values.as_primitive::<Float64Type>().iter();
            numbers.map(|number| number.map(as_in_java)).collect()
        }
        DataType::Binary => values
            .as_binary::<i32>()
            .iter()
            .map(|bytes| {
                bytes
                    .filter(|bytes| !bytes.is_empty())
                    .map(|bytes| std::str::from_utf8(bytes).map_err(not_utf8))
                    .transpose()
            })
            .collect::<Result<_>>()?,
        _ => {
            let strings =
                cast(values, &DataType::Utf8).map_err(|cause| refused().because(cause))?;
            strings.as_string_opt::<i32>().ok_or_else(refused)?.clone()
        }
    })
}

/// Returns the values as a reader of the table will see them: empty binary values become null.
pub(super) fn empty_binary_as_null(values: &ArrayRef) -> Result<ArrayRef> {
    match values.as_binary_opt::<i32>() {
        Some(all) if all.iter().flatten().any(<[u8]>::is_empty) => {
            let values = all
                .iter()
                .map(|bytes| bytes.filter(|bytes| !bytes.is_empty()));
            Ok(Arc::new(values.collect::<BinaryArray>()))
        }
        _ => Ok(Arc::clone(values)),
    }
}

fn not_utf8(cause: Utf8Error) -> Error {
    let message = "the log stores binary partition values as text, and a value is not UTF-8: partition by \
                   another column";
    Error::invalid("rows.partition", message).because(cause)
}

/// Spells infinity as Java does; all other numbers as Rust does, which Java parses.
fn as_in_java(number: impl Debug) -> String {
    let text = format!("{number:?}");
    if text.ends_with("inf") {
        return text.replace("inf", "Infinity");
    }
    text
}
