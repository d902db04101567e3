//! The key of a logical file, which identifies it across file actions: `(path, deletion vector id)`.
//!
//! A key is a 128-bit hash of both: it takes 16 bytes, and needs no allocation for a checkpoint row. The seed
//! is random for each process, so that no one can craft paths that collide.
//!
//! Protocol: "Action Reconciliation".

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::OnceLock;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StructArray};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::codec::columns::{TypedColumns, missing};
use crate::error::Result;
use crate::spec::DeletionVectorDescriptor;
use crate::storage::split_scheme;

/// The key of one logical file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileActionKey(pub(crate) u128);

impl FileActionKey {
    /// Returns the key as bytes, to send it to another process.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Restores a key from its bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_le_bytes(bytes))
    }
}

/// A set of keys.
pub type KeySet = hashbrown::HashSet<FileActionKey, BuildHasherDefault<KeyHasher>>;

/// A hasher of keys, which are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = low(key);
    }
}

/// Returns the low half of a key.
pub(crate) fn low(key: u128) -> u64 {
    key as u64
}

fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0))
}

/// Computes keys below one table root. A copy in another process computes the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Scheme and authority of the root, for absolute paths without them.
    base: String,
    seed: u64,
}

impl Keys {
    /// Prepares to compute keys below a table root such as `file:///data/t` or `s3://bucket/t`.
    pub fn below(root: &str) -> Self {
        let base = match root.split_once("://") {
            Some(("file", _)) | None => "file:".to_owned(),
            Some((scheme, rest)) => {
                format!("{scheme}://{}", rest.split('/').next().unwrap_or_default())
            }
        };
        Self { base, seed: seed() }
    }

    /// Returns the key of a path and, if it has a vector, the vector's storage type, path and offset.
    pub fn key(&self, path: &str, vector: Option<(&str, &str, Option<i32>)>) -> FileActionKey {
        let path = canonical(path, &self.base);
        let key = xxh3_128_with_seed(path.as_bytes(), self.seed);
        let Some((storage_type, path_or_inline, offset)) = vector else {
            return FileActionKey(key);
        };
        let offset = offset
            .map(|offset| format!("@{offset}"))
            .unwrap_or_default();
        let id = [storage_type, path_or_inline, &offset].concat();
        let id = xxh3_128_with_seed(id.as_bytes(), self.seed);
        // multiplication by an odd number is reversible: keys with equal ids and different paths stay different
        FileActionKey(
            key.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
                .wrapping_add(id)
                .rotate_left(64),
        )
    }

    /// Returns the key of a path and, if it has a vector, the vector's descriptor.
    pub fn of_file(&self, path: &str, vector: Option<&DeletionVectorDescriptor>) -> FileActionKey {
        let vector = vector.map(|vector| {
            (
                vector.storage().letter(),
                vector.path_or_inline(),
                vector.offset(),
            )
        });
        self.key(path, vector)
    }

    /// Calls `visit` with the index and the key of every row whose path is not null, in order.
    pub fn visit(
        &self,
        path: &dyn Array,
        vector: Option<&StructArray>,
        visit: &mut dyn FnMut(usize, FileActionKey),
    ) -> Result<()> {
        if let Some(path) = path.as_string_view_opt() {
            return self.visit_strings(path.iter(), vector, visit);
        }
        let path = path.as_string_opt::<i32>().ok_or_else(|| missing("path"))?;
        self.visit_strings(path.iter(), vector, visit)
    }

    /// Returns the keys of the rows of a batch with `path` and `deletionVector`.
    pub fn of_batch(&self, rows: &RecordBatch) -> Result<Vec<FileActionKey>> {
        let vector = rows
            .column_by_name("deletionVector")
            .and_then(|vector| vector.as_struct_opt());
        self.of_rows(rows, vector)
    }

    /// Returns the keys of the rows of a batch by `path` alone: a live file has only one vector.
    pub fn of_paths(&self, rows: &RecordBatch) -> Result<Vec<FileActionKey>> {
        self.of_rows(rows, None)
    }

    fn of_rows(
        &self,
        rows: &RecordBatch,
        vector: Option<&StructArray>,
    ) -> Result<Vec<FileActionKey>> {
        let mut keys = Vec::with_capacity(rows.num_rows());
        self.visit(rows.array("path")?, vector, &mut |_, key| keys.push(key))?;
        if keys.len() == rows.num_rows() {
            Ok(keys)
        } else {
            Err(missing("path"))
        }
    }

    fn visit_strings<'a>(
        &self,
        paths: impl Iterator<Item = Option<&'a str>>,
        vector: Option<&StructArray>,
        visit: &mut dyn FnMut(usize, FileActionKey),
    ) -> Result<()> {
        let paths = paths
            .enumerate()
            .filter_map(|(row, path)| path.map(|path| (row, path)));
        let Some(vector) = vector.filter(|vector| vector.null_count() < vector.len()) else {
            paths.for_each(|(row, path)| visit(row, self.key(path, None)));
            return Ok(());
        };
        let storage_type = vector.array("storageType")?;
        let path_or_inline = vector.array("pathOrInlineDv")?;
        let offset: &Int32Array = vector.typed("offset")?;
        for (row, path) in paths {
            if vector.is_null(row) {
                visit(row, self.key(path, None));
                continue;
            }
            let parts = (
                text(storage_type, row, "storageType")?,
                text(path_or_inline, row, "pathOrInlineDv")?,
                offset.is_valid(row).then(|| offset.value(row)),
            );
            visit(row, self.key(path, Some(parts)));
        }
        Ok(())
    }
}

fn text<'a>(column: &'a ArrayRef, row: usize, name: &'static str) -> Result<&'a str> {
    if column.is_null(row) {
        return Ok("");
    }
    if let Some(views) = column.as_string_view_opt() {
        return Ok(views.value(row));
    }
    let strings = column.as_string_opt::<i32>();
    Ok(strings.ok_or_else(|| missing(name))?.value(row))
}

/// Returns the same spelling for all paths that delta-spark treats as the same file. delta-spark normalizes
/// the URI and decodes nothing, except for absolute paths without a scheme, which it decodes, qualifies with
/// the table's file system and encodes again.
fn canonical<'a>(path: &'a str, base: &str) -> Cow<'a, str> {
    if is_plain(path.as_bytes()) {
        return Cow::Borrowed(path);
    }
    if path.starts_with('/') {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        let path = normalized(&decoded);
        return Cow::Owned(format!("{base}{}", encoded(path.trim_end_matches('/'))));
    }
    let Some((scheme, rest)) = split_scheme(path) else {
        return Cow::Owned(normalized(path));
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let slashes = if authority.is_empty() { "" } else { "//" };
    Cow::Owned(format!("{scheme}:{slashes}{authority}{}", normalized(path)))
}

/// Returns `true` if a path is relative and needs no normalization, like nearly all paths.
fn is_plain(path: &[u8]) -> bool {
    if has_no_special_bytes(path) {
        return true;
    }
    let positions = memchr::memchr3_iter(b'/', b'%', b':', path);
    let mut plain = positions.map(|at| match path.get(at..) {
        Some([b'/', b'/' | b'.', ..] | [b':', ..]) => false,
        Some([b'%', rest @ ..]) => !rest.iter().take(2).any(u8::is_ascii_lowercase),
        _ => true,
    });
    !matches!(path.first(), Some(b'/' | b'.')) && plain.all(|plain| plain)
}

/// Returns `true` if a path of at least 17 bytes does not begin with a slash or a dot, and has no escape, no
/// colon, and no slash before a slash or a dot; `false` for shorter paths. Called for every row of a
/// checkpoint: 16 bytes at a time, without a branch.
fn has_no_special_bytes(path: &[u8]) -> bool {
    let (Some((first, next)), Some((last, this))) = (path.split_first(), path.split_last()) else {
        return false;
    };
    let (Some(this_end), Some(next_end)) = (this.last_chunk(), next.last_chunk()) else {
        return false;
    };
    let chunks = this.as_chunks().0.iter().zip(next.as_chunks().0);
    let special = chunks.fold(special_bytes(this_end, next_end), |all, (this, next)| {
        all | special_bytes(this, next)
    });
    special == 0 && !matches!(first, b'/' | b'.') && !matches!(last, b'%' | b':')
}

/// Returns a number other than 0 if one of these bytes, each with its successor, may require normalization.
fn special_bytes(this: &[u8; 16], next: &[u8; 16]) -> u8 {
    this.iter().zip(next).fold(0, |all, (this, next)| {
        let empty_or_dot = (*this == b'/') & ((*next == b'/') | (*next == b'.'));
        all | u8::from(empty_or_dot | (*this == b'%') | (*this == b':'))
    })
}

/// Removes empty segments, `.`, and `..` together with the segment before it; writes escapes in upper case.
fn normalized(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path
        .split('/')
        .filter(|segment| !matches!(*segment, "" | "."))
    {
        if segment == ".."
            && let Some(last) = segments.last()
            && *last != ".."
        {
            segments.pop();
        } else {
            segments.push(segment);
        }
    }
    let mut text = String::with_capacity(path.len());
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 || path.starts_with('/') {
            text.push('/');
        }
        text.push_str(segment);
    }
    if path.len() > 1 && path.ends_with('/') {
        text.push('/');
    }
    let mut digits_left = 0;
    text.chars()
        .map(|character| {
            if character == '%' {
                digits_left = 2;
            } else if digits_left > 0 {
                digits_left -= 1;
                return character.to_ascii_uppercase();
            }
            character
        })
        .collect()
}

/// Encodes characters that a URI does not allow in a path, except for non-ASCII ones.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for character in path.chars() {
        if character.is_ascii_control() || " \"#%<>?[\\]^`{|}".contains(character) {
            text.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests;
