//! Checkpoints, compacted log files, checksums, symlink manifests and log cleanup, all on request.

use super::{At, Table};
use crate::derived::checkpoint::distributed::{self, Planned};
use crate::derived::checkpoint::{CheckpointLayout, WrittenCheckpoint, write_checkpoint};
use crate::derived::checksum::write_checksum;
use crate::derived::cleanup::{LogCleanup, cleanup_log};
use crate::derived::compaction::{WrittenCompaction, compact_log};
use crate::derived::symlinks::write_symlinks;
use crate::error::Result;
use crate::log::clock::storage_time;
use crate::snapshot::Snapshot;
use crate::storage::now;

impl Table {
    /// Writes a checkpoint of a snapshot, by default in the layout that the table's properties set, and
    /// `_last_checkpoint`. Keeps expired log files.
    ///
    /// # Errors
    ///
    /// As [`write_checkpoint`]; Unsupported: `protocol.writer_features`.
    pub fn checkpoint(
        &self,
        snapshot: &Snapshot,
        layout: Option<CheckpointLayout>,
    ) -> Result<WrittenCheckpoint> {
        snapshot.protocol().check_writable()?;
        self.source.publish(snapshot.version())?;
        let layout = layout.unwrap_or_else(|| CheckpointLayout::of(snapshot));
        write_checkpoint(&self.source, snapshot, layout)
    }

    /// Plans a V2 checkpoint whose sidecars other processes write.
    ///
    /// # Errors
    ///
    /// As [`distributed::plan`]; Unsupported: `protocol.writer_features`.
    pub fn plan_checkpoint(&self, snapshot: &Snapshot, target_size: u64) -> Result<Planned> {
        snapshot.protocol().check_writable()?;
        self.source.publish(snapshot.version())?;
        distributed::plan(&self.source, snapshot, target_size)
    }

    /// Writes the compacted file of a range of commits.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`compact_log`]; Unsupported: `protocol.writer_features`.
    pub fn compact_log(&self, start: Option<u64>, end: Option<u64>) -> Result<WrittenCompaction> {
        let newest = self.snapshot(At::Latest, None)?;
        newest.protocol().check_writable()?;
        self.source.publish(end.unwrap_or(newest.version()))?;
        compact_log(&self.source, start, end)
    }

    /// Writes the version checksum of a snapshot, computed in full; returns `false` if there is one
    /// already.
    ///
    /// # Errors
    ///
    /// As [`write_checksum`]; Unsupported: `protocol.writer_features`.
    pub fn write_checksum(&self, snapshot: &Snapshot) -> Result<bool> {
        snapshot.protocol().check_writable()?;
        write_checksum(&self.source, snapshot, None)
    }

    /// Writes the symlink manifests of the newest version; returns their number.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`write_symlinks`].
    pub fn generate_symlinks(&self) -> Result<usize> {
        write_symlinks(&self.source, &self.snapshot(At::Latest, None)?)
    }

    /// Deletes log files that no version within `delta.logRetentionDuration` needs, or lists them.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`cleanup_log`].
    pub fn cleanup_log(&self, dry_run: bool) -> Result<LogCleanup> {
        let snapshot = self.snapshot(At::Latest, None)?;
        cleanup_log(&self.source, &snapshot, self.now(dry_run)?, dry_run)
    }

    /// Returns the time of this machine for a dry run; otherwise as [`storage_time`].
    pub(crate) fn now(&self, dry_run: bool) -> Result<i64> {
        if dry_run {
            return Ok(now());
        }
        storage_time(&*self.source.storage)
    }
}
