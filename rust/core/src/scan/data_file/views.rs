//! Expands strings that were decoded into views.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

use crate::spec::arrow::{replace_types, strict_cast};

/// Returns `true` if the type, or a part of it, is a view.
pub(super) fn has_views(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::List(part) | DataType::Map(part, _) => has_views(part.data_type()),
        DataType::Struct(parts) => parts.iter().any(|part| has_views(part.data_type())),
        _ => false,
    }
}

/// Converts views to plain strings.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let target = replace_types(array.data_type(), &|part| match part {
        DataType::Utf8View => Some(DataType::Utf8),
        DataType::BinaryView => Some(DataType::Binary),
        _ => None,
    });
    if target == *array.data_type() {
        return Ok(ArrayRef::clone(array));
    }
    if matches!(array.data_type(), DataType::Utf8View | DataType::BinaryView) {
        return strict_cast(array, &target);
    }
    // a cast would convert all values below a slice of nested ones
    let rows = u32::try_from(array.len()).unwrap_or(u32::MAX);
    let own = take(array, &UInt32Array::from_iter_values(0..rows), None)?;
    strict_cast(&own, &target)
}
