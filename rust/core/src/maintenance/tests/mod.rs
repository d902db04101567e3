//! On logs that are written by hand, with data files of known sizes, at a time that the test chooses.

use crate::snapshot::load::load;
use crate::snapshot::tests::written_log::{SCHEMA, WrittenLog, add, remove};
use crate::spec::interval::MILLIS_PER_DAY;
use crate::storage;

mod cleanup;
mod restore;
mod vacuum;
mod verify;

/// So many days from now.
fn in_days(days: i64) -> i64 {
    storage::now() + days * MILLIS_PER_DAY
}
