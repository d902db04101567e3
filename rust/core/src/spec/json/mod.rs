//! Parsers of JSON text for what serde does not cover: the log's lines, statistics, schemas, hints and
//! checksums.
//!
//! They take valid UTF-8, build no tree, copy nothing until a string is decoded, and bound the nesting without
//! recursion, so that hostile input exhausts neither stack nor memory. [`Cursor`] returns tokens on demand,
//! [`JsonReader`] checked events.

mod bytes;
mod cursor;
mod events;
mod string;

use std::fmt;

use crate::error::{Error, Result};

pub(crate) use bytes::plain_prefix;
pub use cursor::Cursor;
pub(crate) use cursor::is_number;
pub(crate) use events::{Event, JsonReader, MAX_DEPTH, for_each_entry};
pub use string::RawString;

/// An error in a JSON text, with its byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Byte offset in the text, 0-based.
    pub offset: usize,
    /// The problem, or what was expected at this position.
    pub message: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

impl JsonError {
    /// Converts the error to one about a file that begins with the text.
    pub(crate) fn corrupt(self, code: &'static str, context: &str) -> Error {
        let offset = self.offset as u64;
        Error::corrupt(code, format!("{context}: {self}")).at_offset(offset)
    }
}

/// Decodes a file as UTF-8 text.
///
/// # Errors
///
/// Corrupt: `code`, with the offset of the first byte that is not UTF-8.
pub(crate) fn text_of<'a>(bytes: &'a [u8], code: &'static str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|cause| {
        let offset = cause.valid_up_to() as u64;
        Error::corrupt(code, "the file is not UTF-8 text")
            .at_offset(offset)
            .because(cause)
    })
}

/// Formats untrusted text for a message: quoted, escaped, and truncated.
pub(crate) fn clipped(text: &str) -> String {
    match text
        .char_indices()
        .nth(100)
        .and_then(|(end, _)| text.get(..end))
    {
        Some(head) => format!("{head:?}…"),
        None => format!("{text:?}"),
    }
}
