//! The canonical form of a JSON object and its MD5: the checksum of `_last_checkpoint`.
//!
//! Each leaf becomes `path=value`, with keys and strings quoted and percent-encoded; leaves are sorted and
//! joined with commas. Numbers are kept as written.
//!
//! Protocol: "JSON checksum".

use std::collections::HashSet;

use md5::{Digest, Md5};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::{Error, Result};
use crate::spec::json::{Event, JsonError, JsonReader, MAX_DEPTH, clipped};

/// All characters except ASCII letters, digits and `-._~`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The maximum length of the canonical form in bytes. The path is repeated for each leaf, so a small file
/// could otherwise expand to a very large canonical form.
const MAX_BYTES: usize = 64 << 20;

/// The leaves of one JSON object, without its checksum.
pub(crate) struct CanonicalJson {
    leaves: Vec<Leaf>,
}

struct Leaf {
    /// `path=value`.
    text: String,
    path_length: usize,
}

struct Level {
    /// Length of the path of the object or array itself.
    path_length: usize,
    /// Keys of the object so far; `None` for an array.
    keys: Option<HashSet<String>>,
    /// Number of elements of the array so far.
    elements: usize,
}

impl CanonicalJson {
    /// Parses a JSON object into its leaves.
    ///
    /// # Errors
    ///
    /// Corrupt with `code` and the byte offset: invalid JSON or not an object, a duplicate key, nesting that
    /// is too deep, or a canonical form of more than 64 MiB.
    pub(crate) fn parse(json: &str, code: &'static str) -> Result<Self> {
        let mut reader = JsonReader::new(json, MAX_DEPTH);
        let what = "the file is not a valid JSON object";
        let corrupt = |error: JsonError| error.corrupt(code, what);
        if reader.next().map_err(corrupt)? != Event::BeginObject {
            return Err(corrupt(reader.error("expected an object")));
        }
        let (mut leaves, mut bytes, mut path) = (Vec::new(), 0, String::new());
        let mut levels = vec![Level {
            path_length: 0,
            keys: Some(HashSet::new()),
            elements: 0,
        }];
        while let Some(level) = levels.last_mut() {
            let event = reader.next().map_err(corrupt)?;
            if let Event::Key(key) = &event {
                path.truncate(level.path_length);
                push_part(&mut path, &quoted(key));
                let keys = level.keys.as_mut();
                if keys.is_none_or(|keys| !keys.insert(key.to_string())) {
                    let (key, offset) = (clipped(key), reader.offset());
                    let message = format!("{what}: duplicate key {key} at byte {offset}");
                    return Err(Error::corrupt(code, message).at_offset(offset as u64));
                }
                if levels.len() == 1 && key == "checksum" {
                    reader.skip_value().map_err(corrupt)?;
                }
                continue;
            }
            if matches!(event, Event::EndObject | Event::EndArray) {
                levels.pop();
                continue;
            }
            if level.keys.is_none() {
                path.truncate(level.path_length);
                push_part(&mut path, &level.elements.to_string());
                level.elements += 1;
            }
            if matches!(event, Event::BeginObject | Event::BeginArray) {
                levels.push(Level {
                    path_length: path.len(),
                    keys: (event == Event::BeginObject).then(HashSet::new),
                    elements: 0,
                });
                continue;
            }
            let value = match event {
                Event::String(text) => quoted(&text),
                Event::Number(text) => text.to_owned(),
                Event::Bool(value) => value.to_string(),
                _ => "null".to_owned(),
            };
            bytes += path.len() + value.len() + 2;
            if bytes > MAX_BYTES {
                let error = reader.error("its canonical form is larger than 64 MiB");
                return Err(error.corrupt(code, "the file is too large"));
            }
            leaves.push(Leaf {
                text: format!("{path}={value}"),
                path_length: path.len(),
            });
        }
        // an error if anything follows the object
        reader.next().map_err(corrupt)?;
        leaves.sort_by(|a, b| a.path().cmp(b.path()));
        Ok(Self { leaves })
    }

    /// Returns the canonical text, sorted by path as in the protocol.
    pub(crate) fn text(&self) -> String {
        self.leaves
            .iter()
            .map(|leaf| leaf.text.as_str())
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Returns the MD5 of the canonical text.
    pub(crate) fn checksum(&self) -> String {
        md5_hex(&self.text())
    }

    /// Returns `true` if this is the MD5 of the canonical text. delta-spark sorts whole `path=value`
    /// entries, which differs for arrays with more than ten elements; both orders are accepted.
    pub(crate) fn matches(&self, checksum: &str) -> bool {
        let mut entries: Vec<_> = self.leaves.iter().map(|leaf| leaf.text.as_str()).collect();
        entries.sort_unstable();
        let checksum = checksum.to_ascii_lowercase();
        md5_hex(&self.text()) == checksum || md5_hex(&entries.join(",")) == checksum
    }
}

impl Leaf {
    fn path(&self) -> &[u8] {
        self.text
            .as_bytes()
            .get(..self.path_length)
            .unwrap_or_default()
    }
}

fn push_part(path: &mut String, part: &str) {
    if !path.is_empty() {
        path.push('+');
    }
    path.push_str(part);
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", utf8_percent_encode(text, ENCODED))
}

fn md5_hex(text: &str) -> String {
    Md5::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests;
