//! Commits, and the maintenance after each commit.

use super::{At, Table};
use crate::codec::version_checksum::{MAX_CHECKSUM_BYTES, VersionChecksum};
use crate::derived::checkpoint::{CheckpointLayout, has_checkpoint, write_checkpoint};
use crate::derived::checksum::{checksum_path, write_checksum, write_checksum_from_previous};
use crate::derived::cleanup::cleanup_expired;
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::storage::pool::BackgroundTask;
use crate::transaction::{Commit, CommitDescription, Transaction, TransactionOptions};

/// The maximum number of files of a table whose checksum is computed in full after a commit without a
/// checkpoint.
const SMALL_TABLE: u64 = 1_000;

/// The result of a commit, and of the maintenance after it.
#[derive(Debug)]
pub struct Committed {
    /// The commit.
    pub commit: Commit,
    /// The error if the commit was not published in its catalog, the checkpoint, the checksum or the symlink
    /// manifests were not written, or expired log files were not deleted.
    pub afterwards: Option<Error>,
}

impl Table {
    /// Commits a transaction; then writes the checkpoint if one is due, and the checksum if it can be derived
    /// from the previous one, the table is small, or a checkpoint is due. After writing a checkpoint, deletes
    /// expired log files. Finally writes the symlink manifests, if the table has them.
    ///
    /// # Errors
    ///
    /// As [`Transaction::commit`]. A failure afterwards is not an error: the version exists.
    pub fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let read = transaction.snapshot().cloned();
        let commit = transaction.commit()?;
        let afterwards = match commit.version {
            Some(version) => {
                let maintained = self.maintain(version, &commit, read.as_ref());
                let manifests = if commit.manifests_due {
                    self.generate_symlinks().map(drop)
                } else {
                    Ok(())
                };
                maintained.and(manifests).err()
            }
            None => None,
        };
        Ok(Committed { commit, afterwards })
    }

    /// Publishes a version in its catalog, and writes its checksum and its checkpoint. Derives the checksum
    /// from that of the previous version, which the transaction has `read` unless another writer won.
    /// Computes the checksum in full if that is impossible and the table is small, and for versions that get
    /// a checkpoint: everything is then read anyway, and errors do not accumulate.
    fn maintain(&self, version: u64, commit: &Commit, read: Option<&Snapshot>) -> Result<()> {
        if commit.becomes_catalog_managed {
            self.source.hand_over(version)?;
        }
        if version == 0
            && let Some(cache) = self.source.storage.log_cache()
        {
            cache.set_listing_start(0);
        }
        let publishing = self.source.publish_in_background(version)?;
        let derived = if commit.checkpoint_due {
            Ok(false)
        } else {
            let previous = if version == 0 && commit.adds.len() as u64 <= SMALL_TABLE {
                Some(VersionChecksum::before_first_version())
            } else {
                read.filter(|read| read.version().checked_add(1) == Some(version))
                    .and_then(Snapshot::checksum)
            };
            write_checksum_from_previous(&self.source, version, previous, commit.text.as_bytes())
        };
        publishing.map_or(Ok(()), BackgroundTask::wait)?;
        let derived = derived?;
        let is_small = || {
            let previous = version.checked_sub(1);
            previous.is_none_or(|previous| {
                self.recorded_files(previous)
                    .is_some_and(|files| files <= SMALL_TABLE)
            })
        };
        if !commit.checkpoint_due && (derived || !is_small()) {
            return Ok(());
        }
        let snapshot = self.snapshot(At::Version(version), Some(false))?;
        if !derived {
            write_checksum(&self.source, &snapshot, Some(&commit.id))?;
        }
        if commit.checkpoint_due && !has_checkpoint(&self.source, version)? {
            write_checkpoint(&self.source, &snapshot, CheckpointLayout::of(&snapshot))?;
            cleanup_expired(&self.source, &snapshot)?;
        }
        Ok(())
    }

    /// Returns the number of files of a version, if it has a checksum.
    fn recorded_files(&self, version: u64) -> Option<u64> {
        let path = checksum_path(version);
        let storage = &self.source.storage;
        let bytes = storage.read_at_most(&path, MAX_CHECKSUM_BYTES).ok()?;
        VersionChecksum::parse(&bytes).ok()?.num_files
    }

    /// Starts a transaction that reads a snapshot of this table. Without a snapshot, the transaction creates
    /// the table; its metadata and protocol must be staged.
    ///
    /// # Errors
    ///
    /// As [`Transaction::begin`].
    pub fn transaction(
        &self,
        snapshot: Option<&Snapshot>,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        let source = &self.source;
        match snapshot {
            Some(snapshot) => Transaction::begin(source, snapshot, description, options),
            None => Ok(Transaction::for_new_table(source, description, options)),
        }
    }
}
