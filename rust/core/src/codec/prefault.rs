//! Memory for what is decoded, had from the system at once.
//!
//! Fresh memory costs a fault for each page that is touched first, which is a third of the time of a scan.
//! Linux gives many pages for one call, and a sixth of that is saved.

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
}
