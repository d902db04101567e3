//! Tests of the public interface, on handwritten logs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod crash_storage;
mod crashes;
mod fuzz;
mod large;
mod simulation;
mod support;
