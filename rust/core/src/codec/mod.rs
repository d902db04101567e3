//! Encoding and decoding of files, without I/O.

pub mod action_json;
pub mod batches;
pub mod canonical_json;
pub mod checkpoint;
pub mod columns;
pub mod commit;
pub mod control_columns;
pub mod decoder;
pub mod deletion_vector;
pub mod file_actions;
pub mod file_columns;
pub mod filter_concat;
pub mod last_checkpoint;
pub mod parquet_file;
pub mod partition_values;
pub(crate) mod row_bytes;
pub mod statistics;
pub mod variant;
pub mod version_checksum;
