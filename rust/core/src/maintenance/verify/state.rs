//! The state that results from the commits, kept as keys.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::replay::{FileActionKey, KeyHasher, LogState};
use crate::spec::Metadata;
use crate::spec::properties::TableProperties;
use crate::spec::schema::StructType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveFile {
    /// Path and deletion vector id.
    pub(super) key: FileActionKey,
    pub(super) size: i64,
    /// The number of rows that its deletion vector deletes, if it has one.
    pub(super) deleted: Option<u64>,
}

/// The state of a version according to its commits.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) log: LogState,
    /// Live files, keyed by path alone.
    pub(super) live: HashMap<FileActionKey, LiveFile, BuildHasherDefault<KeyHasher>>,
    /// The in-commit timestamp of the last commit, if it is required and known.
    pub(super) timestamp: Option<i64>,
}

impl State {
    pub(super) fn num_files(&self) -> u64 {
        self.live.len() as u64
    }

    pub(super) fn size_in_bytes(&self) -> u64 {
        let sizes = self.live.values();
        sizes
            .map(|file| u64::try_from(file.size).unwrap_or(0))
            .sum()
    }

    /// Returns the number of files with a deletion vector, and of the rows that these delete.
    pub(super) fn vectors(&self) -> (u64, u64) {
        let deleted = self.live.values().filter_map(|file| file.deleted);
        deleted.fold((0, 0), |(files, rows), more| (files + 1, rows + more))
    }
}

/// Returns `true` if two metadata are equivalent; schemas may differ in whitespace.
pub(super) fn same_metadata(left: &Metadata, right: &Metadata) -> bool {
    let schema = |metadata: &Metadata| StructType::parse(&metadata.schema_string).ok();
    let bare = |metadata: &Metadata| Metadata {
        schema_string: String::new(),
        ..metadata.clone()
    };
    left == right
        || bare(left) == bare(right)
            && matches!((schema(left), schema(right)), (Some(left), Some(right)) if left == right)
}

/// Returns `true` if transactions may have expired, so a checkpoint may lack some; also if the
/// properties cannot be parsed, which opening the table reports.
pub(super) fn transactions_expire(state: &State) -> bool {
    let (Some(metadata), Some(protocol)) = (&state.log.metadata, &state.log.protocol) else {
        return false;
    };
    TableProperties::new(metadata, protocol).map_or(true, |(properties, _)| {
        properties.set_transaction_retention.is_some()
    })
}
