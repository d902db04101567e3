//! What the crate promises to its callers, on logs written by hand.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod crash_storage;
mod crashes;
mod fuzz;
mod large;
mod simulation;
mod support;
