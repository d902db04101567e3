//! Binary encoding of variant values.

/// The basic type of an object.
const OBJECT: u8 = 2;

/// Reads a little-endian integer of `width` bytes, 1 to 4, at the offset `at`.
pub(super) fn integer_at(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    let fold = |all: usize, byte: &u8| all << 8 | usize::from(*byte);
    Some(bytes.iter().rev().fold(0, fold))
}

fn put(out: &mut Vec<u8>, number: usize, width: usize) {
    out.extend(number.to_le_bytes().into_iter().take(width));
}

/// Returns the number of bytes that a number takes.
fn width(number: usize) -> usize {
    match number {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

/// Writes a primitive value: its type id, then its bytes.
pub(super) fn primitive(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind << 2);
    out.extend_from_slice(bytes);
}

pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    const SHORT: u8 = 1;
    const LONG: u8 = 16;
    match u8::try_from(text.len()) {
        Ok(length @ 0..64) => {
            out.push(length << 2 | SHORT);
            out.extend_from_slice(text.as_bytes());
        }
        _ => sized(out, LONG, text.as_bytes()),
    }
}

/// Writes a primitive value with a length prefix.
pub(super) fn sized(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind << 2);
    put(out, bytes.len(), 4);
    out.extend_from_slice(bytes);
}

/// Writes the offsets of values of these sizes, and of their end.
fn offsets(out: &mut Vec<u8>, sizes: &[usize], offset_width: usize) {
    let mut offset = 0;
    put(out, offset, offset_width);
    for size in sizes {
        offset += size;
        put(out, offset, offset_width);
    }
}

/// Writes an array of values of these sizes.
pub(super) fn array(out: &mut Vec<u8>, sizes: &[usize], values: &[u8]) {
    const ARRAY: u8 = 3;
    let offset_width = width(values.len());
    let large = sizes.len() > 0xff;
    // the width is 1 to 4, which fits into two bits
    let header = u8::from(large) << 4 | (offset_width as u8 - 1) << 2 | ARRAY;
    out.push(header);
    put(out, sizes.len(), if large { 4 } else { 1 });
    offsets(out, sizes, offset_width);
    out.extend_from_slice(values);
}

/// Writes an object; `ids` are in the order of their names.
pub(super) fn object(out: &mut Vec<u8>, ids: &[usize], sizes: &[usize], values: &[u8]) {
    let offset_width = width(values.len());
    let id_width = width(ids.iter().copied().max().unwrap_or(0));
    let large = ids.len() > 0xff;
    let header =
        u8::from(large) << 6 | (id_width as u8 - 1) << 4 | (offset_width as u8 - 1) << 2 | OBJECT;
    out.push(header);
    put(out, ids.len(), if large { 4 } else { 1 });
    for id in ids {
        put(out, *id, id_width);
    }
    offsets(out, sizes, offset_width);
    out.extend_from_slice(values);
}

/// Returns the fields of an object: ids and values. `None` if the bytes are not a complete object.
pub(super) fn fields(value: &[u8]) -> Option<Vec<(usize, &[u8])>> {
    let (header, rest) = value.split_first()?;
    if header & 3 != OBJECT {
        return None;
    }
    let offset_width = usize::from(header >> 2 & 3) + 1;
    let id_width = usize::from(header >> 4 & 3) + 1;
    let count_width = if header >> 6 & 1 == 1 { 4 } else { 1 };
    let count = integer_at(rest, 0, count_width)?;
    let ids = rest.get(count_width..)?;
    let offsets = ids.get(count.checked_mul(id_width)?..)?;
    let values = offsets.get(count.checked_add(1)?.checked_mul(offset_width)?..)?;
    let values = values.get(..integer_at(offsets, count * offset_width, offset_width)?)?;
    let mut starts = Vec::new();
    for field in 0..=count {
        starts.push(integer_at(offsets, field * offset_width, offset_width)?);
    }
    // values may be in a different order than names: each ends where the next one begins
    let mut ends = starts.clone();
    ends.sort_unstable();
    let mut fields = Vec::new();
    for (field, start) in starts.iter().enumerate().take(count) {
        let next = ends.partition_point(|end| end <= start);
        let end = ends.get(next)?;
        fields.push((
            integer_at(ids, field * id_width, id_width)?,
            values.get(*start..*end)?,
        ));
    }
    Some(fields)
}
