//! Files that a commit will reference.

use crate::error::Result;
use crate::replay::Source;
use crate::write::actions::AddFile;

/// A file that was written for a commit.
#[derive(Clone, Debug)]
pub struct StagedFile {
    /// The storage path.
    pub path: String,
    /// Size in bytes, if known.
    pub size: Option<u64>,
    /// The time of writing: milliseconds since the epoch.
    pub written: i64,
}

impl StagedFile {
    /// Describes a data file, with the time of writing that the log will state.
    pub fn of(source: &Source, file: &AddFile) -> Result<Self> {
        Ok(Self {
            path: source.resolver.resolve("", &file.path)?.into_owned(),
            size: u64::try_from(file.size).ok(),
            written: file.modification_time,
        })
    }
}
