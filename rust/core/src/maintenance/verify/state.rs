//! What the commits add up to, kept as keys.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::replay::{FileActionKey, Folded};
use crate::spec::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};

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
    pub(super) protocol: Option<Protocol>,
    pub(super) metadata: Option<Metadata>,
    pub(super) transactions: BTreeMap<String, SetTransaction>,
    pub(super) domains: BTreeMap<String, DomainMetadata>,
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

    pub(super) fn transaction(&mut self, txn: &SetTransaction) {
        self.transactions.insert(txn.app_id.clone(), txn.clone());
    }

    pub(super) fn domain(&mut self, domain: &DomainMetadata) {
        if domain.removed {
            self.domains.remove(&domain.domain);
        } else {
            self.domains.insert(domain.domain.clone(), domain.clone());
        }
    }
}
