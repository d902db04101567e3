//! A look at a footer, or at the header of a page, before it is decoded: does it cost more than its bytes?
//!
//! Both are structs in Thrift's compact protocol. A decoder that skips a field which it does not know
//! believes its count; of elements that take no bytes, as booleans do for some decoders, a count alone
//! costs seconds. One that knows a field may believe it to be of its type whatever is written, and would
//! go on elsewhere than a walk does. So each element takes its bytes here, lists of booleans are refused,
//! and so are known fields of other types: no file of a real writer has any.
//!
//! Protocol: Apache Parquet, "File Format"; Apache Thrift, "Compact protocol encoding".

use super::layout::{FILE, Fields, PAGE, Type};

/// Structs and lists inside each other; those of a footer are about ten.
const MAX_DEPTH: usize = 64;

/// Columns inside each other. The decoder of schemas calls itself for each.
const MAX_SCHEMA_DEPTH: usize = 1_000;

const STRUCT: u8 = 12;

/// A value that is open, and the elements left of it.
enum OpenValue {
    /// The known fields, and the one that is read.
    Struct(Fields, i16),
    /// Elements of one type, and what is known of it.
    List(u8, Option<Type>, u64),
    /// Entries of two types, and whether a value is next.
    Map(u8, u8, u64, bool),
}

/// The content of a footer, read without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WalkedFooter {
    /// It names an algorithm of encryption: pages of columns are encrypted.
    pub(super) encrypted_columns: bool,
}

/// Looks at a footer that can be walked in as many steps as it has bytes, and whose schema is a tree of the
/// elements that it has; `None` for any other bytes.
pub(super) fn walked_footer(bytes: &[u8]) -> Option<WalkedFooter> {
    let mut encrypted_columns = false;
    // groups: how many elements come after each, and how many children it claims
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
            Some((last, _)) if *last < *after => return None, // another schema
            Some((last, before)) if last == after => *before = children,
            _ => groups.push((*after, children)),
        }
        Some(())
    })?;
    is_flat(&groups).then_some(WalkedFooter { encrypted_columns })
}

/// Returns `true` if no group lies too deep.
fn is_flat(groups: &[(u64, u64)]) -> bool {
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

/// Takes children of the innermost groups that still lack some.
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
    /// Its own length.
    pub(super) length: usize,
    pub(super) kind: i64,
    pub(super) uncompressed: i64,
    pub(super) compressed: i64,
    pub(super) crc: Option<i64>,
    pub(super) values: i64,
    /// The encoding of the values of a data page.
    pub(super) encoding: i64,
}

impl PageHeader {
    pub(super) const DATA: i64 = 0;
    pub(super) const DICTIONARY: i64 = 2;
    pub(super) const DATA_V2: i64 = 3;

    /// Returns `true` if the values are numbers of words in a dictionary.
    pub(super) fn is_dictionary_encoded(&self) -> bool {
        matches!(self.encoding, 2 | 8)
    }

    /// Returns `true` if texts begin with parts of those before them.
    pub(super) fn is_delta_encoded(&self) -> bool {
        self.encoding == 7
    }
}

/// The header that the bytes begin with.
pub(super) fn page_header(bytes: &[u8]) -> Option<PageHeader> {
    let mut header = PageHeader::default();
    let mut values = [None; 3];
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
            [OpenValue::Struct(_, 5), OpenValue::Struct(_, 2)]
            | [OpenValue::Struct(_, 8), OpenValue::Struct(_, 4)] => header.encoding = number,
            _ => {}
        }
        Some(())
    })?;
    let kind = match header.kind {
        PageHeader::DATA => 0,
        PageHeader::DICTIONARY => 1,
        PageHeader::DATA_V2 => 2,
        _ => return Some(header),
    };
    header.values = (*values.get(kind)?)?;
    Some(header)
}

/// Takes what is open and a number, or that the innermost value was opened; `None` ends the walk.
type Seen<'a> = dyn FnMut(&[OpenValue], Option<i64>) -> Option<()> + 'a;

/// Walks a struct, shows its integers and booleans, and that another value has been opened, and gives its
/// length.
fn walk(bytes: &[u8], fields: Fields, seen: &mut Seen<'_>) -> Option<usize> {
    let mut rest = bytes;
    let mut open = vec![OpenValue::Struct(fields, 0)];
    while let Some(innermost) = open.last_mut() {
        let (of, known) = match innermost {
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
                let of = header & 0x0F;
                let known = fields.iter().find(|(number, _)| number == id);
                let known = known.map(|(_, known)| *known);
                if known.is_some_and(|known| !known.is(of)) {
                    return None;
                }
                if matches!(of, 1 | 2) {
                    seen(&open, Some(i64::from(of == 1)))?; // a boolean is its type
                    continue;
                }
                (of, known)
            }
            OpenValue::List(.., 0) | OpenValue::Map(_, _, 0, false) => {
                open.pop();
                continue;
            }
            OpenValue::List(of, known, left) => {
                *left -= 1;
                (*of, *known)
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
        if matches!(of, 4..=6) {
            let number = zigzag(varint(&mut rest)?);
            if matches!(known, Some(Type::I32)) {
                i32::try_from(number).ok()?;
            }
            seen(&open, Some(number))?;
        } else if let Some(inner) = value(of, known, &mut rest)? {
            open.push(inner);
            seen(&open, None)?;
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    Some(bytes.len() - rest.len())
}

/// Takes a value that is no integer, or opens it.
fn value(of: u8, known: Option<Type>, bytes: &mut &[u8]) -> Option<Option<OpenValue>> {
    match of {
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
            let of = header & 0x0F;
            let sound = count == 0 || is_element(of) && element.is_none_or(|known| known.is(of));
            return sound.then_some(Some(OpenValue::List(of, element, count)));
        }
        11 => {
            let count = varint(bytes)?;
            if count == 0 {
                return Some(None);
            }
            let types = byte(bytes)?;
            let (key, value) = (types >> 4, types & 0x0F);
            return (is_element(key) && is_element(value))
                .then_some(Some(OpenValue::Map(key, value, count, false)));
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

/// Anything that takes bytes wherever it stands.
fn is_element(of: u8) -> bool {
    (3..=13).contains(&of)
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

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        number |= u64::from(next & 0x7F) << shift;
        if next & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Decodes a signed number.
fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests;
