//! Replay of Delta Lake transaction logs into Arrow.

pub mod error;
pub mod storage;
