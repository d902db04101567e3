//! Strings of limited length: Spark keeps `char(n)` and `varchar(n)` in the metadata of string columns.
//!
//! A `char(n)` value is padded with spaces to `n` characters in expressions and comparisons, whether its
//! writer padded it or not. Rows are returned as stored.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::Field;
use serde_json::Value;

use crate::spec::schema::StructField;

/// The key in a column's metadata.
pub(crate) const DECLARED_TYPE: &str = "__CHAR_VARCHAR_TYPE_STRING";
/// The maximum length to which strings are padded.
const MAX_LETTERS: usize = 4096;

impl StructField {
    /// Returns `n` of a `char(n)` column.
    pub fn char_length(&self) -> Option<usize> {
        let declared = self.metadata.get(DECLARED_TYPE).and_then(Value::as_str);
        declared.and_then(filling)
    }
}

/// Returns `n` of a `char(n)` column in Arrow.
pub(crate) fn char_length(field: &Field) -> Option<usize> {
    filling(field.metadata().get(DECLARED_TYPE)?)
}

/// Returns the length to which strings are padded; `None` above the limit.
fn filling(declared: &str) -> Option<usize> {
    declared_length(declared, "char").filter(|letters| *letters <= MAX_LETTERS)
}

/// Returns `n` of a type of this name with a length.
pub(crate) fn declared_length(declared: &str, name: &str) -> Option<usize> {
    let declared = declared.trim().to_ascii_lowercase();
    let inside = declared.strip_prefix(name)?.trim();
    let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
    inside.trim().parse().ok()
}

/// Pads a string with spaces to this many characters.
pub(crate) fn filled(text: &str, letters: usize) -> Cow<'_, str> {
    match letters.checked_sub(text.chars().count()) {
        None | Some(0) => Cow::Borrowed(text),
        Some(missing) => Cow::Owned(format!("{text}{}", " ".repeat(missing))),
    }
}

/// Prepares a string for comparison with strings of this length: trailing spaces are ignored.
pub(crate) fn fitted(text: &str, letters: usize) -> Cow<'_, str> {
    filled(text.trim_end_matches(' '), letters)
}

/// Pads strings with spaces; values of another type are unchanged.
pub(crate) fn filled_up(values: &ArrayRef, letters: usize) -> ArrayRef {
    let fill = |text: Option<&str>| text.map(|text| filled(text, letters).into_owned());
    if let Some(texts) = values.as_string_opt::<i32>() {
        return Arc::new(texts.iter().map(fill).collect::<StringArray>());
    }
    match values.as_string_view_opt() {
        Some(texts) => Arc::new(texts.iter().map(fill).collect::<StringArray>()),
        None => Arc::clone(values),
    }
}

#[cfg(test)]
mod tests;
