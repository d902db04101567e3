//! Commits, and what follows each commit.

use serde_json::{Map, Value};

use super::{At, Table};
use crate::codec::version_checksum::{MAX_CHECKSUM_BYTES, VersionChecksum};
use crate::derived::checkpoint::{CheckpointLayout, has_checkpoint, write_checkpoint};
use crate::derived::checksum::{carry_checksum, checksum_path, write_checksum};
use crate::error::{Error, Result};
use crate::maintenance::cleanup::cleanup_expired;
use crate::snapshot::Snapshot;
use crate::storage::pool::Aside;
use crate::transaction::{Commit, CommitDescription, Transaction, TransactionOptions};

/// The most files of a table whose checksum is counted after each commit.
const SMALL_TABLE: u64 = 1_000;

/// The result of a commit, and of the work after it.
#[derive(Debug)]
pub struct Committed {
    /// The commit.
    pub commit: Commit,
    /// The error if the checkpoint or the checksum was not written, or expired commits were not
    /// deleted.
    pub afterwards: Option<Error>,
}

impl Table {
    /// Commits a transaction; then writes what its version calls for: a checkpoint, a checksum of a
    /// table that is not large. After a checkpoint of its own it deletes what has expired of the log.
    ///
    /// # Errors
    ///
    /// As [`Transaction::commit`]. What goes wrong afterwards is no error: the version is there.
    pub fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let read = transaction.snapshot().cloned();
        let commit = transaction.commit()?;
        let afterwards = match commit.version {
            Some(version) => self.after(version, &commit, read.as_ref()).err(),
            None => None,
        };
        Ok(Committed { commit, afterwards })
    }

    /// The checksum is carried on from the version before, which the transaction has `read` unless
    /// others were faster. It is counted where that cannot be done and
    /// the table is small, and for versions that get a checkpoint: then everything is read anyway, and
    /// an error in what was carried on ends there.
    fn after(&self, version: u64, commit: &Commit, read: Option<&Snapshot>) -> Result<()> {
        if commit.hands_over {
            self.source.hand_over(version)?;
        }
        if version == 0
            && let Some(memory) = self.source.storage.memory()
        {
            memory.set_begin(0);
        }
        let publishing = self.source.publish_aside(version)?;
        let carried = match commit.checkpoint_due {
            true => Ok(false),
            false => {
                let before = read.filter(|read| read.version().checked_add(1) == Some(version));
                let first = version == 0 && commit.adds.len() as u64 <= SMALL_TABLE;
                let known = match first {
                    true => Some(VersionChecksum::of_nothing()),
                    false => before.and_then(Snapshot::checksum),
                };
                carry_checksum(&self.source, version, known, commit.text.as_bytes())
            }
        };
        publishing.map_or(Ok(()), Aside::wait)?;
        let carried = carried?;
        let small = || {
            version.checked_sub(1).is_none_or(|before| {
                self.known_files(before)
                    .is_some_and(|files| files <= SMALL_TABLE)
            })
        };
        if !commit.checkpoint_due && (carried || !small()) {
            return Ok(());
        }
        let snapshot = self.snapshot(At::Version(version), Some(false))?;
        if !carried {
            write_checksum(&self.source, &snapshot, Some(&commit.id))?;
        }
        if commit.checkpoint_due && !has_checkpoint(&self.source, version)? {
            write_checkpoint(&self.source, &snapshot, CheckpointLayout::of(&snapshot))?;
            cleanup_expired(&self.source, &snapshot)?;
        }
        Ok(())
    }

    /// The number of files that a version has, if a checksum has it.
    fn known_files(&self, version: u64) -> Option<u64> {
        let path = checksum_path(version);
        let storage = &self.source.storage;
        let bytes = storage.read_at_most(&path, MAX_CHECKSUM_BYTES).ok()?;
        VersionChecksum::parse(&bytes).ok()?.num_files
    }

    /// A transaction that reads a snapshot of this table; without one it creates the table, and metadata
    /// and protocol are staged in it.
    ///
    /// # Errors
    ///
    /// Unsupported: a feature that this build cannot write.
    pub fn transaction(
        &self,
        snapshot: Option<&Snapshot>,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        match snapshot {
            Some(snapshot) => Transaction::begin(&self.source, snapshot, description, options),
            None => Ok(Transaction::for_new_table(
                &self.source,
                description,
                options,
            )),
        }
    }
}

pub(super) fn described<'a>(
    operation: &str,
    parameters: impl IntoIterator<Item = (&'a str, Value)>,
) -> CommitDescription {
    let parameters = parameters
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    CommitDescription {
        operation: operation.to_owned(),
        parameters: parameters.collect::<Map<_, _>>(),
        ..CommitDescription::default()
    }
}
