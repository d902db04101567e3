//! Log files that can be rebuilt from the commits: checkpoints, the hint that references them, checksums,
//! compacted files.
//!
//! Takes a snapshot, and writes a file. Callers decide when.

pub mod checkpoint;
pub mod checksum;
pub mod compaction;
