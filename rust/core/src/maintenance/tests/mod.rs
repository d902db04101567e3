//! Tests on handwritten logs, with data files of known sizes, at a time that the test sets.

use crate::snapshot::load::load;
use crate::snapshot::tests::written_log::{SCHEMA, WrittenLog, add, remove};
use crate::spec::interval::MILLIS_PER_DAY;
use crate::storage;

mod cleanup;
mod restore;
mod vacuum;
mod verify;

/// Returns the time in this many days.
fn in_days(days: i64) -> i64 {
    storage::now() + days * MILLIS_PER_DAY
}
