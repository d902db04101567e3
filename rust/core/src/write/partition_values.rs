//! Serialization of partition values.
//!
//! Protocol: "Partition Value Serialization".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use chrono::DateTime;

use crate::error::{Error, Result};

/// Serializes each value; null for null, and for empty binary values, which the log cannot distinguish from
/// null.
pub(super) fn strings(values: &ArrayRef) -> Result<StringArray> {
    let refused = || {
        let message = format!(
            "values of the type {} cannot partition a table",
            values.data_type()
        );
        Error::invalid("rows.partition", message)
    };
    Ok(match values.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let format = match zone {
                Some(_) => "%Y-%m-%dT%H:%M:%S%.6fZ",
                None => "%Y-%m-%d %H:%M:%S%.6f",
            };
            let formatted = |micros: i64| {
                let time = DateTime::from_timestamp_micros(micros);
                time.map(|time| time.format(format).to_string())
                    .ok_or_else(refused)
            };
            let micros = values.as_primitive::<TimestampMicrosecondType>();
            micros
                .iter()
                .map(|value| value.map(formatted).transpose())
                .collect::<Result<_>>()?
        }
        DataType::Float32 => {
            let numbers = values.as_primitive::<Float32Type>();
            numbers
                .iter()
                .map(|number| number.map(|number| java_spelling(format!("{number:?}"))))
                .collect()
        }
        DataType::Float64 => {
            let numbers = values.as_primitive::<Float64Type>();
            numbers
                .iter()
                .map(|number| number.map(|number| java_spelling(format!("{number:?}"))))
                .collect()
        }
        DataType::Binary => values
            .as_binary::<i32>()
            .iter()
            .map(|bytes| {
                bytes
                    .filter(|bytes| !bytes.is_empty())
                    .map(|bytes| std::str::from_utf8(bytes).map_err(|_| refused()))
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
    let is_empty = |bytes: Option<&[u8]>| bytes.is_some_and(<[u8]>::is_empty);
    match values.as_binary_opt::<i32>() {
        Some(all) if all.iter().any(is_empty) => {
            let values = all
                .iter()
                .map(|bytes| bytes.filter(|bytes| !bytes.is_empty()));
            Ok(Arc::new(values.collect::<BinaryArray>()))
        }
        _ => Ok(Arc::clone(values)),
    }
}

/// Converts Rust's spelling of a number to Java's.
fn java_spelling(number: String) -> String {
    match number.as_str() {
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        _ => number,
    }
}
