//! The state that the commits add up to, kept as keys.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::replay::{FileActionKey, Folded, LogState};
use crate::spec::Metadata;
use crate::spec::properties::TableProperties;
use crate::spec::schema::StructType;

/// A live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    /// Path and vector.
    pub(super) key: FileActionKey,
    pub(super) size: i64,
    /// Rows that its vector leaves out, if it has one.
    pub(super) deleted: Option<u64>,
}

/// A version, by its commits.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Its state beside files.
    pub(super) log: LogState,
    /// By the key of the path alone.
    pub(super) live: HashMap<FileActionKey, Live, BuildHasherDefault<Folded>>,
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

    /// Files with a vector, and the rows that these leave out.
    pub(super) fn vectors(&self) -> (u64, u64) {
        let deleted = self.live.values().filter_map(|file| file.deleted);
        deleted.fold((0, 0), |(files, rows), more| (files + 1, rows + more))
    }
}

/// Returns `true` if two descriptions of a table say the same; texts of one schema may differ in
/// their spaces.
pub(super) fn same_metadata(left: &Metadata, right: &Metadata) -> bool {
    let schema = |metadata: &Metadata| StructType::parse(&metadata.schema_string).ok();
    let bare = |metadata: &Metadata| Metadata {
        schema_string: String::new(),
        ..metadata.clone()
    };
    left == right
        || (bare(left) == bare(right) && schema(left).is_some() && schema(left) == schema(right))
}

/// Returns `true` if transactions expire, so that some may be left out; also where the properties
/// do not tell, which opening the table does.
pub(super) fn expiring(state: &State) -> bool {
    let (Some(metadata), Some(protocol)) = (&state.log.metadata, &state.log.protocol) else {
        return false;
    };
    TableProperties::new(metadata, protocol).map_or(true, |(properties, _)| {
        properties.set_transaction_retention.is_some()
    })
}
