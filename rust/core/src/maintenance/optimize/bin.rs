//! Files that are rewritten together, and the metrics of their rewrite.

use std::collections::BTreeMap;

use super::candidates::size;
use crate::transaction::metric_strings;
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

/// Returns the metrics of an optimize, named as in the reference implementation: the removed and the added
/// files.
pub fn metrics(bins: &[Bin], adds: &[AddFile]) -> BTreeMap<String, String> {
    let removed = || bins.iter().flat_map(|bin| &bin.files);
    let vectors = removed().filter(|file| file.deletion_vector.is_some());
    let mut sizes: Vec<u64> = adds.iter().map(size).collect();
    sizes.sort_unstable();
    let at = |index: usize| sizes.get(index).copied().unwrap_or(0);
    let count = sizes.len();
    let numbers = [
        ("numRemovedFiles", removed().count() as u64),
        ("numRemovedBytes", removed().map(size).sum()),
        ("numAddedFiles", count as u64),
        ("numAddedBytes", sizes.iter().sum()),
        ("numDeletionVectorsRemoved", vectors.count() as u64),
        ("minFileSize", at(0)),
        ("p25FileSize", at(count / 4)),
        ("p50FileSize", at(count / 2)),
        ("p75FileSize", at(count * 3 / 4)),
        ("maxFileSize", at(count.saturating_sub(1))),
    ];
    metric_strings(numbers)
}
