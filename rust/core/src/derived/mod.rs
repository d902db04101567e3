//! Files that can be rebuilt from the commits: checkpoints, the hint that references them, checksums,
//! compacted files, symlink manifests; and the cleanup of log files that they replace.
//!
//! Log files are deleted oldest first, so that an interrupted run leaves a readable table.

pub mod checkpoint;
pub mod checksum;
pub mod cleanup;
pub mod compaction;
pub mod symlinks;
pub mod traces;
