//! Files that are rewritten together, and the metrics of OPTIMIZE.

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
    /// The tags of the new files.
    pub tags: Option<StringMap>,
}

impl Bin {
    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(size).fold(0, u64::saturating_add)
    }
}

/// Returns the metrics of OPTIMIZE, named as in delta-spark: counts and sizes of the removed and the
/// added files, and percentiles of the sizes of the added ones.
pub fn metrics(bins: &[Bin], adds: &[AddFile]) -> BTreeMap<String, String> {
    let removed = || bins.iter().flat_map(|bin| &bin.files);
    let with_vector = removed().filter(|file| file.deletion_vector.is_some());
    let mut sizes: Vec<u64> = adds.iter().map(size).collect();
    sizes.sort_unstable();
    let size_at = |index: usize| sizes.get(index).copied().unwrap_or(0);
    let count = sizes.len();
    metric_strings([
        ("numRemovedFiles", removed().count() as u64),
        ("numRemovedBytes", removed().map(size).sum()),
        ("numAddedFiles", count as u64),
        ("numAddedBytes", sizes.iter().sum()),
        ("numDeletionVectorsRemoved", with_vector.count() as u64),
        ("minFileSize", size_at(0)),
        ("p25FileSize", size_at(count / 4)),
        ("p50FileSize", size_at(count / 2)),
        ("p75FileSize", size_at(count * 3 / 4)),
        ("maxFileSize", size_at(count.saturating_sub(1))),
    ])
}
