//! Statistics texts as tokens.
//!
//! Values that are taken are checked strictly (keys, scalars, commas, escapes, control characters),
//! with one mercy: the bare words `NaN`, `Infinity` and `-Infinity` pass as numbers, because some
//! writers emit them. What is skipped is only checked to have its strings ended and its brackets
//! closed. Nothing recurses, whatever the nesting.
//!
//! `None` always means malformed: the caller drops the whole text.

use crate::spec::json::{Cursor, RawString, is_number};

/// One scalar as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    /// A string.
    Text(RawString<'a>),
    /// A number, or one of the bare words for numbers that JSON cannot spell.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// Takes a key and its colon.
#[inline]
pub(super) fn key<'a>(cursor: &mut Cursor<'a>) -> Option<RawString<'a>> {
    cursor.key().ok().filter(|key| !key.has_control())
}

/// Takes a scalar.
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
        _ => is_number(word.as_bytes()).then_some(Scalar::Number(word)),
    }
}

/// Passes over a value of any kind.
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
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]
mod tests;
