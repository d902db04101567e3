//! The function `array`.

use std::iter;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, NullArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use arrow_select::interleave::interleave;

use super::{failed, too_large};
use crate::error::Result;

/// Returns an array of the values of each row, which have one type. Without values, it is one empty array.
pub(in crate::expr) fn array(values: &[ArrayRef]) -> Result<ArrayRef> {
    let rows = values.first().map_or(1, |first| first.len());
    let length = values.len();
    if rows.saturating_mul(length) > i32::MAX as usize {
        return Err(too_large());
    }
    let columns: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let elements: ArrayRef = if columns.is_empty() {
        Arc::new(NullArray::new(0))
    } else {
        let row = |row| (0..length).map(move |column| (column, row));
        let positions: Vec<_> = (0..rows).flat_map(row).collect();
        interleave(&columns, &positions).map_err(failed)?
    };
    let field = Field::new("element", elements.data_type().clone(), true);
    let offsets = OffsetBuffer::from_lengths(iter::repeat_n(length, rows));
    let arrays = ListArray::try_new(Arc::new(field), offsets, elements, None);
    Ok(Arc::new(arrays.map_err(failed)?))
}
