//! Log files that can be rebuilt from the commits: checkpoints, the hint that references them, checksums,
//! compacted files.
//!
//! Takes a snapshot, returns bytes and their path. When to write them is decided elsewhere.

pub mod checkpoint;
pub mod checksum;
pub mod compaction;
