//! The only room that does I/O: list, read, read ranges, create.
//!
//! A [`Storage`] is bound to one table root; every path it takes is relative to that root, with `/`
//! between its parts and no encoding. The surface is synchronous; async and its runtime stay inside
//! this room and belong to one process id, because PySpark forks its workers.

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

use crate::error::Result;

/// A file as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMeta {
    /// Path relative to the table root, e.g. `_delta_log/00000000000000000000.json`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in milliseconds since the Unix epoch.
    pub modification_time: i64,
}

/// Storage below one table root.
pub trait Storage: Debug + Send + Sync {
    /// The table root as a URI, for messages.
    fn root(&self) -> &str;

    /// The files directly in `directory` whose base name is `>= from`, sorted by name. A directory
    /// that does not exist is an empty list. Sub-directories are left out.
    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>>;

    /// The whole file. A missing file is an error with the code `storage.not_found`.
    fn read(&self, path: &str) -> Result<Bytes>;

    /// Several byte ranges of one file, in the order asked; near ranges are fetched together.
    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Many whole files, fetched side by side; results in the order asked.
    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>>;

    /// Size and modification time of one file.
    fn head(&self, path: &str) -> Result<FileMeta>;
}
