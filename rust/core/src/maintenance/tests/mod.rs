//! Tests on handwritten logs, with data files of known sizes, at a time that the test sets.

use crate::snapshot::load::load;
use crate::snapshot::tests::written_log::{SCHEMA, WrittenLog, add, in_days, remove};
use crate::spec::interval::MILLIS_PER_DAY;

mod restore;
mod vacuum;
mod verify;
