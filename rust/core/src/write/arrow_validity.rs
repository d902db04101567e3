//! Validation of Arrow data from callers, before any other use.
//!
//! Arrow consumers trust the producer: that text is UTF-8, that offsets ascend, that dictionary keys are in
//! range. Invalid data would later cause undefined behaviour, or a file that no reader accepts.
//!
//! Source: Arrow columnar format, "Variable-size Binary Layout", "Dictionary-encoded Layout".

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

use crate::error::{Error, Result};

/// Checks all values of a batch; `before` is the number of preceding rows.
///
/// # Errors
///
/// Invalid argument: `rows.text` with the column and the first row whose text is not UTF-8; `rows.arrow` with
/// the column for any other invalid Arrow data.
pub(super) fn check_valid(rows: &RecordBatch, before: u64) -> Result<()> {
    for (field, column) in rows.schema_ref().fields().iter().zip(rows.columns()) {
        let invalid = |cause: ArrowError| {
            let message = format!(
                "the column {:?} is not valid Arrow: nothing was written",
                field.name()
            );
            Error::invalid("rows.arrow", message).because(cause)
        };
        if is_utf8(&column.to_data()).map_err(invalid)? {
            continue;
        }
        let bad_text = first_bad_text(column, field.name(), &|_| true).map_err(invalid)?;
        if let Some((name, row)) = bad_text {
            let row = row.map_or_else(
                || "in its dictionary".to_owned(),
                |row| {
                    format!(
                        "row {} of the data is the first one",
                        before.saturating_add(row as u64)
                    )
                },
            );
            let message = format!(
                "the column {name:?} holds text that is not UTF-8: {row}; nothing was written"
            );
            return Err(Error::invalid("rows.text", message));
        }
    }
    Ok(())
}

/// Returns `true` if all text is UTF-8, including text of null rows; fails if the data is invalid
/// otherwise. The recursion is as deep as the type.
fn is_utf8(data: &ArrayData) -> std::result::Result<bool, ArrowError> {
    let mut valid = true;
    match bytes_type(data.data_type()) {
        None => data.validate_values()?,
        Some(_) if data.validate_values().is_ok() => {}
        Some(_) => {
            as_bytes(data)?;
            valid = false;
        }
    }
    for child in data.child_data() {
        valid &= is_utf8(child)?;
    }
    Ok(valid)
}

fn bytes_type(text: &DataType) -> Option<DataType> {
    match text {
        DataType::Utf8 => Some(DataType::Binary),
        DataType::LargeUtf8 => Some(DataType::LargeBinary),
        DataType::Utf8View => Some(DataType::BinaryView),
        _ => None,
    }
}

/// Reinterprets text as bytes; fails if the values lie outside of their buffers.
fn as_bytes(data: &ArrayData) -> std::result::Result<ArrayRef, ArrowError> {
    let data_type = bytes_type(data.data_type()).unwrap_or_else(|| data.data_type().clone());
    let bytes = data.clone().into_builder().data_type(data_type).build()?;
    cast(&make_array(bytes), &DataType::LargeBinary)
}

/// Returns the column or nested field, and the row, of the first text that is not UTF-8. Values of null rows,
/// and values nested in them, may hold anything: `present` marks the rows that are not null.
fn first_bad_text(
    array: &dyn Array,
    name: &str,
    present: &dyn Fn(usize) -> bool,
) -> std::result::Result<Option<(String, Option<usize>)>, ArrowError> {
    let is_valid = |row: usize| present(row) && array.is_valid(row);
    let in_children = |child: &dyn Array, part: &str, ranges: &[(usize, usize)]| {
        let mut owners = vec![None; child.len()];
        for (row, (start, end)) in ranges.iter().enumerate().filter(|(row, _)| is_valid(*row)) {
            owners
                .get_mut(*start..*end)
                .unwrap_or_default()
                .fill(Some(row));
        }
        let owner = |item: usize| owners.get(item).copied().flatten();
        let bad_text = first_bad_text(child, &format!("{name}.{part}"), &|item| {
            owner(item).is_some()
        })?;
        Ok(bad_text.map(|(name, item)| (name, item.and_then(owner))))
    };
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let bytes = as_bytes(&array.to_data())?;
            let bytes = bytes.as_binary::<i64>();
            let bad =
                |row: &usize| is_valid(*row) && std::str::from_utf8(bytes.value(*row)).is_err();
            Ok((0..array.len())
                .find(bad)
                .map(|row| (name.to_owned(), Some(row))))
        }
        DataType::Struct(fields) => {
            for (field, child) in fields.iter().zip(array.as_struct().columns()) {
                let name = format!("{name}.{}", field.name());
                if let Some(bad_text) = first_bad_text(child, &name, &is_valid)? {
                    return Ok(Some(bad_text));
                }
            }
            Ok(None)
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            in_children(list.values(), "element", &ranges(list.value_offsets()))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            in_children(list.values(), "element", &ranges(list.value_offsets()))
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let size = usize::try_from(*size).unwrap_or_default();
            let ranges: Vec<_> = (0..list.len())
                .map(|row| (row * size, (row + 1) * size))
                .collect();
            in_children(list.values(), "element", &ranges)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let ranges = ranges(map.value_offsets());
            match in_children(map.keys(), "key", &ranges)? {
                None => in_children(map.values(), "value", &ranges),
                bad_text => Ok(bad_text),
            }
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let bad_text = first_bad_text(dictionary.values(), name, &|_| true)?;
            let Some((name, Some(value))) = bad_text else {
                return Ok(bad_text);
            };
            let keys = cast(dictionary.keys(), &DataType::Int64)?;
            let keys = keys.as_primitive::<Int64Type>();
            let has_value =
                |row: &usize| is_valid(*row) && usize::try_from(keys.value(*row)) == Ok(value);
            Ok(Some((name, (0..array.len()).find(has_value))))
        }
        _ if array.to_data().child_data().is_empty() => Ok(None),
        _ => Ok(Some((name.to_owned(), None))),
    }
}

fn ranges<T: Copy + TryInto<usize>>(offsets: &[T]) -> Vec<(usize, usize)> {
    let index = |offset: T| offset.try_into().unwrap_or_default();
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    pairs
        .map(|(start, end)| (index(*start), index(*end)))
        .collect()
}
