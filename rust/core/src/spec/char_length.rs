//! Texts of limited length: Spark keeps `char(n)` and `varchar(n)` in the metadata of string columns.
//!
//! A `char(n)` is padded with spaces to `n` characters wherever it is computed with or compared, whether its writer
//! did so or not. Rows are given back as they are stored.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::Field;
use serde_json::Value;

use crate::spec::schema::StructField;

/// The key in a column's metadata.
pub(crate) const DECLARED_TYPE: &str = "__CHAR_VARCHAR_TYPE_STRING";
/// The maximum length to which texts are padded.
const MAX_LETTERS: usize = 4096;

impl StructField {
    /// `n` of a `char(n)` column.
    pub fn char_length(&self) -> Option<usize> {
        let declared = self.metadata.get(DECLARED_TYPE).and_then(Value::as_str);
        declared.and_then(filling)
    }
}

/// `n` of a `char(n)` column in Arrow.
pub(crate) fn char_length(field: &Field) -> Option<usize> {
    filling(field.metadata().get(DECLARED_TYPE)?)
}

/// Returns the length to which texts are padded; longer ones than the limit are not.
fn filling(declared: &str) -> Option<usize> {
    declared_length(declared, "char").filter(|letters| *letters <= MAX_LETTERS)
}

/// `n` of a type of this name with a length.
pub(crate) fn declared_length(declared: &str, name: &str) -> Option<usize> {
    let declared = declared.trim().to_ascii_lowercase();
    let inside = declared.strip_prefix(name)?.trim();
    let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
    inside.trim().parse().ok()
}

/// The text, padded with spaces to this many characters.
pub(crate) fn filled(text: &str, letters: usize) -> Cow<'_, str> {
    match letters.checked_sub(text.chars().count()) {
        None | Some(0) => Cow::Borrowed(text),
        Some(missing) => Cow::Owned(format!("{text}{}", " ".repeat(missing))),
    }
}

/// The text as one to compare with those of this many characters: trailing spaces are ignored.
pub(crate) fn fitted(text: &str, letters: usize) -> Cow<'_, str> {
    filled(text.trim_end_matches(' '), letters)
}

/// The texts, each padded with spaces; values of another type stay as they are.
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
