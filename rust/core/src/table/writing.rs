//! What writes to a table: creation, alteration, commits, and what follows each commit.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{At, ReplayPiece, ReplayTail, Table};
use crate::codec::version_checksum::VersionChecksum;
use crate::derived::checkpoint::distributed::{self, CheckpointPlan, Planned, WrittenSidecar};
use crate::derived::checkpoint::{
    CheckpointLayout, WrittenCheckpoint, has_checkpoint, write_checkpoint,
};
use crate::derived::checksum::{carry_checksum, checksum_path, write_checksum};
use crate::derived::compaction::{WrittenCompaction, compact_log};
use crate::error::{Error, Result};
use crate::maintenance::cleanup::cleanup_expired;
use crate::snapshot::Snapshot;
use crate::spec::actions::Metadata;
use crate::spec::schema::StructType;
use crate::transaction::alter::new_metadata;
use crate::transaction::random::now;
use crate::transaction::{Commit, CommitDescription, Transaction, TransactionOptions};

/// Of tables with more files than that a checksum is not counted after each commit.
const SMALL_TABLE: u64 = 1_000;

/// What came of a commit, and of what follows it.
#[derive(Debug)]
pub struct Committed {
    /// The commit.
    pub commit: Commit,
    /// What went wrong when the checkpoint or the checksum was written, or expired commits deleted.
    pub afterwards: Option<Error>,
}

/// What a new table is to be.
#[derive(Clone, Debug, Default)]
pub struct TableDefinition {
    /// The columns.
    pub schema: StructType,
    /// Names of those that the table is partitioned by.
    pub partition_columns: Vec<String>,
    /// Table properties, and those that say which protocol the table gets.
    pub properties: BTreeMap<String, String>,
    /// A name for people.
    pub name: Option<String>,
    /// What the table is for.
    pub description: Option<String>,
}

impl TableDefinition {
    /// The metadata of such a table.
    ///
    /// # Errors
    ///
    /// Invalid argument: the definition.
    pub fn metadata(self) -> Result<Metadata> {
        let mut metadata = new_metadata(
            &self.schema,
            self.partition_columns,
            &self.properties,
            now(),
        )?;
        (metadata.name, metadata.description) = (self.name, self.description);
        Ok(metadata)
    }
}

impl Table {
    /// Creates the table: version 0.
    ///
    /// # Errors
    ///
    /// Invalid argument: the definition, and `table.exists`; Unsupported: a feature that this build
    /// cannot write; Conflict: another writer created it.
    pub fn create(&self, new: TableDefinition, options: TransactionOptions) -> Result<Commit> {
        if self.exists()? {
            let message = "there is a table already: open it, or choose another place";
            return Err(Error::invalid("table.exists", message).at_path(self.uri()));
        }
        let metadata = new.metadata()?;
        let text = |value: Value| value.to_string();
        let parameters = [
            ("isManaged", json!("false")),
            ("description", json!(metadata.description)),
            (
                "partitionBy",
                json!(text(json!(metadata.partition_columns))),
            ),
            ("properties", json!(text(json!(metadata.configuration)))),
        ];
        let description = described("CREATE TABLE", parameters);
        self.commit(Transaction::create(
            &self.source,
            metadata,
            description,
            options,
        )?)
        .map(|committed| committed.commit)
    }

    /// Commits a transaction; then writes what its version calls for: a checkpoint, a checksum of a
    /// table that is not large. Behind a checkpoint of its own it deletes what has expired of the log.
    ///
    /// # Errors
    ///
    /// As [`Transaction::commit`]. What goes wrong afterwards is no error: the version is there.
    pub fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let commit = transaction.commit()?;
        let afterwards = match commit.version {
            Some(version) => self.after(version, &commit).err(),
            None => None,
        };
        Ok(Committed { commit, afterwards })
    }

    /// The checksum is carried on from the version before. It is counted where that cannot be done and
    /// the table is small, and for versions that get a checkpoint: then everything is read anyway, and
    /// an error in what was carried on ends there.
    fn after(&self, version: u64, commit: &Commit) -> Result<()> {
        let carried = !commit.checkpoint_due
            && carry_checksum(&self.source, version, commit.text.as_bytes())?;
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

    /// What follows a checkpoint that was asked for: deletes what has expired of the log, unless the table
    /// says otherwise.
    ///
    /// # Errors
    ///
    /// As [`cleanup_expired`].
    pub fn cleanup_expired(&self, snapshot: &Snapshot) -> Result<()> {
        cleanup_expired(&self.source, snapshot)
    }

    /// How many files a version has, if a checksum tells.
    fn known_files(&self, version: u64) -> Option<u64> {
        let path = checksum_path(version);
        let bytes = self.source.storage.read(&path).ok()?;
        VersionChecksum::parse(&bytes).ok()?.num_files
    }

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
        self.snapshot(At::Latest, None)?
            .protocol()
            .check_writable()?;
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
            None => Ok(Transaction::unborn(&self.source, description, options)),
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
