//! The progress of long-running work, for display.
//!
//! This module counts what the process lists and reads; [`ordered`](super::pool::ordered) reports how many
//! units are done. The binding reads both when it checks for an interrupt
//! ([`interrupt`](super::interrupt)).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static LISTED: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static UNITS: Cell<Option<Units>> = const { Cell::new(None) };
}

/// The total work of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of listed files.
    pub listed: u64,
    /// The number of bytes read.
    pub read: u64,
}

/// The progress of a thread's current work, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Units whose results were returned.
    pub done: usize,
    /// All units.
    pub all: usize,
}

/// Returns the total work of this process, including other threads' calls.
pub fn totals() -> Totals {
    Totals {
        listed: LISTED.load(Ordering::Relaxed),
        read: READ.load(Ordering::Relaxed),
    }
}

/// Returns the progress of the work that the calling thread waits for; `None` if it is unknown.
pub fn units() -> Option<Units> {
    UNITS.get()
}

pub(super) fn listed(files: usize) {
    LISTED.fetch_add(files as u64, Ordering::Relaxed);
}

pub(super) fn read(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Sets the progress of the calling thread; `None` at the end.
pub(super) fn set_units(units: Option<Units>) {
    UNITS.set(units);
}

#[cfg(test)]
mod tests;
