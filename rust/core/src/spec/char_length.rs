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
/// The maximum length to which strings are padded: a table could declare one that exhausts the memory.
const MAX_CHARACTERS: usize = 4096;

impl StructField {
    /// Returns the length to which the strings of a `char(n)` column are padded; `None` if `n`
    /// exceeds `MAX_CHARACTERS`.
    pub fn char_length(&self) -> Option<usize> {
        let declared = self.metadata.get(DECLARED_TYPE).and_then(Value::as_str);
        declared.and_then(padded_length)
    }
}

/// Returns the length to which the strings of a `char(n)` column in Arrow are padded, as
/// [`StructField::char_length`].
pub(crate) fn char_length(field: &Field) -> Option<usize> {
    padded_length(field.metadata().get(DECLARED_TYPE)?)
}

fn padded_length(declared: &str) -> Option<usize> {
    declared_length(declared, "char").filter(|characters| *characters <= MAX_CHARACTERS)
}

/// Returns `n` if the declared type is `name(n)`.
pub(crate) fn declared_length(declared: &str, name: &str) -> Option<usize> {
    let declared = declared.trim().to_ascii_lowercase();
    let inside = declared.strip_prefix(name)?.trim();
    let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
    inside.trim().parse().ok()
}

/// Pads a string with spaces to this many characters.
pub(crate) fn padded(text: &str, characters: usize) -> Cow<'_, str> {
    match characters.checked_sub(text.chars().count()) {
        None | Some(0) => Cow::Borrowed(text),
        Some(missing) => Cow::Owned(format!("{text}{}", " ".repeat(missing))),
    }
}

/// Prepares a string for comparison with strings of this length: trailing spaces are ignored.
pub(crate) fn trim_and_pad(text: &str, characters: usize) -> Cow<'_, str> {
    padded(text.trim_end_matches(' '), characters)
}

/// Pads strings with spaces; values of another type are unchanged.
pub(crate) fn pad_values(values: &ArrayRef, characters: usize) -> ArrayRef {
    let fill = |text: Option<&str>| text.map(|text| padded(text, characters).into_owned());
    if let Some(strings) = values.as_string_opt::<i32>() {
        return Arc::new(strings.iter().map(fill).collect::<StringArray>());
    }
    match values.as_string_view_opt() {
        Some(strings) => Arc::new(strings.iter().map(fill).collect::<StringArray>()),
        None => Arc::clone(values),
    }
}

#[cfg(test)]
mod tests;
