//! From the live files of a snapshot to their rows.

pub mod deletion_vectors;
