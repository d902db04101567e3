//! A value that belongs to one process id: built on first use, and again in a forked child.
//!
//! PySpark forks its workers. Threads do not survive a fork, so a thread pool, a runtime or an HTTP client
//! of the parent is useless in the child: it is neither used nor dropped there, but leaked. There are no
//! locks, because a lock that another thread holds during the fork is never released in the child.

#![allow(unsafe_code)] // an atomic pointer to the value: no lock, and a parent's value is left alone

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Result;

struct Entry<T> {
    process: u32,
    value: T,
}

/// A lazily built value, one for each process id.
pub(crate) struct PerProcess<T> {
    entry: AtomicPtr<Entry<T>>,
    owned: PhantomData<Box<Entry<T>>>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self {
            entry: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        }
    }
}

impl<T: Send + Sync> PerProcess<T> {
    /// Returns this process's value. `build` may run in two threads at once; one result is kept, the other
    /// is dropped.
    pub(crate) fn get_or_try_init(&self, build: impl FnOnce() -> Result<T>) -> Result<&T> {
        let process = std::process::id();
        let seen = self.entry.load(Ordering::Acquire);
        // SAFETY: a non-null pointer here came from `Box::into_raw` below. An entry is freed only by
        // `drop`, which has `&mut self`; an entry that is replaced after a fork is leaked.
        if let Some(entry) = unsafe { seen.as_ref() }
            && entry.process == process
        {
            return Ok(&entry.value);
        }
        let fresh = Box::into_raw(Box::new(Entry {
            process,
            value: build()?,
        }));
        let kept =
            match self
                .entry
                .compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_parents_entry_or_null) => fresh,
                Err(winner) => {
                    // SAFETY: `fresh` was created above and never shared.
                    drop(unsafe { Box::from_raw(fresh) });
                    winner
                }
            };
        // SAFETY: `kept` is `fresh`, now shared, or an entry that another thread of this process stored
        // since the load; both live until `drop`.
        Ok(unsafe { &(*kept).value })
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let entry = *self.entry.get_mut();
        // SAFETY: as in `get_or_try_init`; `&mut self` ensures that no one else holds the entry.
        if unsafe { entry.as_ref() }.is_some_and(|entry| entry.process == std::process::id()) {
            // SAFETY: the pointer came from `Box::into_raw` and is not used again.
            drop(unsafe { Box::from_raw(entry) });
        }
    }
}

#[cfg(test)]
mod tests;
