//! A value that belongs to one process id: built on first use, built anew in a forked child.
//!
//! PySpark forks its workers. Threads do not survive a fork, so a thread pool, a runtime or an HTTP
//! client of the parent is dead weight in the child: it is neither used nor dropped there, only left
//! behind. Nothing is locked, because a lock that another thread holds during the fork never opens in
//! the child.

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
    /// This process's value. `build` may run in two threads at once; one result wins, the other is
    /// dropped.
    pub(crate) fn get_or_try_init(&self, build: impl FnOnce() -> Result<T>) -> Result<&T> {
        let process = std::process::id();
        let seen = self.entry.load(Ordering::Acquire);
        // SAFETY: a non-null pointer here came from `Box::into_raw` below. An entry is freed only by
        // `drop`, which has `&mut self`; one that is replaced (after a fork) is leaked.
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
                    // SAFETY: `fresh` was made above and never shared.
                    drop(unsafe { Box::from_raw(fresh) });
                    winner
                }
            };
        // SAFETY: `kept` is `fresh`, now shared, or the entry that another thread of this process
        // put in since the load; both live until `drop`.
        Ok(unsafe { &(*kept).value })
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let entry = *self.entry.get_mut();
        // SAFETY: as in `get_or_try_init`; `&mut self` says that nobody else holds the entry.
        if unsafe { entry.as_ref() }.is_some_and(|entry| entry.process == std::process::id()) {
            // SAFETY: the pointer came from `Box::into_raw` and is not used again.
            drop(unsafe { Box::from_raw(entry) });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::error::Error;

    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn builds_once_and_drops_once() {
        let drops = Arc::new(AtomicUsize::new(0));
        let cell = PerProcess::new();
        let first = cell.get_or_try_init(|| Ok(Counted(drops.clone()))).unwrap() as *const _;
        let again = cell
            .get_or_try_init(|| Err(Error::corrupt("x", "not called")))
            .unwrap();
        assert!(ptr::eq(first, again));
        drop(cell);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failed_build_is_tried_again() {
        let cell = PerProcess::new();
        assert!(
            cell.get_or_try_init(|| Err::<u8, _>(Error::corrupt("x", "no")))
                .is_err()
        );
        assert_eq!(*cell.get_or_try_init(|| Ok(7)).unwrap(), 7);
    }

    #[test]
    fn an_entry_of_another_process_is_replaced_and_left_alone() {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut cell = PerProcess::new();
        let parents = Box::into_raw(Box::new(Entry {
            process: std::process::id() + 1,
            value: Counted(drops.clone()),
        }));
        *cell.entry.get_mut() = parents;
        let mine = Arc::new(AtomicUsize::new(0));
        cell.get_or_try_init(|| Ok(Counted(mine.clone()))).unwrap();
        drop(cell);
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        assert_eq!(mine.load(Ordering::SeqCst), 1);
        // SAFETY: the cell left the entry alone, as just asserted.
        drop(unsafe { Box::from_raw(parents) });
    }

    #[test]
    fn threads_agree_on_one_value() {
        let drops = Arc::new(AtomicUsize::new(0));
        let cell = PerProcess::new();
        std::thread::scope(|scope| {
            let seen: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let built = cell.get_or_try_init(|| Ok(Counted(drops.clone()))).unwrap();
                        ptr::from_ref(built) as usize
                    })
                })
                .map(|thread| thread.join().unwrap())
                .collect();
            assert!(seen.windows(2).all(|pair| pair.first() == pair.last()));
        });
    }
}
