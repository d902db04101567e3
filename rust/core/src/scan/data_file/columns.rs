//! Columns of a batch that are not in the file: partition values, path, positions, row ids.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, MapArray, StringArray, StructArray, UInt32Array,
};
use arrow_schema::{ArrowError, DataType as ArrowType, FieldRef};
use arrow_select::take::take;

use crate::codec::partition_values::{Unparsable, parse_partition_values};
use crate::error::{Error, Result};

/// Parses the values of the partition columns to one row.
pub(super) fn partition_values(
    values: &[(String, Option<String>)],
    columns: &[(String, FieldRef)],
) -> Result<StructArray> {
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for (key, value) in values {
        map.keys().append_value(key);
        map.values().append_option(value.as_deref());
    }
    let not_a_map = |cause: ArrowError| {
        Error::corrupt(
            "partition_value.map",
            "partition values are not a map of strings",
        )
        .because(cause)
    };
    map.append(true).map_err(not_a_map)?;
    let map: MapArray = map.finish();
    parse_partition_values(&map, columns, Unparsable::Refuse)
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
        return Ok(arrow_array::new_null_array(value.data_type(), rows));
    }
    let fits = |length: usize| {
        let bytes = length.checked_mul(rows);
        if bytes.is_some_and(|bytes| i32::try_from(bytes).is_ok()) {
            return Ok(());
        }
        let message = format!("a constant of {length} bytes, {rows} times");
        Err(ArrowError::OffsetOverflowError(length).into_context(message))
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

trait IntoContext {
    fn into_context(self, message: String) -> ArrowError;
}

impl IntoContext for ArrowError {
    fn into_context(self, message: String) -> ArrowError {
        ArrowError::ExternalError(format!("{self}: {message}").into())
    }
}

/// The positions of the rows of a unit, in order.
#[derive(Debug)]
pub(super) struct Positions {
    ranges: std::vec::IntoIter<Range<u64>>,
    current: Range<u64>,
}

impl Positions {
    pub(super) fn new(ranges: Vec<Range<u64>>) -> Self {
        Self {
            ranges: ranges.into_iter(),
            current: 0..0,
        }
    }

    /// Returns the next positions, at most this many.
    pub(super) fn take(&mut self, rows: usize) -> Vec<i64> {
        let mut positions = Vec::with_capacity(rows);
        while positions.len() < rows {
            if self.current.is_empty() {
                match self.ranges.next() {
                    Some(next) => self.current = next,
                    None => break,
                }
                continue;
            }
            let left = u64::try_from(rows - positions.len()).unwrap_or(u64::MAX);
            let end = self
                .current
                .end
                .min(self.current.start.saturating_add(left));
            let run = self.current.start..end;
            positions.extend(run.map(|position| i64::try_from(position).unwrap_or(i64::MAX)));
            self.current.start = end;
        }
        positions
    }
}

/// Returns the values stored in the file, otherwise those that follow from the log.
pub(super) fn kept_or(kept: Option<&ArrayRef>, fresh: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let Some(kept) = kept.and_then(|kept| kept.as_primitive_opt::<Int64Type>()) else {
        return Ok(fresh);
    };
    if kept.null_count() == 0 {
        return Ok(Arc::new(kept.clone()));
    }
    let fresh = fresh.as_primitive_opt::<Int64Type>();
    let Some(fresh) = fresh.filter(|fresh| fresh.len() == kept.len()) else {
        return Err(ArrowError::SchemaError(
            "row ids are not 64 bits wide".to_owned(),
        ));
    };
    let merged: Int64Array = kept
        .iter()
        .zip(fresh)
        .map(|(kept, fresh)| kept.or(fresh))
        .collect();
    Ok(Arc::new(merged))
}
