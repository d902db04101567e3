//! Bytes to values and back, without I/O.
pub mod action_json;
