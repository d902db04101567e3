//! The time by which log cleanup and vacuum delete files.

use uuid::Uuid;

use crate::error::Result;
use crate::log::path::LOG_DIRECTORY;
use crate::spec::interval::MILLIS_PER_MINUTE;
use crate::storage::{Storage, is_full, now};

/// Clocks at most this many milliseconds apart count as equal: file timestamps may be coarse.
const CLOCK_TOLERANCE: i64 = MILLIS_PER_MINUTE;

/// Returns the earlier of the local clock and the clock by which the storage dates files: with a clock that
/// is ahead, files that others have just written would be deleted. Creates an empty file and deletes it; if
/// the disk is full, the newest log file gives a lower bound of the time.
pub(crate) fn storage_time(storage: &dyn Storage) -> Result<i64> {
    let path = format!("{LOG_DIRECTORY}/.clock.{}.tmp", Uuid::new_v4());
    let created = storage.put_if_absent_unsynced(&path, b"");
    let file = created.and_then(|_| storage.head(&path));
    let _ = storage.delete(&[&path]); // otherwise log cleanup deletes it
    let local = now();
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
