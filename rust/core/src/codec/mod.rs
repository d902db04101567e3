//! Bytes in, values out; no I/O here.

pub mod partition_values;
pub mod statistics;
