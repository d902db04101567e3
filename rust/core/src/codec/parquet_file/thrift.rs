//! Validates a footer or page header before it is decoded, so that the cost of decoding is bounded by its
//! size.
//!
//! Both are structs in Thrift's compact protocol. When a decoder skips an unknown field it trusts the element
//! count; elements that some decoders read without consuming bytes, such as booleans, then cost seconds for a
//! few bytes. A decoder may also assume the declared type of a known field whatever its wire type, and
//! continue at a different offset than this validation. So every element must take bytes here, and lists of
//! booleans and known fields with other types are refused: no real writer produces them.
//!
//! Protocol: Apache Parquet, "File Format"; Apache Thrift, "Compact protocol encoding".

use super::integers::{varint, zigzag};
use super::layout::{FILE, Fields, PAGE, Type};

/// Maximum nesting of structs and lists; real footers have about ten levels.
const MAX_DEPTH: usize = 64;

/// Maximum nesting of columns. The schema decoder recurses for each level.
const MAX_SCHEMA_DEPTH: usize = 1_000;

const STRUCT: u8 = 12;

/// An open value, and its remaining elements.
enum OpenValue {
    /// The known fields, and the id of the current field.
    Struct(Fields, i16),
    /// Element wire type, known type, and remaining elements.
    List(u8, Option<Type>, u64),
    /// Key and value wire types, remaining elements, and whether a value is next.
    Map(u8, u8, u64, bool),
}

/// Validates a footer, and returns `true` if it names an encryption algorithm: columns are encrypted. `None` if it
/// does not parse in as many steps as it has bytes, or if its schema is not a tree of its elements.
pub(super) fn has_encrypted_columns(bytes: &[u8]) -> Option<bool> {
    let mut encrypted_columns = false;
    // per group: the number of elements after it, and its claimed number of children
    let mut groups: Vec<(u64, u64)> = Vec::new();
    walk(bytes, &FILE, &mut |open, number| {
        let Some(number) = number else {
            encrypted_columns |= matches!(open, [OpenValue::Struct(_, 8), _]);
            return Some(());
        };
        let [
            OpenValue::Struct(_, 2),
            OpenValue::List(.., after),
            OpenValue::Struct(_, 5),
        ] = open
        else {
            return Some(());
        };
        let children = u64::try_from(number)
            .ok()
            .filter(|children| children <= after)?;
        match groups.last_mut() {
            Some((last, _)) if *last < *after => return None, // a second schema
            Some((last, before)) if last == after => *before = children,
            _ => groups.push((*after, children)),
        }
        Some(())
    })?;
    is_shallow(&groups).then_some(encrypted_columns)
}

/// Returns `true` if no group is nested too deeply.
fn is_shallow(groups: &[(u64, u64)]) -> bool {
    let mut open: Vec<u64> = Vec::new();
    let mut next = None;
    for (after, children) in groups {
        let leaves = next.map_or(0, |next: u64| next.saturating_sub(*after));
        take_children(&mut open, leaves);
        take_children(&mut open, 1);
        open.push(*children);
        if open.len() > MAX_SCHEMA_DEPTH {
            return false;
        }
        next = after.checked_sub(1);
    }
    true
}

/// Assigns children to the innermost groups that still lack some.
fn take_children(open: &mut Vec<u64>, mut count: u64) {
    while count > 0 {
        match open.last_mut() {
            None => return,
            Some(0) => drop(open.pop()),
            Some(left) => {
                let taken = count.min(*left);
                *left -= taken;
                count -= taken;
            }
        }
    }
}

/// The content of a page's header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// The length of the header itself.
    pub(super) length: usize,
    pub(super) kind: i64,
    pub(super) uncompressed: i64,
    pub(super) compressed: i64,
    pub(super) crc: Option<i64>,
    pub(super) values: i64,
    /// The encoding of the values of a data page.
    pub(super) encoding: i64,
    /// The bytes of levels before the compressed part of the body.
    pub(super) levels: i64,
}

impl PageHeader {
    pub(super) const DATA: i64 = 0;
    pub(super) const DICTIONARY: i64 = 2;
    pub(super) const DATA_V2: i64 = 3;

    /// Returns `true` if the values are dictionary indexes.
    pub(super) fn is_dictionary_encoded(&self) -> bool {
        matches!(self.encoding, 2 | 8)
    }

    /// Returns `true` if the lengths of strings are delta-encoded (`DELTA_LENGTH_BYTE_ARRAY`,
    /// `DELTA_BYTE_ARRAY`).
    pub(super) fn has_delta_lengths(&self) -> bool {
        matches!(self.encoding, 6 | 7)
    }
}

/// Parses the header at the beginning of the bytes.
pub(super) fn page_header(bytes: &[u8]) -> Option<PageHeader> {
    let mut header = PageHeader::default();
    let mut values = [None; 3];
    let mut encodings = [0; 2];
    let mut levels = [0; 2];
    header.length = walk(bytes, &PAGE, &mut |open, number| {
        let Some(number) = number else {
            return Some(());
        };
        match open {
            [OpenValue::Struct(_, 1)] => header.kind = number,
            [OpenValue::Struct(_, 2)] => header.uncompressed = number,
            [OpenValue::Struct(_, 3)] => header.compressed = number,
            [OpenValue::Struct(_, 4)] => header.crc = Some(number),
            [OpenValue::Struct(_, 5), OpenValue::Struct(_, 1)] => values[0] = Some(number),
            [OpenValue::Struct(_, 7), OpenValue::Struct(_, 1)] => values[1] = Some(number),
            [OpenValue::Struct(_, 8), OpenValue::Struct(_, 1)] => values[2] = Some(number),
            [OpenValue::Struct(_, 5), OpenValue::Struct(_, 2)] => encodings[0] = number,
            [OpenValue::Struct(_, 8), OpenValue::Struct(_, 4)] => encodings[1] = number,
            [OpenValue::Struct(_, 8), OpenValue::Struct(_, 5)] => levels[0] = number,
            [OpenValue::Struct(_, 8), OpenValue::Struct(_, 6)] => levels[1] = number,
            _ => {}
        }
        Some(())
    })?;
    // the decoder does not decompress levels, whatever the kind of the page
    header.levels = levels.iter().sum();
    (header.values, header.encoding) = match header.kind {
        PageHeader::DATA => (values[0]?, encodings[0]),
        PageHeader::DICTIONARY => (values[1]?, 0),
        PageHeader::DATA_V2 => (values[2]?, encodings[1]),
        _ => return Some(header),
    };
    Some(header)
}

/// Called with the open values and a number, or without one when the innermost value was opened; `None` ends
/// the walk.
type Visitor<'a> = dyn FnMut(&[OpenValue], Option<i64>) -> Option<()> + 'a;

/// Walks a struct and passes its integers, booleans and opened values to `visit`; returns its length.
fn walk(bytes: &[u8], fields: Fields, visit: &mut Visitor<'_>) -> Option<usize> {
    let mut rest = bytes;
    let mut open = vec![OpenValue::Struct(fields, 0)];
    while let Some(innermost) = open.last_mut() {
        let (wire_type, known) = match innermost {
            OpenValue::Struct(fields, id) => {
                let header = byte(&mut rest)?;
                if header == 0 {
                    open.pop();
                    continue;
                }
                *id = match header >> 4 {
                    0 => i16::try_from(zigzag(varint(&mut rest)?)).ok()?,
                    further => id.checked_add(i16::from(further))?,
                };
                let wire_type = header & 0x0F;
                let known = fields.iter().find(|(number, _)| number == id);
                let known = known.map(|(_, known)| *known);
                if let Some(known) = known
                    && !known.has_wire_type(wire_type)
                {
                    return None;
                }
                if matches!(wire_type, 1 | 2) {
                    visit(&open, Some(i64::from(wire_type == 1)))?; // the type is the value of a boolean
                    continue;
                }
                (wire_type, known)
            }
            OpenValue::List(.., 0) | OpenValue::Map(_, _, 0, false) => {
                open.pop();
                continue;
            }
            OpenValue::List(wire_type, known, left) => {
                *left -= 1;
                (*wire_type, *known)
            }
            OpenValue::Map(key, value, left, is_value) => {
                *is_value = !*is_value;
                if *is_value {
                    *left -= 1;
                    (*key, None)
                } else {
                    (*value, None)
                }
            }
        };
        if matches!(wire_type, 4..=6) {
            let number = zigzag(varint(&mut rest)?);
            if matches!(known, Some(Type::I32)) {
                i32::try_from(number).ok()?;
            }
            visit(&open, Some(number))?;
        } else if let Some(inner) = value(wire_type, known, &mut rest)? {
            open.push(inner);
            visit(&open, None)?;
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    Some(bytes.len() - rest.len())
}

/// Reads a value that is not an integer, or opens it.
fn value(wire_type: u8, known: Option<Type>, bytes: &mut &[u8]) -> Option<Option<OpenValue>> {
    match wire_type {
        3 => take(bytes, 1)?,
        7 => take(bytes, 8)?,
        8 => {
            let length = varint(bytes)?;
            take(bytes, usize::try_from(length).ok()?)?;
        }
        9 | 10 => {
            let header = byte(bytes)?;
            let count = match header >> 4 {
                15 => varint(bytes)?,
                count => u64::from(count),
            };
            let element = match known {
                Some(Type::List(element)) => Some(*element),
                _ => None,
            };
            let wire_type = header & 0x0F;
            let is_valid = count == 0
                || is_element(wire_type)
                    && element.is_none_or(|known| known.has_wire_type(wire_type));
            if !is_valid {
                return None;
            }
            return Some(Some(OpenValue::List(wire_type, element, count)));
        }
        11 => {
            let count = varint(bytes)?;
            if count == 0 {
                return Some(None);
            }
            let types = byte(bytes)?;
            let (key, value) = (types >> 4, types & 0x0F);
            if !is_element(key) || !is_element(value) {
                return None;
            }
            return Some(Some(OpenValue::Map(key, value, count, false)));
        }
        STRUCT => {
            let fields = match known {
                Some(Type::Struct(fields)) => fields,
                _ => &[],
            };
            return Some(Some(OpenValue::Struct(fields, 0)));
        }
        13 => take(bytes, 16)?,
        _ => return None,
    }
    Some(None)
}

/// Returns `true` for element types that always take bytes.
fn is_element(wire_type: u8) -> bool {
    (3..=13).contains(&wire_type)
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn take(bytes: &mut &[u8], count: usize) -> Option<()> {
    *bytes = bytes.get(count..)?;
    Some(())
}

#[cfg(test)]
mod tests;
