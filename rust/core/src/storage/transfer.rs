//! Files of one table copied into another: by the store itself where both lie on one, else piece by piece.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Storage;
use crate::error::{Error, Result};

/// A piece that goes from one store to another: more than the least part that a store takes.
const PIECE: u64 = 16 << 20;

/// Stores copy no larger file by one request.
const MAX_AT_ONCE: u64 = 5 << 30;

/// One file, from where to where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCopy {
    /// The storage path in the source.
    pub from: String,
    /// The same, absolute within the store, where both tables lie on one.
    pub within_store: Option<String>,
    /// The storage path in the target.
    pub to: String,
    /// Bytes, as the log has them; `None` where it does not.
    pub size: Option<u64>,
}

/// Copies a file; it becomes visible whole. Returns its bytes. An existing file stays: those who copy
/// chooses names that only copies of this file have.
///
/// # Errors
///
/// `storage.not_found`; Corrupt: `clone.size` where the file has not the size that the log says; Storage:
/// `clone.file_exists` where the file that is there has another.
pub fn transfer(source: &dyn Storage, target: &dyn Storage, copy: &FileCopy) -> Result<u64> {
    source.check_readable(&copy.from)?;
    let size = source.head(&copy.from)?.size;
    if copy.size.is_some_and(|expected| expected != size) {
        let message = format!(
            "the log says that this file has {} bytes, and it has {size}: nothing is copied",
            copy.size.unwrap_or_default()
        );
        return Err(Error::corrupt("clone.size", message).at_path(&copy.from));
    }
    if let Some(from) = &copy.within_store
        && size <= MAX_AT_ONCE
    {
        match target.copy(from, &copy.to) {
            Err(error) if error.code() == "storage.unsupported" => {}
            created => return created.and_then(|created| whole(target, &copy.to, size, created)),
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
    whole(target, &copy.to, size, created)
}

/// The bytes of a copy, which was made now or was there.
fn whole(target: &dyn Storage, path: &str, size: u64, created: bool) -> Result<u64> {
    if created || target.head(path)?.size == size {
        return Ok(size);
    }
    let message = "another file has appeared under the name of a copy: clone again";
    Err(Error::storage("clone.file_exists", message).at_path(path))
}

#[cfg(test)]
mod tests;
