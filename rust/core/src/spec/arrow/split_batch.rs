//! Splits batches into pieces of bounded size.

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, RecordBatch, downcast_dictionary_array, downcast_run_array,
};
use arrow_schema::DataType;

/// Calls `emit` with the rows of a batch in pieces of at most this many rows and bytes, as counted by
/// [`plain_bytes`], or of one row.
pub(crate) fn split_batch<E>(
    batch: RecordBatch,
    max_rows: usize,
    max_bytes: u64,
    emit: &mut dyn FnMut(RecordBatch) -> Result<(), E>,
) -> Result<(), E> {
    let rows = batch.num_rows();
    if rows > max_rows.max(1) {
        let mut from = 0;
        while from < rows {
            let piece = batch.slice(from, max_rows.clamp(1, rows - from));
            from += piece.num_rows();
            split_batch(piece, max_rows, max_bytes, emit)?;
        }
        return Ok(());
    }
    let bytes = |array: &ArrayRef| plain_bytes(&**array);
    if rows == 0 {
        return Ok(());
    }
    if rows == 1 || batch.columns().iter().map(bytes).sum::<u64>() <= max_bytes {
        return emit(batch);
    }
    let half = rows / 2;
    split_batch(batch.slice(0, half), max_rows, max_bytes, emit)?;
    split_batch(batch.slice(half, rows - half), max_rows, max_bytes, emit)
}

/// Returns an upper bound on the size of the values of a row in bytes. The columns must have the Arrow types
/// of a table's columns.
pub(crate) fn longest_row(batch: &RecordBatch) -> u64 {
    batch
        .columns()
        .iter()
        .map(|column| longest(&**column))
        .sum()
}

fn longest(array: &dyn Array) -> u64 {
    let list =
        |values: &ArrayRef, offsets: &[i32]| max_length(offsets).saturating_mul(longest(&**values));
    match array.data_type() {
        DataType::Utf8 => max_length(array.as_string::<i32>().value_offsets()),
        DataType::Binary => max_length(array.as_binary::<i32>().value_offsets()),
        DataType::Struct(_) => {
            let parts = array.as_struct().columns().iter();
            parts.map(|part| longest(&**part)).sum()
        }
        DataType::List(_) => {
            let array = array.as_list::<i32>();
            list(array.values(), array.value_offsets())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let offsets = map.value_offsets();
            list(map.keys(), offsets).saturating_add(list(map.values(), offsets))
        }
        plain => plain.primitive_width().unwrap_or(1) as u64,
    }
}

fn max_length(offsets: &[i32]) -> u64 {
    let lengths = offsets.windows(2).map(|pair| match pair {
        [from, to] => u64::try_from(to - from).unwrap_or_default(),
        _ => 0,
    });
    lengths.max().unwrap_or_default()
}

/// Estimates the size of an array in bytes without dictionaries, runs and shared values; each value counts
/// 4 bytes more, for an offset.
pub(crate) fn plain_bytes(array: &dyn Array) -> u64 {
    let bytes = match array.data_type() {
        DataType::Utf8 => span(array.as_string::<i32>().value_offsets()),
        DataType::Binary => span(array.as_binary::<i32>().value_offsets()),
        DataType::LargeUtf8 => span(array.as_string::<i64>().value_offsets()),
        DataType::LargeBinary => span(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => array.as_string_view().lengths().map(u64::from).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(u64::from).sum(),
        DataType::Struct(_) => {
            let parts = array.as_struct().columns().iter();
            parts.map(|part| plain_bytes(&**part)).sum()
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            list_bytes(list.values(), list.value_offsets())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            list_bytes(list.values(), list.value_offsets())
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            list_view_bytes(list.values(), list.sizes())
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            list_view_bytes(list.values(), list.sizes())
        }
        DataType::FixedSizeBinary(size) => u64::from(size.unsigned_abs()) * array.len() as u64,
        // the values of a slice are only those of its own lists
        DataType::FixedSizeList(..) => plain_bytes(&**array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let (map, offsets) = (array.as_map(), array.as_map().value_offsets());
            list_bytes(map.keys(), offsets) + list_bytes(map.values(), offsets)
        }
        DataType::Dictionary(..) => downcast_dictionary_array!(
            array => dictionary_bytes(array),
            _ => 0
        ),
        DataType::RunEndEncoded(..) => downcast_run_array!(
            array => {
                // runs may have any length: assume that each row has the mean size of a value
                let values = array.values();
                let mean = plain_bytes(&**values) / (values.len() as u64).max(1);
                mean.saturating_mul(array.len() as u64)
            },
            _ => 0
        ),
        plain => plain.primitive_width().unwrap_or(1) as u64 * array.len() as u64,
    };
    bytes + 4 * array.len() as u64
}

/// Returns the difference between the last and the first of ascending offsets.
fn span<O: Copy + TryInto<u64>>(offsets: &[O]) -> u64 {
    let at = |offset: Option<&O>| offset.and_then(|offset| (*offset).try_into().ok());
    at(offsets.last())
        .unwrap_or_default()
        .saturating_sub(at(offsets.first()).unwrap_or_default())
}

fn list_bytes<O: Copy + TryInto<u64>>(values: &ArrayRef, offsets: &[O]) -> u64 {
    let first = offsets.first().and_then(|offset| (*offset).try_into().ok());
    let first = usize::try_from(first.unwrap_or_default()).unwrap_or_default();
    let length = usize::try_from(span(offsets)).unwrap_or_default();
    plain_bytes(&*values.slice(first, length))
}

/// Returns the size of list views, which may share values: each counts as the mean of all.
fn list_view_bytes<O: Copy + TryInto<u64>>(values: &ArrayRef, sizes: &[O]) -> u64 {
    let mean = plain_bytes(&**values).div_ceil((values.len() as u64).max(1));
    let count: u64 = sizes
        .iter()
        .filter_map(|size| (*size).try_into().ok())
        .sum();
    mean.saturating_mul(count)
}

fn dictionary_bytes<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>) -> u64 {
    let values = array.values();
    let sizes: Vec<u64> = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().iter().map(length).collect(),
        DataType::LargeUtf8 => values.as_string::<i64>().iter().map(length).collect(),
        DataType::Utf8View => values.as_string_view().iter().map(length).collect(),
        DataType::Binary => values.as_binary::<i32>().iter().map(length).collect(),
        DataType::LargeBinary => values.as_binary::<i64>().iter().map(length).collect(),
        DataType::BinaryView => values.as_binary_view().iter().map(length).collect(),
        _ => {
            let mean = plain_bytes(&**values) / (values.len() as u64).max(1);
            return mean.saturating_mul(array.len() as u64);
        }
    };
    let keys = array.keys_iter().flatten();
    keys.filter_map(|key| sizes.get(key)).sum()
}

fn length<T: AsRef<[u8]>>(word: Option<T>) -> u64 {
    word.map_or(0, |word| word.as_ref().len() as u64)
}

#[cfg(test)]
mod tests;
