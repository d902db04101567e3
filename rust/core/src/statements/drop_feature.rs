//! Drops table features with their traces, and assigns row ids to files that have none.
//!
//! The traces of a feature in the newest version are removed first, by commits that change no row. Older
//! versions still have it: they are followed by checkpoints, so that clients without the feature never have
//! to read them, and `checkpointProtection` preserves these checkpoints.
//!
//! Protocol: "Table Features", "Checkpoint Protection", "Row Tracking".

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::json;

use super::Alteration;
use super::change::Changer;
use super::read_ahead::OWN_VECTOR;
use super::write::write_options;
use crate::codec::deletion_vector::{VectorLocation, vector_location};
use crate::codec::file_columns::FileColumns;
use crate::definition;
use crate::definition::clustering::CLUSTERING;
use crate::definition::constraints::constraint_names;
use crate::definition::drop_feature::{
    clustering_by_logical_names, without_column_mapping, without_type_changes,
};
use crate::derived::checkpoint::has_checkpoint;
use crate::derived::traces::{PROTECTED, PROTECTION, has_type_changes};
use crate::error::{Error, ErrorKind, Result};
use crate::snapshot::Snapshot;
use crate::spec::Metadata;
use crate::spec::features::{CATALOG_MANAGED, find_feature};
use crate::spec::json::clipped;
use crate::spec::property_rules::check_combination;
use crate::table::{At, RowsOptions, Table};
use crate::transaction::{
    Commit, CommitDescription, IsolationLevel, ROW_TRACKING, Transaction, TransactionOptions,
    metric_strings,
};
use crate::write::random::now_after;
use crate::write::{AddFile, RemoveFile};

/// The number of empty commits, each with a checkpoint, between versions with traces and the one without
/// the feature; as in delta-spark.
const BARRIERS: usize = 3;

/// The property with which new files get no row ids.
const SUSPENDED: &str = "delta.rowTrackingSuspended";

/// The maximum number of files that get or lose their row ids in one commit.
const FILES_AT_ONCE: usize = 100_000;

impl Table {
    /// Drops a feature.
    ///
    /// # Errors
    ///
    /// As [`crate::spec::actions::Protocol::without_feature`]. Invalid argument: `alter.feature_in_use`,
    /// `alter.truncate_history` for `checkpointProtection`, `transaction.column_name` for names that require
    /// column mapping; Unsupported: `alter.drop_feature`; Corrupt: `optimize.clustering` for clustering columns
    /// that the schema lacks; Conflict: another writer changed the table meanwhile.
    /// Steps completed before an error need not be repeated.
    pub(super) fn drop_feature(&self, name: &str, options: &TransactionOptions) -> Result<Commit> {
        let snapshot = self.snapshot(At::Latest, None)?;
        snapshot.protocol().without_feature(name)?;
        let feature = find_feature(name);
        let name = feature.map_or(name, |feature| feature.name);
        if name == PROTECTION {
            let message = format!(
                "{PROTECTION} can only be dropped with the history that it protects: pass truncate_history=True"
            );
            return Err(Error::invalid("alter.truncate_history", message));
        }
        self.remove_traces(name, options)?;
        if let Some(feature) = feature
            && feature.binds_readers()
        {
            for _ in 0..BARRIERS {
                self.commit_barrier(&self.snapshot(At::Latest, None)?, options)?;
            }
        }
        let snapshot = self.snapshot(At::Latest, None)?;
        self.commit_drop(&snapshot, name, false, options)
    }

    /// Commits an empty version, and writes its checkpoint.
    pub(super) fn commit_barrier(
        &self,
        snapshot: &Snapshot,
        options: &TransactionOptions,
    ) -> Result<()> {
        let description = CommitDescription::new("EMPTY COMMIT", []);
        let empty = Transaction::begin(self.source(), snapshot, description, options.clone())?;
        let commit = self.commit(empty)?.commit;
        self.checkpoint_of(&commit)
    }

    /// Commits the drop of the feature; its history is protected unless it is `truncated`.
    pub(super) fn commit_drop(
        &self,
        snapshot: &Snapshot,
        name: &str,
        truncated: bool,
        options: &TransactionOptions,
    ) -> Result<Commit> {
        let feature = find_feature(name);
        let protect = !truncated && feature.is_some_and(|feature| feature.binds_readers());
        let mut protocol = snapshot.protocol().without_feature(name)?;
        let mut metadata = self.without_traces(snapshot, name)?;
        let options = TransactionOptions {
            isolation: Some(IsolationLevel::Serializable),
            ..options.clone()
        };
        let parameters = [
            ("featureName", json!(name)),
            ("truncateHistory", json!(truncated)),
        ];
        let description = CommitDescription::new("DROP FEATURE", parameters);
        let mut transaction = Transaction::begin(self.source(), snapshot, description, options)?;
        transaction.read(None)?;
        if protect {
            protocol = protocol.with_feature(PROTECTION)?;
            let version = (snapshot.version() + 1).to_string();
            metadata.configuration.insert(PROTECTED.to_owned(), version);
        }
        if name == "deletionVectors" {
            transaction.remove(self.files_of_vectors(snapshot)?);
        }
        if name == "rowTracking" {
            transaction.set_system_domain(ROW_TRACKING, None);
        }
        transaction.set_protocol(protocol)?;
        if metadata != *snapshot.metadata() {
            transaction.set_metadata(metadata)?;
        }
        let commit = self.commit(transaction)?.commit;
        if protect {
            self.checkpoint_of(&commit)?;
        }
        Ok(commit)
    }

    /// Writes a checkpoint of the commit, so that clients need not read earlier commits.
    fn checkpoint_of(&self, commit: &Commit) -> Result<()> {
        let Some(version) = commit.version else {
            return Ok(());
        };
        if !has_checkpoint(self.source(), version)? {
            let snapshot = self.snapshot(At::Version(version), None)?;
            self.checkpoint(&snapshot, None)?;
        }
        Ok(())
    }

    /// Removes all traces of the feature from the newest version, except those that its last commit
    /// removes.
    pub(super) fn remove_traces(&self, feature: &str, options: &TransactionOptions) -> Result<()> {
        match feature {
            managed if CATALOG_MANAGED.contains(&managed) => Ok(()),
            "checkConstraints"
            | "domainMetadata"
            | "inCommitTimestamp"
            | "vacuumProtocolCheck"
            | "checkpointProtection"
            | "materializePartitionColumns" => Ok(()),
            "v2Checkpoint" => self.unset("delta.checkpointPolicy", options),
            "deletionVectors" => {
                self.unset("delta.enableDeletionVectors", options)?;
                let snapshot = self.snapshot(At::Latest, None)?;
                let has_vector = |_: &Changer, file: &AddFile| Ok(file.deletion_vector.is_some());
                self.rewrite(&snapshot, "REORG", None, options, has_vector)
            }
            "typeWidening" | "typeWidening-preview" => {
                self.unset("delta.enableTypeWidening", options)?;
                let snapshot = self.snapshot(At::Latest, None)?;
                if !has_type_changes(snapshot.schema()) {
                    return Ok(());
                }
                self.rewrite(&snapshot, "REORG", None, options, Changer::has_other_types)
            }
            "columnMapping" => {
                let snapshot = self.snapshot(At::Latest, None)?;
                let new = without_column_mapping(snapshot.metadata())?;
                if new == *snapshot.metadata() {
                    return Ok(());
                }
                let operation = "REMOVE COLUMN MAPPING";
                self.rewrite(&snapshot, operation, Some(new), options, |_, _| Ok(true))
            }
            "rowTracking" => {
                let properties = BTreeMap::from([
                    ("delta.enableRowTracking".to_owned(), "false".to_owned()),
                    (SUSPENDED.to_owned(), "true".to_owned()),
                ]);
                self.alter(Alteration::SetProperties(properties), options.clone())?;
                let has_row_tracking = |file: &AddFile| {
                    file.base_row_id.is_some() || file.default_row_commit_version.is_some()
                };
                self.readd_files(
                    "ROW TRACKING UNBACKFILL",
                    options,
                    true,
                    has_row_tracking,
                    |file| {
                        file.base_row_id = None;
                        file.default_row_commit_version = None;
                    },
                )
            }
            _ => {
                let message = format!(
                    "this release cannot drop {feature}: drop it with delta-spark \
                     (ALTER TABLE ... DROP FEATURE)"
                );
                Err(Error::unsupported("alter.drop_feature", message))
            }
        }
    }

    pub(super) fn without_traces(&self, snapshot: &Snapshot, feature: &str) -> Result<Metadata> {
        let old = snapshot.metadata();
        let refused = |message: String| Err(Error::invalid("alter.feature_in_use", message));
        let properties: &[&str] = match feature {
            "checkConstraints" => {
                let names = constraint_names(old);
                if !names.is_empty() {
                    return refused(format!(
                        "the table has constraints, drop them first: {}",
                        names.join(", ")
                    ));
                }
                &[]
            }
            "domainMetadata" => {
                let domains = snapshot.domain_metadata(self.source())?;
                if let Some(domain) = domains.first() {
                    return refused(format!(
                        "the table has domain metadata, remove it first: {}",
                        clipped(&domain.domain)
                    ));
                }
                &[]
            }
            "inCommitTimestamp" => &[
                "delta.enableInCommitTimestamps",
                "delta.inCommitTimestampEnablementVersion",
                "delta.inCommitTimestampEnablementTimestamp",
            ],
            "rowTracking" => &[
                "delta.enableRowTracking",
                SUSPENDED,
                "delta.rowTracking.materializedRowIdColumnName",
                "delta.rowTracking.materializedRowCommitVersionColumnName",
            ],
            "typeWidening" | "typeWidening-preview" => return without_type_changes(old),
            "checkpointProtection" => &[PROTECTED],
            _ => &[],
        };
        let keys: Vec<String> = properties.iter().map(|key| (*key).to_owned()).collect();
        definition::unset_properties(old, &keys, true)
    }

    fn unset(&self, property: &str, options: &TransactionOptions) -> Result<()> {
        let snapshot = self.snapshot(At::Latest, None)?;
        if snapshot.metadata().property(property).is_none() {
            return Ok(());
        }
        let change = Alteration::UnsetProperties(vec![property.to_owned()], true);
        self.alter(change, options.clone()).map(drop)
    }

    /// Rewrites the affected files of the newest snapshot with the same rows. `new` is its metadata without
    /// column mapping, if that is removed.
    fn rewrite(
        &self,
        snapshot: &Snapshot,
        operation: &str,
        new: Option<Metadata>,
        options: &TransactionOptions,
        is_affected: impl Fn(&Changer, &AddFile) -> Result<bool>,
    ) -> Result<()> {
        let isolation = new.as_ref().map(|_| IsolationLevel::Serializable);
        let rows = RowsOptions {
            transaction: TransactionOptions {
                isolation: isolation.or(options.isolation),
                ..options.clone()
            },
            ..RowsOptions::default()
        };
        let mut transaction = self.begin(snapshot, operation, [], &rows)?;
        let changes_metadata = new.is_some();
        if let Some(new) = new {
            transaction.read(None)?;
            transaction.set_metadata(new)?;
            if let Some(old) = snapshot.domain_configuration(self.source(), CLUSTERING)? {
                let logical = clustering_by_logical_names(snapshot.schema(), &old)?;
                transaction.set_system_domain(CLUSTERING, Some(logical));
            }
            transaction.check()?;
        }
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&rows);
        let mut changer = Changer::new(self.source(), snapshot, metadata, protocol, write, false)?;
        changer.read_with_old_metadata()?;
        let affected = live_files(self, snapshot, usize::MAX, |file| {
            is_affected(&changer, file)
        })?;
        for file in affected {
            changer.rewrite(file, OWN_VECTOR)?;
        }
        if changer.is_empty() && !changes_metadata {
            return Ok(());
        }
        let (written, counts) = changer.stage_with(&mut transaction, false)?;
        transaction.description().metrics = metric_strings([
            ("numRemovedFiles", counts.removed_files),
            ("numRemovedBytes", counts.removed_bytes),
            ("numAddedFiles", written.adds.len() as u64),
            ("numAddedBytes", written.bytes),
        ]);
        self.commit_files(transaction, written).map(drop)
    }

    /// Assigns row ids to all files, so that these properties may enable row tracking.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`Table::commit`]; Invalid argument: the properties, and
    /// `transaction.row_ids` for a file whose statistics lack its number of rows.
    pub(super) fn backfill_row_ids(
        &self,
        properties: &BTreeMap<String, String>,
        options: &TransactionOptions,
    ) -> Result<()> {
        let snapshot = self.snapshot(At::Latest, None)?;
        if snapshot.properties().row_tracking || snapshot.num_files(self.source())? == 0 {
            return Ok(());
        }
        // while row tracking is suspended, files get no row ids: the properties must resume it, and it is
        // resumed before the files are added again
        let new = definition::set_properties(snapshot.metadata(), properties)?;
        check_combination(&new.configuration)?;
        if snapshot.metadata().is_on(SUSPENDED) {
            self.unset(SUSPENDED, options)?;
        }
        if !snapshot.protocol().is_supported("rowTracking") {
            let feature = Alteration::AddFeature("rowTracking".to_owned());
            self.alter(feature, options.clone())?;
        }
        self.readd_files(
            "ROW TRACKING BACKFILL",
            options,
            false,
            |file| file.base_row_id.is_none() || file.default_row_commit_version.is_none(),
            |_| (),
        )
    }

    /// Adds live files again with changed actions, a limited number at a time, while row tracking is `suspended` or
    /// not.
    pub(super) fn readd_files(
        &self,
        operation: &str,
        options: &TransactionOptions,
        suspended: bool,
        is_affected: impl Fn(&AddFile) -> bool,
        change: impl Fn(&mut AddFile),
    ) -> Result<()> {
        let mut deadline = Instant::now() + options.timeout;
        loop {
            let snapshot = self.snapshot(At::Latest, None)?;
            if snapshot.properties().row_tracking_suspended != suspended {
                // the files would be affected again after each commit
                let message = format!(
                    "another writer changed {SUSPENDED} during {operation}: run the statement again"
                );
                return Err(
                    Error::new(ErrorKind::Conflict, "conflict.metadata_changed", message)
                        .at_version(snapshot.version()),
                );
            }
            let files = live_files(self, &snapshot, FILES_AT_ONCE, |file| Ok(is_affected(file)))?;
            if files.is_empty() {
                return Ok(());
            }
            let files = files.into_iter().map(|mut file| {
                change(&mut file);
                file.data_change = false;
                file.with_wide_bounds()
            });
            let files = files.collect::<Result<Vec<_>>>()?;
            let description = CommitDescription::new(operation, []);
            let mut transaction =
                Transaction::begin(self.source(), &snapshot, description, options.clone())?;
            transaction.read_files(files.iter().map(|file| &file.path));
            transaction.add(files);
            match self.commit(transaction) {
                // another writer removed or changed some of the files
                Err(error)
                    if error.code() == "conflict.delete_read" && Instant::now() < deadline => {}
                committed => {
                    drop(committed?);
                    deadline = Instant::now() + options.timeout;
                }
            }
        }
    }

    /// Returns the deletion vector files of older versions as removed data files, so that a vacuum by clients
    /// that do not support deletion vectors keeps them as long as these versions may be read.
    fn files_of_vectors(&self, snapshot: &Snapshot) -> Result<Vec<RemoveFile>> {
        let mut paths = BTreeSet::new();
        for rows in snapshot.tombstones(self.source())?.batches {
            for removed in RemoveFile::of_rows(&rows)? {
                if let Some(vector) = &removed.deletion_vector
                    && let VectorLocation::File(path) = vector_location(vector)?
                    && self.source().resolver.resolve("", &path).is_ok()
                {
                    paths.insert(path);
                }
            }
        }
        let removed = |path| RemoveFile {
            path,
            deletion_timestamp: Some(now_after(snapshot)),
            data_change: false,
            ..RemoveFile::default()
        };
        Ok(paths.into_iter().map(removed).collect())
    }
}

/// Returns the first live files that satisfy a condition, at most this many.
fn live_files(
    table: &Table,
    snapshot: &Snapshot,
    max_files: usize,
    is_affected: impl Fn(&AddFile) -> Result<bool>,
) -> Result<Vec<AddFile>> {
    let mut files = Vec::new();
    for rows in snapshot.file_batches(table.source(), FileColumns::all(), None)? {
        for file in AddFile::of_rows(&rows?)? {
            if is_affected(&file)? {
                files.push(file);
            }
            if files.len() >= max_files {
                return Ok(files);
            }
        }
    }
    Ok(files)
}
