//! Copies files of one table to another: by the store itself if both are on the same one, otherwise piece
//! by piece.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Storage;
use crate::error::{Error, Result};

/// The size of a piece in bytes: more than the minimum part size of stores.
const PIECE: u64 = 16 << 20;

/// The maximum size of a file that stores copy by one request.
const MAX_SERVER_COPY: u64 = 5 << 30;

/// A file to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCopy {
    /// The storage path in the source.
    pub from: String,
    /// The same as an absolute path within the store, if both tables are on it.
    pub within_store: Option<String>,
    /// The storage path in the target.
    pub to: String,
    /// The size in bytes according to the log; `None` if unknown.
    pub size: Option<u64>,
}

/// Copies a file, which becomes visible as a whole, and returns its size. An existing file is kept, unless the
/// store cannot check for it: callers choose names that only copies of this file have.
///
/// # Errors
///
/// Corrupt: `clone.size` if the file does not have the size in the log. Storage: `storage.not_found`;
/// `clone.file_exists` if an existing file has another size.
pub fn transfer(source: &dyn Storage, target: &dyn Storage, copy: &FileCopy) -> Result<u64> {
    source.check_readable(&copy.from)?;
    let size = source.head(&copy.from)?.size;
    if copy.size.is_some_and(|expected| expected != size) {
        let message = format!(
            "this file has {size} bytes, but {} according to the log: it was not copied",
            copy.size.unwrap_or_default()
        );
        return Err(Error::corrupt("clone.size", message).at_path(&copy.from));
    }
    if let Some(from) = &copy.within_store
        && size <= MAX_SERVER_COPY
    {
        match target.copy(from, &copy.to) {
            Err(error) if error.code() == "storage.unsupported" => {}
            created => {
                return created.and_then(|created| checked_size(target, &copy.to, size, created));
            }
        }
    }
    let mut at = 0;
    let mut next = || -> Result<Option<Bytes>> {
        if at >= size {
            return Ok(None);
        }
        let range: Range<u64> = at..size.min(at + PIECE);
        at = range.end;
        Ok(source.read_ranges(&copy.from, &[range])?.pop())
    };
    let created = target.put_pieces(&copy.to, &mut next)?;
    checked_size(target, &copy.to, size, created)
}

/// Checks the size of a copy, new or existing, and returns it.
fn checked_size(target: &dyn Storage, path: &str, size: u64, created: bool) -> Result<u64> {
    if created || target.head(path)?.size == size {
        return Ok(size);
    }
    let message = "another file has appeared under the name of a copy: clone again";
    Err(Error::storage("clone.file_exists", message).at_path(path))
}

#[cfg(test)]
mod tests;
