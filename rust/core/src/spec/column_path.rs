//! Paths of columns as text: names separated by dots, quoted by backticks unless they consist of ASCII letters,
//! digits and underscores and do not begin with a digit, with which a number begins in an expression.

use super::schema::{DataType, StructType};
use crate::spec::schema::same_name;

/// Parses a list of paths, separated by commas. Spaces around names are ignored, unless they are in backticks.
pub fn parse_column_paths(text: &str) -> Vec<Vec<String>> {
    let (mut paths, mut path, mut name) = (Vec::new(), Vec::new(), Name::default());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '`' if quoted && characters.next_if_eq(&'`').is_some() => name.quoted('`'),
            '`' => quoted = !quoted,
            _ if quoted => name.quoted(character),
            '.' => path.push(std::mem::take(&mut name).text),
            ',' => {
                path.push(std::mem::take(&mut name).text);
                paths.push(std::mem::take(&mut path));
            }
            bare => name.bare(bare),
        }
    }
    path.push(name.text);
    paths.push(path);
    paths
}

/// A name in a path, as far as it has been read.
#[derive(Default)]
struct Name {
    text: String,
    /// Spaces after the text, which belong to it only if more follows.
    spaces: String,
}

impl Name {
    fn quoted(&mut self, character: char) {
        self.text.push_str(&std::mem::take(&mut self.spaces));
        self.text.push(character);
    }

    fn bare(&mut self, character: char) {
        match character.is_whitespace() {
            true if self.text.is_empty() => {}
            true => self.spaces.push(character),
            false => self.quoted(character),
        }
    }
}

/// Formats a path for [`parse_column_paths`].
pub fn column_path_text(path: &[String]) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let bare =
        |name: &str| name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    let quoted = |name: &String| match bare(name) {
        true => name.clone(),
        false => format!("`{}`", name.replace('`', "``")),
    };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}

/// Returns the path of a name: the top-level column of this name, in any case, otherwise the name split at
/// its dots.
pub fn named_path(schema: &StructType, name: &str) -> Vec<String> {
    if schema.contains(name) {
        return vec![name.to_owned()];
    }
    match parse_column_paths(name).as_slice() {
        [path] => path.clone(),
        _ => vec![name.to_owned()],
    }
}

/// Returns `true` if a path is `root` or below it; case-insensitive.
pub fn is_within(path: &[String], root: &[String]) -> bool {
    let same = |(name, other): (&String, &String)| same_name(name, other);
    path.len() >= root.len() && path.iter().zip(root).all(same)
}

/// Converts a path to physical names; unknown names are unchanged.
pub fn physical_path(schema: &StructType, path: &[String]) -> Vec<String> {
    let mut open = Some(schema);
    let mut physical_names = Vec::with_capacity(path.len());
    for name in path {
        let field = open.and_then(|fields| fields.field(name));
        let physical = field.map(|field| field.physical_name().unwrap_or(&field.name));
        physical_names.push(physical.unwrap_or(name).to_owned());
        open = match field.map(|field| &field.data_type) {
            Some(DataType::Struct(parts)) => Some(parts),
            _ => None,
        };
    }
    physical_names
}

#[cfg(test)]
mod tests;
