//! Random numbers for ids and waits, out of the seeds that the standard library draws from the system.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::snapshot::Snapshot;

/// 64 random bits. The process id is part of them: a forked child inherits its parent's seeds.
pub(crate) fn random_bits() -> u64 {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
    RandomState::new().hash_one((std::process::id(), nanos, drawn))
}

/// A new random UUID (version 4), in network order.
pub(crate) fn new_uuid() -> [u8; 16] {
    let high = (random_bits() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000;
    let low = (random_bits() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000;
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

/// A new random UUID as text.
pub fn new_id() -> String {
    let id = u128::from_be_bytes(new_uuid());
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        id >> 96,
        (id >> 80) & 0xFFFF,
        (id >> 64) & 0xFFFF,
        (id >> 48) & 0xFFFF,
        id & 0xFFFF_FFFF_FFFF
    )
}

/// When something happens to a version: now, and not before the version by a clock that is behind.
pub(crate) fn now_after(snapshot: &Snapshot) -> i64 {
    now().max(snapshot.timestamp())
}

/// Milliseconds since the epoch.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
