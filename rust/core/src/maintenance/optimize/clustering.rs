//! Clustered tables: which files are clustered already, and which are clustered together.
//!
//! Files ordered by one run form a cube (Z-cube), which their tags record as in delta-spark.
//! A cube that is large enough is not rewritten.

use std::collections::BTreeMap;

use serde_json::json;

use super::bin::Bin;
use super::candidates::size;
use crate::definition::clustering::{CLUSTERING, clustering_columns};
use crate::error::Result;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::spec::file_size::group_by_size;
use crate::write::AddFile;
use crate::write::actions::StringMap;
use crate::write::random::new_id;

/// The size in bytes from which a cube is not rewritten.
const LARGE_CUBE: u64 = 100 << 30;
/// The maximum size of a new cube in bytes, unless a single file is larger.
const MAX_CUBE: u64 = 150 << 30;

pub(super) const PROVIDER: &str = "liquid";
const CUBE_TAG: &str = "ZCUBE_ID";
const COLUMNS_TAG: &str = "ZCUBE_ZORDER_BY";

/// Returns the clustering columns as the schema spells them; `None` for a table that is not clustered.
pub(super) fn clustering_of(
    source: &Source,
    snapshot: &Snapshot,
) -> Result<Option<Vec<Vec<String>>>> {
    if !snapshot.protocol().is_supported("clustering") {
        return Ok(None);
    }
    match snapshot.domain_configuration(source, CLUSTERING)? {
        Some(configuration) => clustering_columns(snapshot.schema(), &configuration).map(Some),
        None => Ok(Some(Vec::new())),
    }
}

/// The cubes of a table clustered by these columns.
pub(super) struct Cubes {
    columns: String,
    full: bool,
}

impl Cubes {
    /// Creates cubes for columns with these names; `full` includes files that another provider or other
    /// columns clustered.
    pub(super) fn new(columns: Vec<String>, full: bool) -> Self {
        Self {
            columns: json!(columns).to_string(),
            full,
        }
    }

    /// Returns the live files to cluster, in bins that each become one cube.
    pub(super) fn bins(&self, files: Vec<AddFile>) -> Vec<Bin> {
        let mut cubes: BTreeMap<Option<String>, Vec<AddFile>> = BTreeMap::new();
        let (matching, mut others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| self.matches(file));
        if !self.full {
            others.clear();
        }
        for file in matching {
            cubes.entry(tag(&file, CUBE_TAG)).or_default().push(file);
        }
        let bytes = |files: &[AddFile]| files.iter().map(size).fold(0, u64::saturating_add);
        cubes.retain(|cube, files| cube.is_none() || bytes(files) < LARGE_CUBE);
        if others.is_empty() && cubes.len() == 1 && !cubes.contains_key(&None) {
            return Vec::new(); // the table is one cube already
        }
        let bin = |files| Bin {
            files,
            tags: Some(self.tags()),
        };
        let bins = group_by_size(cubes.into_values().flatten().chain(others), MAX_CUBE, size);
        bins.into_iter().map(bin).collect()
    }

    /// Returns `true` if the file is not clustered, or is clustered by the same provider and columns.
    fn matches(&self, file: &AddFile) -> bool {
        let provider = file.clustering_provider.as_deref();
        provider.is_none_or(|provider| provider == PROVIDER)
            && tag(file, COLUMNS_TAG).is_none_or(|columns| columns == self.columns)
    }

    fn tags(&self) -> StringMap {
        StringMap::from([
            (CUBE_TAG.to_owned(), Some(new_id())),
            (COLUMNS_TAG.to_owned(), Some(self.columns.clone())),
        ])
    }
}

fn tag(file: &AddFile, name: &str) -> Option<String> {
    file.tags.as_ref()?.get(name)?.clone()
}

#[cfg(test)]
mod tests;
