//! Log files that can be rebuilt from the commits: checkpoints, the hint that references them, checksums,
//! compacted files; and the cleanup of those that they replace.
//!
//! Log files are deleted oldest first, so that an interrupted run leaves a readable table.

pub mod checkpoint;
pub mod checksum;
pub mod cleanup;
pub mod compaction;
pub mod traces;
