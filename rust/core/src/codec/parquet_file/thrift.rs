//! A look at a footer before it is decoded: does it cost more than its bytes?
//!
//! The footer is one struct in Thrift's compact protocol. A decoder that skips a field which it does
//! not know believes its count; of elements that take no bytes, as booleans do for some decoders, a
//! count alone costs seconds. Here each element takes its bytes, and lists of booleans are refused:
//! no footer has any.
//!
//! Protocol: Apache Parquet, "File Format"; Apache Thrift, "Compact protocol encoding".

/// Structs and lists inside each other; those of a footer are about ten.
const MAX_DEPTH: usize = 64;

const STRUCT: u8 = 12;

/// What is open, and what is left of it.
enum Open {
    Struct,
    /// Elements of one type.
    List(u8, u64),
    /// Entries of two types, and whether a value is next.
    Map(u8, u8, u64, bool),
}

/// Whether the bytes begin with a struct that can be walked in as many steps as it has bytes.
pub(super) fn is_bounded(bytes: &[u8]) -> bool {
    walk(bytes).is_some()
}

fn walk(mut bytes: &[u8]) -> Option<()> {
    let mut open = vec![Open::Struct];
    while let Some(innermost) = open.last_mut() {
        let next = match innermost {
            Open::Struct => {
                let header = byte(&mut bytes)?;
                if header == 0 {
                    open.pop();
                    continue;
                }
                if header >> 4 == 0 {
                    varint(&mut bytes)?; // the number of the field
                }
                match header & 0x0F {
                    1 | 2 => continue, // a boolean is its type
                    other => other,
                }
            }
            Open::List(_, 0) | Open::Map(_, _, 0, false) => {
                open.pop();
                continue;
            }
            Open::List(of, left) => {
                *left -= 1;
                *of
            }
            Open::Map(key, value, left, is_value) => {
                *is_value = !*is_value;
                if *is_value {
                    *left -= 1;
                    *key
                } else {
                    *value
                }
            }
        };
        if let Some(inner) = value(next, &mut bytes)? {
            open.push(inner);
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    Some(())
}

/// Takes a value, or opens it.
fn value(of: u8, bytes: &mut &[u8]) -> Option<Option<Open>> {
    match of {
        3 => take(bytes, 1)?,
        4..=6 => drop(varint(bytes)?),
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
            return (count == 0 || is_element(header & 0x0F))
                .then_some(Some(Open::List(header & 0x0F, count)));
        }
        11 => {
            let count = varint(bytes)?;
            if count == 0 {
                return Some(None);
            }
            let types = byte(bytes)?;
            let (key, value) = (types >> 4, types & 0x0F);
            return (is_element(key) && is_element(value))
                .then_some(Some(Open::Map(key, value, count, false)));
        }
        STRUCT => return Some(Some(Open::Struct)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_its_bytes_is_bounded() {
        for sound in [
            &b"\x00"[..],
            b"\x15\x02\x00",
            b"\x11\x12\x00",                     // two booleans
            b"\x18\x02ab\x00",                   // text
            b"\x19\x25\x02\x04\x00",             // two numbers
            b"\x19\x2c\x15\x02\x00\x00\x00",     // two structs
            b"\x1b\x01\x85\x01a\x02\x00",        // a map from text to number
            b"\x1b\x00\x00",                     // one of nothing
            b"\x19\x00\x00",                     // a list of nothing
            b"\x05\x02\x02\x00",                 // a field with its number
            b"\x17\0\0\0\0\0\0\0\0\x00trailing", // eight bytes
        ] {
            assert!(is_bounded(sound), "{sound:?}");
        }
    }

    #[test]
    fn what_claims_more_than_it_has_is_not() {
        let huge = b"\xff\xff\xff\xff\x07";
        for (head, tail) in [
            (&b"\xf9\xf1"[..], &b"\x00"[..]), // booleans
            (b"\xf9\xf2", b"\x00"),
            (b"\xfa\xf1", b"\x00"),
            (b"\xf9\xf0", b"\x00"), // of no type
            (b"\xf9\xfe", b"\x00"),
            (b"\xf9\xfc", b"\x00\x00\x00"), // structs
            (b"\xfb", b"\x11\x00"),         // a map of booleans
            (b"\xf8", b"\x00"),             // text
        ] {
            let text = [head, huge, tail].concat();
            assert!(!is_bounded(&text), "{text:?}");
        }
        assert!(!is_bounded(b""));
        assert!(!is_bounded(b"\x15"));
        assert!(!is_bounded(&b"\x1c".repeat(1000)));
        assert!(!is_bounded(&[&b"\x19"[..], &b"\x19".repeat(1000)].concat()));
        assert!(!is_bounded(&b"\xff".repeat(20)));
    }
}
