//! From the live files of a snapshot to their rows.

pub mod data_file;
pub mod deletion_vectors;
