//! From files to rows.

pub mod data_file;
