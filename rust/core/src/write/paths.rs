//! The path of a new file, and its encoding in the log.
//!
//! Partition directories are only a convention: readers use the values in the log.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::layout::{Layout, Purpose};
use super::random::{new_id, random_bits};
use crate::storage::URI_PATH;

/// The characters that Hive escapes in names and values of partitions.
const HIVE: &AsciiSet = &CONTROLS
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'\'')
    .add(b'*')
    .add(b'/')
    .add(b':')
    .add(b'=')
    .add(b'?')
    .add(b'\\')
    .add(b'{')
    .add(b'[')
    .add(b']')
    .add(b'^');

/// The characters that are escaped: on Windows, as in Spark, also those that are not allowed in file names,
/// or not at their end.
const ESCAPED: &AsciiSet = if cfg!(windows) {
    &HIVE.add(b' ').add(b'<').add(b'>').add(b'|')
} else {
    HIVE
};

/// The directory name for null and for the empty string.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

impl Layout {
    /// Returns a new path for a file with these partition values.
    pub(crate) fn path(&self, values: &[Option<String>]) -> String {
        let (above, kind) = match self.purpose {
            Purpose::Data => ("", "part"),
            Purpose::Changes => ("_change_data/", "cdc"),
        };
        let names = self.partitions.iter().map(|(_, name, _)| name.as_str());
        let directory = if self.random_directories {
            random_directory(self.prefix_length)
        } else {
            directory(names.zip(values.iter().map(Option::as_deref)))
        };
        let (id, suffix) = (new_id(), self.suffix);
        format!("{above}{directory}{kind}-00000-{id}.c000{suffix}.parquet")
    }
}

/// Returns the directory of a file, with a trailing slash; empty for the table root.
fn directory<'a>(values: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let part = |(name, value): (&str, Option<&str>)| {
        let value = value.filter(|value| !value.is_empty());
        let value = value.map_or_else(|| NULL.to_owned(), escaped);
        format!("{}={value}/", escaped(name))
    };
    values.map(part).collect()
}

fn random_directory(length: usize) -> String {
    let digit = |_| char::from_digit(u32::try_from(random_bits() % 36).unwrap_or(0), 36);
    let name: String = (0..length.min(64)).filter_map(digit).collect();
    format!("{name}/")
}

/// Escapes text as Hive does, which leaves non-ASCII characters as they are.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, character| {
        let mut buffer = [0; 4];
        let encoded: &str = character.encode_utf8(&mut buffer);
        if character.is_ascii() {
            out.extend(utf8_percent_encode(encoded, ESCAPED));
        } else {
            out.push(character);
        }
        out
    })
}

/// Encodes a path as in the log.
pub(crate) fn encoded(path: &str) -> String {
    utf8_percent_encode(path, URI_PATH).to_string()
}

#[cfg(test)]
mod tests;
