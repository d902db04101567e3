//! Random ids and waits.

use uuid::Uuid;

use crate::snapshot::Snapshot;
use crate::storage::now;

/// A number of which the low 62 bits are random. The system draws them, so that a forked child does not
/// repeat its parent's.
pub(crate) fn random_bits() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

/// A new random UUID as text.
pub fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// When something happens to a version: now, and not before the version by a clock that is behind.
pub(crate) fn now_after(snapshot: &Snapshot) -> i64 {
    now().max(snapshot.timestamp())
}
