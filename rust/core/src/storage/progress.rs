//! The progress of long work, to be shown to a person.
//!
//! The storage here counts what the process lists and reads; [`ordered`](super::pool::ordered)
//! reports how many of its units are done. The binding looks at both when it is asked whether to stop
//! ([`interrupt`](super::interrupt)), and nothing here costs more than an addition.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static LISTED: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static UNITS: Cell<Option<Units>> = const { Cell::new(None) };
}

/// The work of this process since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files that listings have shown.
    pub listed: u64,
    /// Bytes read.
    pub read: u64,
}

/// The number of equal parts of the calling thread's present work that are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Parts whose results were given out.
    pub done: usize,
    /// All of them.
    pub all: usize,
}

/// Returns the work of this process so far; other threads' calls count as well.
pub fn totals() -> Totals {
    Totals {
        listed: LISTED.load(Ordering::Relaxed),
        read: READ.load(Ordering::Relaxed),
    }
}

/// The parts of what the calling thread waits for; None where it is not known.
pub fn units() -> Option<Units> {
    UNITS.get()
}

pub(super) fn listed(files: usize) {
    LISTED.fetch_add(files as u64, Ordering::Relaxed);
}

pub(super) fn read(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Says how far the calling thread has come; None at the end.
pub(super) fn set_units(units: Option<Units>) {
    UNITS.set(units);
}

#[cfg(test)]
mod tests;
