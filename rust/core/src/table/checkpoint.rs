//! Checkpoints, compacted files and checksums that are requested.

use super::{At, ReplayPiece, ReplayTail, Table};
use crate::derived::checkpoint::distributed::{self, CheckpointPlan, Planned, WrittenSidecar};
use crate::derived::checkpoint::{CheckpointLayout, WrittenCheckpoint, write_checkpoint};
use crate::derived::checksum::write_checksum;
use crate::derived::compaction::{WrittenCompaction, compact_log};
use crate::error::Result;
use crate::maintenance::cleanup::cleanup_expired;
use crate::snapshot::Snapshot;

impl Table {
    /// Writes a checkpoint of a snapshot, and the hint that names it; laid out as the table's
    /// properties ask for where nothing else is said. The log is left as it is.
    ///
    /// # Errors
    ///
    /// Invalid argument: `checkpoint.layout`; Unsupported: a feature that this build cannot write;
    /// Storage.
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
    /// Invalid argument: `checkpoint.layout`; Unsupported: a feature that this build cannot write; what
    /// is wrong with the log.
    pub fn plan_checkpoint(&self, snapshot: &Snapshot, target_size: u64) -> Result<Planned> {
        snapshot.protocol().check_writable()?;
        self.source.publish(snapshot.version())?;
        distributed::plan(&self.source, snapshot, target_size)
    }

    /// Writes one piece of a planned checkpoint.
    ///
    /// # Errors
    ///
    /// As [`distributed::write_sidecars`].
    pub fn write_sidecars(
        &self,
        piece: &ReplayPiece,
        tail: &ReplayTail,
        codec: Option<&str>,
        threads: Option<usize>,
    ) -> Result<Vec<WrittenSidecar>> {
        distributed::write_sidecars(&self.source, piece, tail, codec, threads)
    }

    /// Writes the checkpoint of which all pieces are written.
    ///
    /// # Errors
    ///
    /// As [`CheckpointPlan::finish`].
    pub fn finish_checkpoint(
        &self,
        plan: &CheckpointPlan,
        written: Vec<WrittenSidecar>,
    ) -> Result<WrittenCheckpoint> {
        plan.finish(&self.source, written)
    }

    /// Writes the compacted file of a range of commits.
    ///
    /// # Errors
    ///
    /// As [`compact_log`]; Unsupported: a feature that this build cannot write.
    pub fn compact_log(&self, start: Option<u64>, end: Option<u64>) -> Result<WrittenCompaction> {
        let newest = self.snapshot(At::Latest, None)?;
        newest.protocol().check_writable()?;
        self.source.publish(end.unwrap_or(newest.version()))?;
        compact_log(&self.source, start, end)
    }

    /// Writes the version checksum of a snapshot, counted in full; false where there is one already.
    ///
    /// # Errors
    ///
    /// Unsupported: a feature that this build cannot write; Storage.
    pub fn write_checksum(&self, snapshot: &Snapshot) -> Result<bool> {
        snapshot.protocol().check_writable()?;
        write_checksum(&self.source, snapshot, None)
    }

    /// Ends a checkpoint that was requested: deletes what has expired of the log, unless the table
    /// says otherwise.
    ///
    /// # Errors
    ///
    /// As [`cleanup_expired`].
    pub fn cleanup_expired(&self, snapshot: &Snapshot) -> Result<()> {
        cleanup_expired(&self.source, snapshot)
    }
}
