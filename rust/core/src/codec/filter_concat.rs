//! Filters and concatenates decoded columns in one pass.
//!
//! Text of checkpoints is decoded as views into the page buffers; selected values are copied from there into
//! plain Arrow strings of exactly the right size, so that each byte is copied once and dropped rows cost
//! nothing.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, MapArray, StringArray, StringViewArray, StructArray,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use arrow_select::concat::concat;

use super::file_actions::{DELETION_VECTOR_FIELDS, STRING_MAP, STRING_MAP_FIELDS};
use crate::spec::arrow::replace_types;

/// The selected rows, both as ranges and as a mask.
#[derive(Clone, Debug)]
pub struct SelectedRows {
    ranges: Vec<Range<usize>>,
    mask: BooleanArray,
    rows: usize,
}

impl SelectedRows {
    /// Selects the rows whose bit is set.
    pub fn new(bits: BooleanBuffer) -> Self {
        let ranges = bits.set_slices().map(|(start, end)| start..end).collect();
        let rows = bits.count_set_bits();
        Self {
            ranges,
            mask: BooleanArray::new(bits, None),
            rows,
        }
    }

    /// Returns the number of selected rows.
    pub fn num_rows(&self) -> usize {
        self.rows
    }

    fn selects_all(&self) -> bool {
        self.rows == self.mask.len()
    }
}

/// A part of one column, and its selected rows.
pub type Part<'a> = (&'a ArrayRef, &'a SelectedRows);

/// Concatenates the selected rows of all parts of a column; views become plain strings, and string maps get
/// the field names of this crate.
pub fn filter_concat(parts: &[Part<'_>]) -> Result<ArrayRef, ArrowError> {
    let rows = parts.iter().map(|(_, keep)| keep.rows).sum();
    let Some((first, _)) = parts.first() else {
        return Err(ArrowError::InvalidArgumentError(
            "a column has no parts".into(),
        ));
    };
    if parts
        .iter()
        .all(|(array, _)| array.null_count() == array.len())
    {
        return Ok(nulls(&without_views(first.data_type()), rows));
    }
    match first.data_type() {
        DataType::Utf8View => {
            let parts: Vec<_> = parts
                .iter()
                .map(|(array, keep)| (array.as_string_view(), keep.ranges.as_slice()))
                .collect();
            Ok(Arc::new(strings(&parts, rows)?))
        }
        DataType::Map(..) if parts.iter().all(|(array, _)| is_string_map(array.as_map())) => {
            Ok(Arc::new(string_maps(parts, rows)?))
        }
        DataType::Struct(fields) if !fields.is_empty() => structs(parts, fields, rows),
        _ => {
            let kept = parts.iter().map(|(array, keep)| {
                if keep.selects_all() {
                    Ok(Arc::clone(array))
                } else {
                    arrow_select::filter::filter(array, &keep.mask)
                }
            });
            let kept = kept.collect::<Result<Vec<_>, _>>()?;
            match kept.as_slice() {
                [single] => Ok(Arc::clone(single)),
                many => concat(&many.iter().map(AsRef::as_ref).collect::<Vec<_>>()),
            }
        }
    }
}

/// Returns a column of nulls. For the types of file actions and up to [`SHARED_LENGTH`] rows, it is a slice
/// of one shared array: most columns of a checkpoint are entirely null, and would otherwise take most of the
/// memory.
pub fn nulls(data_type: &DataType, rows: usize) -> ArrayRef {
    static SHARED: LazyLock<Vec<ArrayRef>> = LazyLock::new(|| {
        let vector = DataType::Struct(DELETION_VECTOR_FIELDS.clone());
        let types = [
            DataType::Utf8,
            DataType::Int32,
            DataType::Int64,
            DataType::Boolean,
            STRING_MAP.clone(),
            vector,
        ];
        types
            .iter()
            .map(|data_type| new_null_array(data_type, SHARED_LENGTH))
            .collect()
    });
    let shared = SHARED
        .iter()
        .find(|shared| rows <= SHARED_LENGTH && shared.data_type() == data_type);
    shared.map_or_else(
        || new_null_array(data_type, rows),
        |shared| shared.slice(0, rows),
    )
}

/// The length of the shared columns of nulls: no batch of a checkpoint has more rows.
const SHARED_LENGTH: usize = 48 * 1024;

fn structs(parts: &[Part<'_>], fields: &Fields, rows: usize) -> Result<ArrayRef, ArrowError> {
    let child = |number: usize| {
        let columns = parts.iter().filter_map(|(array, keep)| {
            let column = array.as_struct().columns().get(number)?;
            Some((column, *keep))
        });
        filter_concat(&columns.collect::<Vec<_>>())
    };
    let children = (0..fields.len())
        .map(child)
        .collect::<Result<Vec<_>, _>>()?;
    let fields = with_types_of(fields, &children);
    StructArray::try_new_with_length(fields, children, nulls_of(parts, rows), rows)
        .map(|array| Arc::new(array) as ArrayRef)
}

/// Returns the fields with the types of these columns.
pub(super) fn with_types_of(fields: &Fields, columns: &[ArrayRef]) -> Fields {
    let fields = fields.iter().zip(columns);
    fields
        .map(|(field, column)| Field::clone(field).with_data_type(column.data_type().clone()))
        .collect()
}

fn is_string_map(map: &MapArray) -> bool {
    let text = |array: &ArrayRef| *array.data_type() == DataType::Utf8View;
    text(map.keys()) && text(map.values())
}

fn string_maps(parts: &[Part<'_>], rows: usize) -> Result<MapArray, ArrowError> {
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut entries: Vec<(&MapArray, Vec<Range<usize>>)> = Vec::with_capacity(parts.len());
    let mut end = 0_i32;
    offsets.push(0);
    for (array, keep) in parts {
        let map = array.as_map();
        let from = map.value_offsets();
        let at = |row: usize| from.get(row).copied().unwrap_or_default();
        let mut ranges = Vec::with_capacity(keep.ranges.len());
        for range in &keep.ranges {
            let count = at(range.end) - at(range.start);
            let next = end
                .checked_add(count)
                .ok_or(ArrowError::OffsetOverflowError(index(end)))?;
            let ends = from.get(range.start + 1..=range.end).unwrap_or_default();
            offsets.extend(ends.iter().map(|offset| end + (offset - at(range.start))));
            end = next;
            ranges.push(index(at(range.start))..index(at(range.end)));
        }
        entries.push((map, ranges));
    }
    let selected = |column: fn(&MapArray) -> &ArrayRef| {
        let parts: Vec<_> = entries
            .iter()
            .map(|(map, ranges)| (column(map).as_string_view(), ranges.as_slice()))
            .collect();
        strings(&parts, index(end))
    };
    let keys = Arc::new(selected(MapArray::keys)?);
    let values = Arc::new(selected(MapArray::values)?);
    let entries = StructArray::try_new(STRING_MAP_FIELDS.clone(), vec![keys, values], None)?;
    let field = Field::new_struct("entries", STRING_MAP_FIELDS.clone(), false);
    let offsets = OffsetBuffer::new(offsets.into());
    MapArray::try_new(field.into(), offsets, entries, nulls_of(parts, rows), false)
}

/// Converts an Arrow offset, which is never negative.
fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

/// The selected strings of a column of views.
type Strings<'a> = (&'a StringViewArray, &'a [Range<usize>]);

/// Strings longer than `LONG_TEXT` bytes on average may be together at most `MAX_EXPANSION` times as long as
/// their buffers. Otherwise a dictionary of a few kilobytes could expand to gigabytes.
const LONG_TEXT: usize = 16 << 10;
const MAX_EXPANSION: usize = 64;

/// Refuses long texts that nearly all repeat the same bytes.
pub fn check_expansion(strings: &StringViewArray) -> Result<(), ArrowError> {
    let total = strings.lengths().map(|length| length as usize).sum();
    check_total(total, strings.len(), std::iter::once(strings))
}

/// Checks the bytes of some rows of these arrays.
fn check_total<'a>(
    total: usize,
    rows: usize,
    strings: impl Iterator<Item = &'a StringViewArray>,
) -> Result<(), ArrowError> {
    let buffered = || {
        let buffers = strings.flat_map(|array| array.data_buffers().iter());
        buffers.map(|buffer| buffer.len()).sum::<usize>()
    };
    if total / LONG_TEXT > rows && total / MAX_EXPANSION > buffered() {
        let message = format!("{total} bytes of text, nearly all of them repetitions");
        return Err(ArrowError::InvalidArgumentError(message));
    }
    Ok(())
}

fn strings(parts: &[Strings<'_>], rows: usize) -> Result<StringArray, ArrowError> {
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut total = 0_usize;
    offsets.push(0);
    for_each_view(parts, |_, view| {
        total += view.map_or(0, length);
        // checked after the loop: the total is the greatest offset
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
        offsets.push(total as i32);
    });
    if i32::try_from(total).is_err() {
        return Err(ArrowError::OffsetOverflowError(total));
    }
    check_total(total, rows, parts.iter().map(|(array, _)| *array))?;
    let mut bytes: Vec<u8> = Vec::with_capacity(total);
    for_each_view(parts, |array, view| {
        let Some(view) = view else { return };
        let length = length(view);
        if length <= INLINE {
            let inline = view.to_le_bytes();
            bytes.extend_from_slice(inline.get(4..4 + length).unwrap_or_default());
        } else {
            let buffer = array.data_buffers().get((view >> 64) as u32 as usize);
            let start = (view >> 96) as usize;
            let text = buffer.and_then(|buffer| buffer.get(start..start + length));
            bytes.extend_from_slice(text.unwrap_or_default());
        }
    });
    if bytes.len() != total || offsets.len() != rows + 1 {
        return Err(ArrowError::InvalidArgumentError(
            "a view points outside of its buffers".into(),
        ));
    }
    let nulls = selected_nulls(
        parts.iter().map(|(array, ranges)| (array.nulls(), *ranges)),
        rows,
    );
    // SAFETY: the offsets ascend from 0 to the length of the bytes, and every piece of the bytes is a
    // complete string of an array whose text was validated when it was decoded.
    #[allow(unsafe_code)]
    Ok(unsafe {
        let offsets = OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets));
        StringArray::new_unchecked(offsets, bytes.into(), nulls)
    })
}

/// Strings up to this length are stored in the view itself.
const INLINE: usize = 12;

/// Returns the low 32 bits of a view, which are the length of its string.
#[allow(clippy::cast_possible_truncation, reason = "keeps the low bits")]
fn length(view: u128) -> usize {
    view as u32 as usize
}

/// Calls `visit` with the view of each selected row; `None` if it is null.
fn for_each_view<'a>(
    parts: &[Strings<'a>],
    mut visit: impl FnMut(&'a StringViewArray, Option<u128>),
) {
    for (array, ranges) in parts {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        for range in *ranges {
            let views = array.views().get(range.clone()).unwrap_or_default();
            match nulls {
                None => views.iter().for_each(|view| visit(array, Some(*view))),
                Some(nulls) => range
                    .clone()
                    .zip(views)
                    .for_each(|(row, view)| visit(array, nulls.is_valid(row).then_some(*view))),
            }
        }
    }
}

fn nulls_of(parts: &[Part<'_>], rows: usize) -> Option<NullBuffer> {
    let parts = parts.iter();
    selected_nulls(
        parts.map(|(array, keep)| (array.nulls(), keep.ranges.as_slice())),
        rows,
    )
}

fn selected_nulls<'a>(
    parts: impl Iterator<Item = (Option<&'a NullBuffer>, &'a [Range<usize>])> + Clone,
    rows: usize,
) -> Option<NullBuffer> {
    let mut nulls = parts.clone().filter_map(|(nulls, _)| nulls);
    if nulls.all(|nulls| nulls.null_count() == 0) {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(rows);
    for (nulls, ranges) in parts {
        for range in ranges {
            match nulls {
                Some(nulls) => bits.append_buffer(&nulls.inner().slice(range.start, range.len())),
                None => bits.append_n(range.len(), true),
            }
        }
    }
    NullBuffer::from_unsliced_buffer(bits.finish().into_inner(), rows)
}

/// Returns the type with plain strings instead of views, and string maps in the output type.
fn without_views(data_type: &DataType) -> DataType {
    replace_types(data_type, &|nested| match nested {
        DataType::Utf8View => Some(DataType::Utf8),
        DataType::Map(..) => Some(STRING_MAP.clone()),
        _ => None,
    })
}

/// Returns the type with string views instead of plain strings and bytes, for decoding.
pub fn with_string_views(data_type: &DataType) -> DataType {
    replace_types(data_type, &|nested| match nested {
        DataType::Utf8 | DataType::Binary => Some(DataType::Utf8View),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
