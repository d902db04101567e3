//! Bytes to values and back, without I/O.
pub mod action_json;
pub(crate) mod canonical_json;
pub mod last_checkpoint;
pub mod version_checksum;
