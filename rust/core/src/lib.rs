//! Replays Delta Lake transaction logs into Arrow; reads, writes and maintains the tables.
//!
//! Modules are in the order of their dependencies: each imports only from those before it.

pub mod error;
pub mod spec;
pub mod expr;
pub mod codec;
pub mod storage;
pub mod log;
pub mod replay;
pub mod snapshot;
pub mod scan;
pub mod changes;
pub mod write;
pub mod definition;
pub mod transaction;
pub mod derived;
pub mod table;
pub mod maintenance;
pub mod statements;
