//! Replay of Delta Lake transaction logs into Arrow.
pub mod codec;
pub mod error;
pub mod spec;
