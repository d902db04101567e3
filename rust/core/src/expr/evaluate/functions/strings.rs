//! Functions of strings.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, StringArray};
use arrow_schema::DataType;

use super::cast::cast_value;
use super::{too_large, type_error};
use crate::error::Result;

fn array(strings: impl Iterator<Item = Option<String>>) -> Result<ArrayRef> {
    let mut array = StringBuilder::new();
    for text in strings {
        let added = text.as_ref().map_or(0, String::len);
        if array.values_slice().len() + added > i32::MAX as usize {
            return Err(too_large());
        }
        array.append_option(text);
    }
    Ok(Arc::new(array.finish()))
}

/// Applies a function to each string.
pub(super) fn map(values: &ArrayRef, change: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let strings = cast_value(values, &DataType::Utf8)?;
    let strings = strings.as_string::<i32>().iter();
    array(strings.map(|text| text.map(&change)))
}

pub(super) fn length(values: &ArrayRef) -> Result<ArrayRef> {
    let strings = cast_value(values, &DataType::Utf8)?;
    let characters = |text: &str| i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
    let counts = strings.as_string::<i32>().iter();
    let counts = counts.map(|text| text.map(characters));
    Ok(Arc::new(counts.collect::<Int32Array>()))
}

/// Concatenates strings; null if one is null.
pub(super) fn concat(values: &[ArrayRef]) -> Result<ArrayRef> {
    let strings = values
        .iter()
        .map(|argument| cast_value(argument, &DataType::Utf8))
        .collect::<Result<Vec<_>>>()?;
    let columns: Vec<&StringArray> = strings
        .iter()
        .map(|argument| argument.as_string::<i32>())
        .collect();
    let rows = columns.first().map_or(0, |first| first.len());
    let mut joined = StringBuilder::new();
    for row in 0..rows {
        if columns.iter().any(|column| column.is_null(row)) {
            joined.append_null();
            continue;
        }
        let parts = || columns.iter().map(|column| column.value(row));
        let added: usize = parts().map(str::len).sum();
        if joined.values_slice().len() + added > i32::MAX as usize {
            return Err(too_large()); // before the strings are copied
        }
        for part in parts() {
            joined.write_str(part).map_err(|_| too_large())?;
        }
        joined.append_value("");
    }
    Ok(Arc::new(joined.finish()))
}

/// `substring(text, from)` or `substring(text, from, length)`: positions count from 1, or from the end if
/// negative.
pub(super) fn substring(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let [values, from, length @ ..] = arguments else {
        return Err(type_error("substring takes a text and a number"));
    };
    let strings = cast_value(values, &DataType::Utf8)?;
    let from = cast_value(from, &DataType::Int64)?;
    let length = length
        .first()
        .map(|length| cast_value(length, &DataType::Int64))
        .transpose()?;
    let from = from.as_primitive::<Int64Type>();
    let cut = strings
        .as_string::<i32>()
        .iter()
        .enumerate()
        .map(|(row, text)| {
            let text = text?;
            if from.is_null(row) {
                return None;
            }
            let characters = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            let start = match from.value(row) {
                start if start > 0 => start - 1,
                0 => 0,
                back => characters.saturating_add(back),
            };
            let end = match &length {
                None => characters,
                Some(length) => {
                    let length = length.as_primitive::<Int64Type>();
                    if length.is_null(row) {
                        return None;
                    }
                    start.saturating_add(length.value(row))
                }
            };
            let (start, end) = (start.clamp(0, characters), end.clamp(0, characters));
            let (start, count) = (
                usize::try_from(start).ok()?,
                usize::try_from((end - start).max(0)).ok()?,
            );
            Some(text.chars().skip(start).take(count).collect::<String>())
        });
    Ok(Arc::new(cut.collect::<StringArray>()))
}
