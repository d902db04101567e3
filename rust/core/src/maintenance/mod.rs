//! Maintenance of tables: log cleanup, vacuum, restore, optimize, clone, conversion, manifests, advice,
//! verification.
//!
//! Operations that delete files can report them without deleting any. Log files are deleted oldest first, so
//! that an interrupted run leaves a readable table.

use crate::error::{Error, Result};
use crate::log::path::LOG_DIRECTORY;
use crate::storage::{Storage, interrupt};
use crate::write::random;

pub mod advice;
pub mod cleanup;
pub mod clone;
pub mod convert;
pub mod optimize;
pub mod restore;
pub mod symlinks;
pub mod traces;
pub mod vacuum;
pub mod verify;

/// Returns the earlier of the local clock and the clock by which the storage dates files: with a clock that
/// is ahead, files that others have just written would be deleted. Creates an empty file and deletes it; if
/// the disk is full, the newest log file gives a lower bound of the time.
///
/// # Errors
///
/// Storage.
pub fn now(storage: &dyn Storage) -> Result<i64> {
    let path = format!("{LOG_DIRECTORY}/.clock.{}.tmp", random::new_id());
    let created = storage.put_if_absent_unsynced(&path, b"");
    let file = created.and_then(|_| storage.head(&path));
    let _ = storage.delete(&[&path]); // otherwise log cleanup deletes it
    let local = crate::storage::now();
    match file {
        Ok(file) if local.saturating_sub(file.modification_time) > CLOCK_TOLERANCE => {
            Ok(file.modification_time)
        }
        Ok(_) => Ok(local),
        Err(error) if is_full(&error) => {
            let times = storage.list(LOG_DIRECTORY, "")?;
            let newest = times.iter().map(|file| file.modification_time).max();
            newest.map(|time| time.min(local)).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// Returns `true` if the storage has no space for a file; deleting obsolete files can then free some.
pub(crate) fn is_full(error: &Error) -> bool {
    error.code() == "storage.full"
}

/// Serializes a report as JSON.
pub fn to_json<T: serde::Serialize>(report: &T) -> String {
    // numbers, strings and lists of them always serialize
    serde_json::to_string(report).unwrap_or_default()
}

/// A minute in milliseconds.
pub(crate) const MINUTE: i64 = 60 * 1000;

/// Clocks at most this many milliseconds apart count as equal: file timestamps may be coarse.
const CLOCK_TOLERANCE: i64 = MINUTE;

/// The maximum number of files that are deleted in one call of the storage.
const DELETE_BATCH: usize = 500;

/// Deletes files in this order and stops at the first that cannot be deleted.
pub(crate) fn delete_all(storage: &dyn Storage, paths: &[&str]) -> Result<()> {
    for chunk in paths.chunks(DELETE_BATCH) {
        interrupt::check()?;
        storage.delete(chunk).into_iter().collect::<Result<()>>()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
