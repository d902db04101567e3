//! Random ids, and commit timestamps.

use uuid::Uuid;

use crate::snapshot::Snapshot;
use crate::storage::now;

/// Returns a number with 62 random low bits. They are drawn from the operating system, so that a forked child
/// does not repeat its parent's.
pub(crate) fn random_bits() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

/// Returns a new random UUID as text.
pub fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// Returns the current time, but not before the timestamp of the version, in case the clock is behind.
pub(crate) fn now_after(snapshot: &Snapshot) -> i64 {
    now().max(snapshot.timestamp())
}
