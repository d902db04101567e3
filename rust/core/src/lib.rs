//! Delta transaction logs, replayed into Arrow.

pub mod codec;
pub mod error;
