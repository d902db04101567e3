//! Columns of a batch that are not in the file: partition values, path, row ids.

use std::sync::Arc;

use arrow_arith::boolean::is_not_null;
use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, StringArray, StructArray, UInt32Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType as ArrowType, FieldRef};
use arrow_select::take::take;
use arrow_select::zip::zip;

use crate::codec::partition_values::{not_a_string_map, parse_partition_values};
use crate::error::Result;

/// Parses the values of the partition columns into one row.
pub(super) fn partition_values(
    values: &[(String, Option<String>)],
    columns: &[(String, FieldRef)],
) -> Result<StructArray> {
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for (key, value) in values {
        map.keys().append_value(key);
        map.values().append_option(value.as_deref());
    }
    map.append(true).map_err(not_a_string_map)?;
    parse_partition_values(&map.finish(), columns)
}

/// A repeated value; allocated once for the longest batch so far, and sliced.
#[derive(Debug)]
pub(super) struct Constant {
    value: ArrayRef,
    repeated: Option<ArrayRef>,
}

impl Constant {
    /// Takes an array with one row.
    pub(super) fn new(value: ArrayRef) -> Self {
        Self {
            value,
            repeated: None,
        }
    }

    pub(super) fn rows(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        if let Some(repeated) = self.repeated.as_ref().filter(|array| array.len() >= rows) {
            return Ok(repeated.slice(0, rows));
        }
        let repeated = repeat(&self.value, rows)?;
        self.repeated = Some(Arc::clone(&repeated));
        Ok(repeated)
    }
}

fn repeat(value: &ArrayRef, rows: usize) -> Result<ArrayRef, ArrowError> {
    if value.is_null(0) || *value.data_type() == ArrowType::Null {
        return Ok(new_null_array(value.data_type(), rows));
    }
    let fits = |length: usize| {
        if let Some(bytes) = length.checked_mul(rows)
            && i32::try_from(bytes).is_ok()
        {
            return Ok(());
        }
        let message = format!("a value of {length} bytes is too long to repeat it {rows} times");
        Err(ArrowError::InvalidArgumentError(message))
    };
    if let Some(text) = value.as_string_opt::<i32>() {
        fits(text.value_length(0).unsigned_abs() as usize)?;
        return Ok(Arc::new(StringArray::new_repeated(text.value(0), rows)));
    }
    if let Some(bytes) = value.as_binary_opt::<i32>() {
        fits(bytes.value_length(0).unsigned_abs() as usize)?;
        return Ok(Arc::new(BinaryArray::new_repeated(bytes.value(0), rows)));
    }
    take(value, &UInt32Array::from(vec![0; rows]), None)
}

/// Returns the values stored in the file, and those from the log in place of nulls.
pub(super) fn stored_or(
    stored: Option<ArrayRef>,
    default: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    match stored {
        None => Ok(default),
        Some(stored) if stored.null_count() == 0 => Ok(stored),
        Some(stored) => zip(&is_not_null(&stored)?, &stored, &default),
    }
}
