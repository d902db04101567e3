//! Files that a commit will name, or a vacuum removes.

use crate::error::Result;
use crate::replay::Source;
use crate::write::actions::AddFile;

/// A file that was written for a commit.
#[derive(Clone, Debug)]
pub struct StagedFile {
    /// As the storage takes it.
    pub path: String,
    /// Bytes, where they are known.
    pub size: Option<u64>,
    /// When it was written: milliseconds since the epoch.
    pub written: i64,
}

impl StagedFile {
    /// A data file of which the log will say when it was written.
    ///
    /// # Errors
    ///
    /// Corrupt: a path that leads out of the table.
    pub fn of(source: &Source, file: &AddFile) -> Result<Self> {
        Ok(Self {
            path: source.resolver.resolve("", &file.path)?.into_owned(),
            size: u64::try_from(file.size).ok(),
            written: file.modification_time,
        })
    }
}
