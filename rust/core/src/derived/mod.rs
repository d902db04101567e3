//! Files of the log that its commits can rebuild: checkpoints, the hint that names them, checksums,
//! compacted files.
//!
//! A snapshot in, bytes and their place out. Nothing here decides when.

pub mod checkpoint;
pub mod checksum;
pub mod compaction;
