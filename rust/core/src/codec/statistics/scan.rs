//! Tokenizer for statistics.
//!
//! Parsed values are checked strictly (keys, scalars, commas, escapes, control characters), with one
//! exception: the bare words `NaN`, `Infinity` and `-Infinity` are accepted as numbers, because some writers
//! emit them. Skipped objects and arrays are only checked for terminated strings and balanced brackets.
//! Nothing recurses, whatever the nesting.
//!
//! `None` always means malformed: the caller discards the whole text.

use crate::spec::json::{Cursor, RawString, is_number};

/// One scalar as written in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    /// A string.
    Text(RawString<'a>),
    /// A number, or a bare word for a number that JSON cannot express.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// Reads a key and its colon.
#[inline]
pub(super) fn key<'a>(cursor: &mut Cursor<'a>) -> Option<RawString<'a>> {
    cursor.key().ok().filter(|key| !key.has_control())
}

/// Reads a scalar.
#[inline]
pub(super) fn scalar<'a>(cursor: &mut Cursor<'a>) -> Option<Scalar<'a>> {
    if cursor.peek()? == b'"' {
        let text = cursor.string().ok().filter(|text| !text.has_control());
        return text.map(Scalar::Text);
    }
    let word = cursor.word(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte));
    match word {
        "true" => Some(Scalar::Bool(true)),
        "false" => Some(Scalar::Bool(false)),
        "null" => Some(Scalar::Null),
        "NaN" | "Infinity" | "-Infinity" => Some(Scalar::Number(word)),
        _ if is_number(word.as_bytes()) => Some(Scalar::Number(word)),
        _ => None,
    }
}

/// Skips a value of any kind. Unlike `Cursor::skip`, it accepts `NaN` and the infinities.
#[inline]
pub(super) fn skip<'a>(cursor: &mut Cursor<'a>) -> Option<()> {
    match cursor.peek()? {
        open @ (b'{' | b'[') => {
            cursor.take_byte(open);
            cursor.skip_open().ok()
        }
        _ => scalar(cursor).map(|_| ()),
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
