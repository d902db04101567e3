//! Bytes in, values out; no I/O here.

pub mod statistics;
