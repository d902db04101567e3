//! The rows to keep, out of decoded columns, in one pass.
//!
//! Checkpoint text is decoded as views into the pages' own bytes; what is kept goes from there into
//! plain Arrow strings of exactly the right size, so that each byte is copied once and rows that are
//! dropped cost nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, MapArray, StringArray, StringViewArray, StructArray,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};

use super::file_actions::STRING_MAP;

/// Which rows to keep: the same choice as ranges and as a mask.
#[derive(Clone, Debug)]
pub struct Keep {
    ranges: Vec<Range<usize>>,
    mask: BooleanArray,
    rows: usize,
}

impl Keep {
    /// The rows whose bit is set.
    pub fn new(bits: BooleanBuffer) -> Self {
        let ranges = bits.set_slices().map(|(start, end)| start..end).collect();
        let rows = bits.count_set_bits();
        Self {
            ranges,
            mask: BooleanArray::new(bits, None),
            rows,
        }
    }

    /// How many rows are kept.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows that are kept, ascending.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    fn all(&self) -> bool {
        self.rows == self.mask.len()
    }
}

/// The kept rows of `array`; views become plain strings, maps of strings get our field names.
pub fn gather(array: &ArrayRef, keep: &Keep) -> Result<ArrayRef, ArrowError> {
    if array.null_count() == array.len() {
        return Ok(nulls(&plain(array.data_type()), keep.rows));
    }
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(strings(array.as_string_view(), &keep.ranges, keep.rows)?),
        DataType::Map(..) if is_string_map(array.as_map()) => {
            Arc::new(string_map(array.as_map(), keep)?)
        }
        DataType::Struct(_) => structs(array.as_struct(), keep)?,
        _ if keep.all() => Arc::clone(array),
        _ => arrow_select::filter::filter(array, &keep.mask)?,
    })
}

/// A column of nulls. Those of up to [`SHARED_NULLS`] rows are slices of one that all share: most of a
/// checkpoint's columns are null throughout, and their memory would be the better part of the table's.
pub fn nulls(data_type: &DataType, rows: usize) -> ArrayRef {
    static SHARED: Mutex<BTreeMap<String, ArrayRef>> = Mutex::new(BTreeMap::new());
    if rows > SHARED_NULLS {
        return new_null_array(data_type, rows);
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = shared
        .entry(data_type.to_string())
        .or_insert_with(|| new_null_array(data_type, SHARED_NULLS));
    known.slice(0, rows)
}

/// The rows of the shared columns of nulls.
const SHARED_NULLS: usize = 8 * 1024;

fn structs(array: &StructArray, keep: &Keep) -> Result<ArrayRef, ArrowError> {
    let children = array
        .columns()
        .iter()
        .map(|child| gather(child, keep))
        .collect::<Result<Vec<_>, _>>()?;
    let fields: Fields = array
        .fields()
        .iter()
        .zip(&children)
        .map(|(field, child)| {
            field
                .as_ref()
                .clone()
                .with_data_type(child.data_type().clone())
        })
        .collect();
    let nulls = kept_nulls(array.nulls(), &keep.ranges, keep.rows);
    StructArray::try_new_with_length(fields, children, nulls, keep.rows)
        .map(|array| Arc::new(array) as ArrayRef)
}

fn is_string_map(map: &MapArray) -> bool {
    let text = |array: &ArrayRef| *array.data_type() == DataType::Utf8View;
    text(map.keys()) && text(map.values())
}

fn string_map(map: &MapArray, keep: &Keep) -> Result<MapArray, ArrowError> {
    let from = map.value_offsets();
    let at = |row: usize| from.get(row).copied().unwrap_or_default();
    let mut offsets: Vec<i32> = Vec::with_capacity(keep.rows + 1);
    let mut entries: Vec<Range<usize>> = Vec::with_capacity(keep.ranges.len());
    let mut end = 0_i32;
    offsets.push(0);
    for range in &keep.ranges {
        let shift = end - at(range.start);
        let ends = from.get(range.start + 1..=range.end).unwrap_or_default();
        offsets.extend(ends.iter().map(|offset| offset + shift));
        end += at(range.end) - at(range.start);
        entries.push(index(at(range.start))..index(at(range.end)));
    }
    let rows = index(end);
    let keys = Arc::new(strings(map.keys().as_string_view(), &entries, rows)?);
    let values = Arc::new(strings(map.values().as_string_view(), &entries, rows)?);
    let DataType::Map(entry, _) = &*STRING_MAP else {
        return Err(ArrowError::SchemaError(
            "the type of string maps is not a map".into(),
        ));
    };
    let DataType::Struct(fields) = entry.data_type() else {
        return Err(ArrowError::SchemaError(
            "the entries of a map are not a struct".into(),
        ));
    };
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    let nulls = kept_nulls(map.nulls(), &keep.ranges, keep.rows);
    MapArray::try_new(
        Arc::clone(entry),
        OffsetBuffer::new(offsets.into()),
        entries,
        nulls,
        false,
    )
}

/// An Arrow offset is never negative.
fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

fn strings(
    array: &StringViewArray,
    ranges: &[Range<usize>],
    rows: usize,
) -> Result<StringArray, ArrowError> {
    const INLINE: usize = 12;
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls.is_null(row));
    let views = array.views();
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut total = 0_usize;
    offsets.push(0);
    for range in ranges {
        for (row, view) in range
            .clone()
            .zip(views.get(range.clone()).unwrap_or_default())
        {
            if !is_null(row) {
                total += length(*view);
            }
            // checked behind the loop: the total is the largest offset
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            offsets.push(total as i32);
        }
    }
    if i32::try_from(total).is_err() {
        return Err(ArrowError::OffsetOverflowError(total));
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(total);
    for range in ranges {
        for (row, view) in range
            .clone()
            .zip(views.get(range.clone()).unwrap_or_default())
        {
            if is_null(row) {
                continue;
            }
            let length = length(*view);
            let text = if length <= INLINE {
                let inline = view.to_le_bytes();
                bytes.extend_from_slice(inline.get(4..4 + length).unwrap_or_default());
                continue;
            } else {
                let buffer = array.data_buffers().get((*view >> 64) as u32 as usize);
                let start = (*view >> 96) as usize;
                buffer.and_then(|buffer| buffer.get(start..start + length))
            };
            bytes.extend_from_slice(text.unwrap_or_default());
        }
    }
    if bytes.len() != total || offsets.len() != rows + 1 {
        return Err(ArrowError::InvalidArgumentError(
            "a view points outside of its buffers".into(),
        ));
    }
    let nulls = kept_nulls(nulls, ranges, rows);
    // SAFETY: the offsets ascend from 0 to the length of the bytes, and every piece of the bytes is a
    // whole string of an array whose text was validated when it was decoded.
    #[allow(unsafe_code)]
    Ok(unsafe {
        let offsets = OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets));
        StringArray::new_unchecked(offsets, bytes.into(), nulls)
    })
}

/// The low 32 bits of a view are the length of its string.
fn length(view: u128) -> usize {
    view as u32 as usize
}

fn kept_nulls(
    nulls: Option<&NullBuffer>,
    ranges: &[Range<usize>],
    rows: usize,
) -> Option<NullBuffer> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
    let mut bits = BooleanBufferBuilder::new(rows);
    for range in ranges {
        bits.append_buffer(&nulls.inner().slice(range.start, range.len()));
    }
    Some(NullBuffer::new(bits.finish())).filter(|nulls| nulls.null_count() > 0)
}

/// The type with plain strings in the place of views; maps of strings as they are handed out.
fn plain(data_type: &DataType) -> DataType {
    let field = |field: &Arc<Field>| {
        Arc::new(
            field
                .as_ref()
                .clone()
                .with_data_type(plain(field.data_type())),
        )
    };
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Map(..) => STRING_MAP.clone(),
        DataType::List(item) => DataType::List(field(item)),
        other => other.clone(),
    }
}

/// The type with views in the place of plain strings, to decode into.
pub fn viewed(data_type: &DataType) -> DataType {
    let field = |field: &Arc<Field>| {
        Arc::new(
            field
                .as_ref()
                .clone()
                .with_data_type(viewed(field.data_type())),
        )
    };
    match data_type {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Map(entry, sorted) => DataType::Map(field(entry), *sorted),
        DataType::List(item) => DataType::List(field(item)),
        other => other.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use arrow_array::builder::{MapBuilder, StringViewBuilder};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_what_filter_keeps(rows in prop::collection::vec((prop::option::of("[a-zé]{0,30}"), any::<bool>()), 0..60)) {
            let texts: StringViewArray = rows.iter().map(|(text, _)| text.as_deref()).collect();
            let bits = BooleanBuffer::from_iter(rows.iter().map(|(_, keep)| *keep));
            let keep = Keep::new(bits);
            let kept = gather(&(Arc::new(texts) as ArrayRef), &keep).unwrap();
            let wanted: StringArray =
                rows.iter().filter(|(_, keep)| *keep).map(|(text, _)| text.as_deref()).collect();
            prop_assert_eq!(kept.as_string::<i32>(), &wanted);
            prop_assert_eq!(keep.indices().count(), keep.rows());
        }

        #[test]
        fn maps_keep_their_entries(rows in prop::collection::vec(
            (prop::option::of(prop::collection::vec(("[a-c]{1,20}", prop::option::of("[x-z]{0,20}")), 0..4)), any::<bool>()), 0..40)) {
            let mut builder = MapBuilder::new(None, StringViewBuilder::new(), StringViewBuilder::new());
            for (map, _) in &rows {
                for (key, value) in map.iter().flatten() {
                    builder.keys().append_value(key);
                    builder.values().append_option(value.as_deref());
                }
                builder.append(map.is_some()).unwrap();
            }
            let map: ArrayRef = Arc::new(builder.finish());
            let kept = gather(&map, &Keep::new(BooleanBuffer::from_iter(rows.iter().map(|(_, keep)| *keep)))).unwrap();
            let kept = kept.as_map();
            for (row, (wanted, _)) in rows.iter().filter(|(_, keep)| *keep).enumerate() {
                prop_assert_eq!(kept.is_valid(row), wanted.is_some());
                let entries = kept.value(row);
                let keys = entries.column(0).as_string::<i32>().iter().map(|key| key.unwrap().to_owned());
                let values = entries.column(1).as_string::<i32>().iter().map(|value| value.map(str::to_owned));
                let found: Vec<_> = keys.zip(values).collect();
                prop_assert_eq!(&found, wanted.as_deref().unwrap_or_default());
            }
        }
    }
}
