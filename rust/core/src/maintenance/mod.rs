//! Maintenance of tables: log cleanup, vacuum, restore, advice, verification.
//!
//! Each works on a snapshot and a listing, and gives a report. What deletes says first what it would
//! delete; files go oldest first, so that whoever is stopped half-way leaves a table that opens.

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

/// The earlier of this machine's clock and that by which the storage dates files. Who deletes by a clock
/// that is ahead deletes files that others have just written. Creates an empty file, and deletes it; where
/// a full disk has no space even for that, the newest file of the log tells which time it is at least.
///
/// # Errors
///
/// Storage.
pub fn now(storage: &dyn Storage) -> Result<i64> {
    let path = format!("{LOG_DIRECTORY}/.clock.{}.tmp", random::new_id());
    let created = storage.put_if_absent_unsynced(&path, b"");
    let seen = created.and_then(|_| storage.head(&path));
    let _cleanup_takes_what_is_left = storage.delete(&[&path]);
    let here = crate::storage::now();
    match seen {
        Ok(file) if here.saturating_sub(file.modification_time) > ALIKE => {
            Ok(file.modification_time)
        }
        Ok(_) => Ok(here),
        Err(error) if is_full(&error) => {
            let times = storage.list(LOG_DIRECTORY, "")?;
            let newest = times.iter().map(|file| file.modification_time).max();
            newest.map(|time| time.min(here)).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// Returns `true` if there was no space for a file. Deleting what nobody needs is then what makes
/// some.
pub(crate) fn is_full(error: &Error) -> bool {
    error.code() == "storage.full"
}

/// A report for machines.
pub fn to_json<T: serde::Serialize>(report: &T) -> String {
    // numbers, texts and lists of them are always JSON
    serde_json::to_string(report).unwrap_or_default()
}

/// A minute in milliseconds.
pub(crate) const MINUTE: i64 = 60 * 1000;

/// Clocks that are no further apart, in milliseconds, count as one: files are dated by coarse clocks.
const ALIKE: i64 = MINUTE;

/// Files deleted by one call.
const AT_ONCE: usize = 500;

/// Deletes files in this order; the first that cannot be deleted ends it.
pub(crate) fn delete_all(storage: &dyn Storage, paths: &[&str]) -> Result<()> {
    for chunk in paths.chunks(AT_ONCE) {
        interrupt::check()?;
        storage.delete(chunk).into_iter().collect::<Result<()>>()?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
