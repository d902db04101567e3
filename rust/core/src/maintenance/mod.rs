//! What keeps a table small and sound: log cleanup, vacuum, restore, advice, verification.
//!
//! Each works on a snapshot and a listing, and gives a report. What deletes says first what it would
//! delete; files go oldest first, so that whoever is stopped half-way leaves a table that opens.

use crate::error::Result;
use crate::storage::{Storage, interrupt};

pub mod advice;
pub mod cleanup;
pub mod restore;
pub mod vacuum;
pub mod verify;

/// A report for machines.
pub fn to_json<T: serde::Serialize>(report: &T) -> String {
    // numbers, texts and lists of them are always JSON
    serde_json::to_string(report).unwrap_or_default()
}

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// So many files are deleted by one call.
const AT_ONCE: usize = 500;

/// Deletes files in this order; the first that cannot be deleted ends it.
fn delete_all(storage: &dyn Storage, paths: &[&str]) -> Result<()> {
    for some in paths.chunks(AT_ONCE) {
        interrupt::check()?;
        storage.delete(some).into_iter().collect::<Result<()>>()?;
    }
    Ok(())
}
