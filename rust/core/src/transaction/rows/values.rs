//! Partition values as the log writes them.
//!
//! Protocol: "Partition Value Serialization".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use chrono::DateTime;

use crate::error::{Error, Result};

/// The text of each value; null for null, and for empty text, which the log cannot tell from null.
pub(super) fn texts(values: &ArrayRef) -> Result<StringArray> {
    let refused = || {
        let message = format!(
            "values of the type {} cannot partition a table",
            values.data_type()
        );
        Error::invalid("rows.partition", message)
    };
    let all: StringArray = match values.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let shape = match zone {
                Some(_) => "%Y-%m-%dT%H:%M:%S%.6fZ",
                None => "%Y-%m-%d %H:%M:%S%.6f",
            };
            let instant = |micros: i64| {
                let time = DateTime::from_timestamp_micros(micros);
                time.map(|time| time.format(shape).to_string())
                    .ok_or_else(refused)
            };
            let micros = values.as_primitive::<TimestampMicrosecondType>();
            micros
                .iter()
                .map(|one| one.map(instant).transpose())
                .collect::<Result<_>>()?
        }
        DataType::Float32 => {
            let numbers = values.as_primitive::<Float32Type>();
            numbers
                .iter()
                .map(|one| one.map(|one| java(format!("{one:?}"))))
                .collect()
        }
        DataType::Float64 => {
            let numbers = values.as_primitive::<Float64Type>();
            numbers
                .iter()
                .map(|one| one.map(|one| java(format!("{one:?}"))))
                .collect()
        }
        DataType::Binary => values
            .as_binary::<i32>()
            .iter()
            .map(|one| {
                one.map(|bytes| std::str::from_utf8(bytes).map_err(|_| refused()))
                    .transpose()
            })
            .collect::<Result<_>>()?,
        _ => {
            let texts = cast(values, &DataType::Utf8).map_err(|cause| refused().because(cause))?;
            texts.as_string_opt::<i32>().ok_or_else(refused)?.clone()
        }
    };
    if all.iter().any(|text| text == Some("")) {
        return Ok(all
            .iter()
            .map(|text| text.filter(|text| !text.is_empty()))
            .collect());
    }
    Ok(all)
}

/// The value as a reader of the table will see it: empty text is null then.
pub(super) fn as_read(values: &ArrayRef) -> Result<ArrayRef> {
    let empty = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().iter().any(|one| one == Some("")),
        DataType::Binary => values
            .as_binary::<i32>()
            .iter()
            .any(|one| one == Some(b"".as_slice())),
        _ => false,
    };
    if !empty {
        return Ok(Arc::clone(values));
    }
    let texts: ArrayRef = Arc::new(texts(values)?);
    cast(&texts, values.data_type()).map_err(|cause| {
        Error::invalid("rows.partition", "the values cannot partition a table").because(cause)
    })
}

/// Rust's spelling of a number as Java's.
fn java(number: String) -> String {
    match number.as_str() {
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        _ => number,
    }
}
