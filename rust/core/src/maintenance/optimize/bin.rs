//! Files that are rewritten together.

use super::candidates::size;
use crate::write::AddFile;
use crate::write::actions::StringMap;

/// Files that are rewritten together.
#[derive(Clone, Debug)]
pub struct Bin {
    /// The files, all of one partition.
    pub files: Vec<AddFile>,
    /// The tags of the files that replace them.
    pub tags: Option<StringMap>,
}

impl Bin {
    /// Returns the total size of its files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(size).sum()
    }
}
