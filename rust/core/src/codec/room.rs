//! Memory that is about to be filled.
//!
//! Fresh memory costs a fault for each page that is touched first, which is a third of the time of a scan.
//! Linux gives many pages for one call, which saves a sixth of that ([`prefault`]); and what holds bytes
//! only until they are decoded is used again ([`Room`]).

use std::cell::RefCell;

thread_local! {
    /// What this thread can use again; `None` where it keeps nothing.
    static SPARE: RefCell<Option<Vec<Vec<u8>>>> = const { RefCell::new(None) };
}

/// A thread keeps no more of them, and no more bytes: those that came first go.
const MOST_SPARE: usize = 64;
const MOST_SPARE_BYTES: usize = 64 << 20;

/// Lets this thread keep the room that it is done with, until it ends.
pub(crate) fn keep_room() {
    SPARE.with_borrow_mut(|spare| *spare = Some(Vec::new()));
}

/// Bytes for a while.
#[derive(Default)]
pub(crate) struct Room(Vec<u8>);

impl Room {
    /// So many bytes: zeros, or what was there before.
    pub(crate) fn filled(length: usize) -> Self {
        // who claims more than there is gets memory that is never touched
        let mut bytes = kept(length).unwrap_or_else(|| vec![0; length]);
        bytes.resize(length, 0);
        Self(bytes)
    }

    /// No bytes, and room for so many; `None` where there is no memory.
    pub(crate) fn empty(length: usize) -> Option<Self> {
        if let Some(mut bytes) = kept(length) {
            bytes.clear();
            return Some(Self(bytes));
        }
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(length).ok()?;
        prefault(&mut fresh);
        Some(Self(fresh))
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.0);
        if bytes.capacity() == 0 || bytes.capacity() > MOST_SPARE_BYTES {
            return;
        }
        // a thread that ends has none any more
        let _ = SPARE.try_with(|spare| {
            if let Ok(mut spare) = spare.try_borrow_mut()
                && let Some(spare) = spare.as_mut()
            {
                spare.push(bytes);
                let mut left: usize = spare.iter().map(Vec::capacity).sum();
                while spare.len() > MOST_SPARE || left > MOST_SPARE_BYTES {
                    left -= spare.remove(0).capacity();
                }
            }
        });
    }
}

/// The smallest that is large enough, and not much larger.
fn kept(length: usize) -> Option<Vec<u8>> {
    SPARE.with_borrow_mut(|spare| {
        let spare = spare.as_mut()?;
        let fits =
            |bytes: &Vec<u8>| (length..=length.saturating_mul(2)).contains(&bytes.capacity());
        let place = (0..spare.len())
            .filter(|at| spare.get(*at).is_some_and(fits))
            .min_by_key(|at| spare.get(*at).map(Vec::capacity))?;
        Some(spare.remove(place))
    })
}

/// Less is not worth the call.
#[cfg(target_os = "linux")]
const LEAST: usize = 128 << 10;

/// Has the system put memory behind the room that a vector has and does not use, for it is about to be
/// filled. Nothing else changes; where the system cannot do it, pages come one by one.
#[cfg(target_os = "linux")]
pub(crate) fn prefault<T>(values: &mut Vec<T>) {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static PAGE: AtomicUsize = AtomicUsize::new(0);
    let spare = values.spare_capacity_mut();
    let length = std::mem::size_of_val(spare);
    if length < LEAST {
        return;
    }
    let mut page = PAGE.load(Ordering::Relaxed);
    if page == 0 {
        // SAFETY: asks for a constant of the system.
        #[allow(unsafe_code)]
        let found = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        page = usize::try_from(found).unwrap_or_default().max(1);
        PAGE.store(page, Ordering::Relaxed);
    }
    let start = spare.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(page);
    let Some(whole) = length.checked_sub(before).map(|rest| rest / page * page) else {
        return;
    };
    // SAFETY: whole pages of memory that the vector owns; the call changes no byte of them, and fails
    // without effect on systems that do not know it.
    #[allow(unsafe_code)]
    unsafe {
        libc::madvise(start.add(before).cast(), whole, libc::MADV_POPULATE_WRITE);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn prefault<T>(_values: &mut Vec<T>) {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn vectors_stay_as_they_are() {
        for room in [0, 1, 4095, 4097, 200_000, 3 << 20] {
            let mut values: Vec<u32> = Vec::with_capacity(room + 3);
            values.extend([1, 2, 3]);
            prefault(&mut values);
            assert_eq!(values, [1, 2, 3]);
            values.extend(0..room as u32);
            assert_eq!(values.len(), room + 3);
        }
    }

    #[test]
    fn room_is_used_again_by_the_thread_that_keeps_it() {
        let place = |room: &Room| room.as_ref().as_ptr();
        let thread = std::thread::spawn(move || {
            keep_room();
            let (one, other) = (Room::filled(1_000), Room::filled(1_500));
            let (first, second) = (place(&one), place(&other));
            drop((one, other));
            let again = Room::filled(1_200);
            assert_eq!(place(&again), second, "the smaller one is too small");
            let none = Room::filled(400);
            assert_ne!(place(&none), first, "far too large");
            let small = Room::empty(600).unwrap();
            assert_eq!(place(&small), first);
            assert!(small.as_ref().is_empty());
            drop((again, none, small));
            for _ in 0..3 {
                let many: Vec<_> = (0..100).map(|_| Room::filled(10)).collect();
                assert!(many.iter().all(|room| room.as_ref().len() == 10));
            }
            let kept = SPARE.with_borrow(|spare| spare.as_ref().map(Vec::len));
            assert_eq!(kept, Some(MOST_SPARE));
            let large = || Room::filled(MOST_SPARE_BYTES / 2);
            drop((large(), large(), Room::filled(MOST_SPARE_BYTES + 1)));
            let kept = SPARE.with_borrow(|spare| spare.as_ref().map(Vec::len));
            assert_eq!(kept, Some(2), "the others had to go");
        });
        thread.join().unwrap();
        drop(Room::filled(10));
        assert!(SPARE.with_borrow(Option::is_none), "others keep nothing");
    }
}
