use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Barrier};

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
fn an_entry_of_another_process_is_replaced_but_not_dropped() {
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
    const THREADS: usize = 8;
    let drops = Arc::new(AtomicUsize::new(0));
    let (cell, barrier) = (PerProcess::new(), Barrier::new(THREADS));
    std::thread::scope(|scope| {
        let build = || {
            barrier.wait();
            let built = cell.get_or_try_init(|| Ok(Counted(drops.clone()))).unwrap();
            ptr::from_ref(built) as usize
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(build)).collect();
        let seen: Vec<usize> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(seen.iter().all(|address| *address == seen[0]));
    });
}
