//! Copies files of one table to another: within the store if both tables are on it and it can copy files,
//! otherwise piece by piece.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Storage;
use crate::error::{Error, Result};

/// The size of a piece in bytes: more than the minimum part size of stores.
const PIECE_BYTES: u64 = 16 << 20;

/// The maximum size of a file that all stores copy with one request.
const MAX_SERVER_COPY_BYTES: u64 = 5 << 30;

/// A file to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCopy {
    /// The storage path in the source.
    pub from: String,
    /// The absolute path of this file within the store, if both tables are on it.
    pub within_store: Option<String>,
    /// The storage path in the target.
    pub to: String,
    /// The size in bytes according to the log; `None` if unknown.
    pub size: Option<u64>,
}

/// Copies a file, which becomes visible as a whole, and returns its size. An existing file is kept, unless
/// the store cannot check for it: callers choose names that only copies of this file have.
///
/// # Errors
///
/// Corrupt: `clone.size` if the file does not have the size in the log; `path.escapes_root` if a symbolic
/// link leads out of the table. Storage errors; `clone.file_exists` if an existing file has another size.
pub fn transfer(source: &dyn Storage, target: &dyn Storage, copy: &FileCopy) -> Result<u64> {
    source.check_readable(&copy.from)?;
    let size = source.head(&copy.from)?.size;
    if let Some(expected) = copy.size
        && expected != size
    {
        let message = format!(
            "this file has {size} bytes, but {expected} according to the log: it was not copied"
        );
        return Err(Error::corrupt("clone.size", message).at_path(&copy.from));
    }
    if let Some(from) = &copy.within_store
        && size <= MAX_SERVER_COPY_BYTES
    {
        match target.copy(from, &copy.to) {
            Ok(created) => return copied_size(target, &copy.to, size, created),
            Err(error) if error.code() == "storage.unsupported" => {}
            Err(error) => return Err(error),
        }
    }
    let mut at = 0;
    let mut next = || -> Result<Option<Bytes>> {
        if at >= size {
            return Ok(None);
        }
        let range: Range<u64> = at..size.min(at + PIECE_BYTES);
        at = range.end;
        Ok(source.read_ranges(&copy.from, &[range])?.pop())
    };
    let created = target.put_pieces(&copy.to, &mut next)?;
    copied_size(target, &copy.to, size, created)
}

/// Returns the size of a copy; a file that already existed must have that size.
fn copied_size(target: &dyn Storage, path: &str, size: u64, created: bool) -> Result<u64> {
    if created || target.head(path)?.size == size {
        return Ok(size);
    }
    let message = "another file has appeared under the name of a copy: clone again";
    Err(Error::storage("clone.file_exists", message).at_path(path))
}

#[cfg(test)]
mod tests;
