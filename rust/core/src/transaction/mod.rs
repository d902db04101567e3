//! Transactions: take a snapshot and staged actions, return one new version of the table, or a conflict.
//!
//! A transaction reads one version, records what it read, stages actions, and commits them by creating the
//! next file of the log. If another writer wins, each commit in between is checked by the protocol's rules;
//! if there is no conflict, ids and timestamps are assigned again and the next version is attempted.
//! Nothing of a transaction is visible before that.
//!
//! Protocol: "Delta Log Entries", "Writer Version Requirements"; conflict rules as in delta-spark.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::codec::file_columns::FileColumns;
use crate::definition::{first_actions, with_required_properties, without_protocol_keys};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::replay::{FileActionKey, FileFilter, Source};
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::spec::{DeletionVectorDescriptor, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::storage::now;
use crate::write::random::{new_id, now_after};
use crate::write::{AddFile, CdcFile, RemoveFile, StagedFile};

mod commit;
mod conflict;
mod isolation;
mod prepare;
mod replace;
mod staged_files;
mod whole_commit;
mod winning_commit;

pub use commit::Commit;
pub use isolation::IsolationLevel;
pub(crate) use prepare::check_metadata;
pub use whole_commit::WholeCommit;

/// The domain that holds the high-water mark of row ids.
pub(crate) const ROW_TRACKING: &str = "delta.rowTracking";

/// The options of a transaction.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// The isolation level; `None` for the table's own.
    pub isolation: Option<IsolationLevel>,
    /// True if a successful commit must be durable.
    pub durable: bool,
    /// The time for retries, after conflicts and for a store that does not respond.
    pub timeout: Duration,
}

impl TransactionOptions {
    /// Returns the default options, with or without durability.
    pub fn durable(durable: bool) -> Self {
        Self {
            durable,
            ..Self::default()
        }
    }
}

impl Default for TransactionOptions {
    fn default() -> Self {
        Self {
            isolation: None,
            durable: true,
            timeout: Duration::from_secs(60),
        }
    }
}

/// The description of a commit in `commitInfo`.
#[derive(Clone, Debug, Default)]
pub struct CommitDescription {
    /// The operation, such as `WRITE` or `DELETE`.
    pub operation: String,
    /// Parameters by name; any JSON.
    pub parameters: Map<String, Value>,
    /// Metrics by name; numbers as text.
    pub metrics: BTreeMap<String, String>,
    /// Times in milliseconds by name, which the log shows among the metrics.
    pub times: BTreeMap<String, String>,
    /// Free-form text.
    pub user_metadata: Option<String>,
    /// Free-form tags.
    pub tags: BTreeMap<String, String>,
    /// The engine that commits.
    pub engine_info: Option<String>,
}

impl CommitDescription {
    /// Creates the description of an operation with these parameters.
    pub fn new<'a>(
        operation: &str,
        parameters: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Self {
        let parameters = parameters.into_iter();
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value));
        Self {
            operation: operation.to_owned(),
            parameters: parameters.collect(),
            ..Self::default()
        }
    }
}

/// Returns a value as JSON in a string, as delta-spark writes some parameters.
pub(crate) fn json_text(value: &impl Serialize) -> Value {
    json!(json!(value).to_string())
}

pub(crate) fn metric_strings<const N: usize>(
    metrics: [(&str, u64); N],
) -> BTreeMap<String, String> {
    metrics
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .into()
}

#[derive(Debug, Default)]
struct Reads {
    whole_table: bool,
    predicates: Vec<FileFilter>,
    /// Keys of paths.
    files: HashSet<FileActionKey>,
    applications: BTreeSet<String>,
}

impl Reads {
    fn is_empty(&self) -> bool {
        !self.whole_table && self.predicates.is_empty() && self.files.is_empty()
    }
}

/// Protocol and metadata that the transaction is based on: those of its snapshot, or of a harmless
/// concurrent change.
#[derive(Clone, Debug)]
struct Base {
    protocol: Protocol,
    metadata: Metadata,
}

/// A transaction that is not committed yet.
#[derive(Debug)]
pub struct Transaction {
    source: Source,
    /// The snapshot that it reads; `None` if it creates the table.
    snapshot: Option<Snapshot>,
    base: Option<Base>,
    options: TransactionOptions,
    description: CommitDescription,
    id: String,
    reads: Reads,
    adds: Vec<AddFile>,
    removes: Vec<RemoveFile>,
    cdcs: Vec<CdcFile>,
    /// Files that were written for this commit and must still exist when it is created.
    staged_files: Vec<StagedFile>,
    metadata: Option<Metadata>,
    protocol: Option<Protocol>,
    transactions: BTreeMap<String, SetTransaction>,
    domains: BTreeMap<String, DomainMetadata>,
    /// True if an application has already committed its staged version or a later one.
    already_committed: bool,
    /// True if the commit replaces the table: of the old one, only the history is kept.
    replaces_table: bool,
}

impl Transaction {
    /// Starts a transaction on a version of a table.
    ///
    /// # Errors
    ///
    /// Unsupported: `protocol.writer_features` with every feature that this build cannot write.
    pub fn begin(
        source: &Source,
        snapshot: &Snapshot,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Result<Self> {
        snapshot
            .protocol()
            .check_writable()
            .map_err(|error| error.at_version(snapshot.version()))?;
        let snapshot = Some(snapshot.clone());
        Ok(Self::of(source, snapshot, description, options))
    }

    /// Starts a transaction that creates the table. The protocol follows from the metadata.
    ///
    /// # Errors
    ///
    /// As [`first_actions`].
    pub fn create(
        source: &Source,
        metadata: Metadata,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Result<Self> {
        let (metadata, protocol) = first_actions(metadata)?;
        let mut created = Self::for_new_table(source, description, options);
        created.metadata = Some(metadata);
        created.protocol = Some(protocol);
        Ok(created)
    }

    /// Starts a transaction that creates the table with metadata and protocol that are staged in it.
    pub fn for_new_table(
        source: &Source,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Self {
        Self::of(source, None, description, options)
    }

    fn of(
        source: &Source,
        snapshot: Option<Snapshot>,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Self {
        Self {
            source: source.clone(),
            base: snapshot.as_ref().map(|snapshot| Base {
                protocol: snapshot.protocol().clone(),
                metadata: snapshot.metadata().clone(),
            }),
            snapshot,
            options,
            description,
            id: new_id(),
            reads: Reads::default(),
            adds: Vec::new(),
            removes: Vec::new(),
            cdcs: Vec::new(),
            staged_files: Vec::new(),
            metadata: None,
            protocol: None,
            transactions: BTreeMap::new(),
            domains: BTreeMap::new(),
            already_committed: false,
            replaces_table: false,
        }
    }

    /// Returns the id that the commit will have.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the snapshot that it has read; `None` if it creates the table.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Returns the options.
    pub fn options(&self) -> &TransactionOptions {
        &self.options
    }

    /// Returns the description of the commit, for changes.
    pub fn description(&mut self) -> &mut CommitDescription {
        &mut self.description
    }

    /// Returns `true` if there is nothing to commit except the description.
    pub fn is_empty(&self) -> bool {
        self.snapshot.is_some()
            && self.adds.is_empty()
            && self.removes.is_empty()
            && self.cdcs.is_empty()
            && self.metadata.is_none()
            && self.protocol.is_none()
            && self.transactions.is_empty()
            && self.domains.is_empty()
    }

    /// Returns the metadata that the table will have; `None` if it does not exist yet and none is staged.
    pub(crate) fn new_metadata(&self) -> Option<&Metadata> {
        let old = self.base.as_ref().map(|base| &base.metadata);
        self.metadata.as_ref().or(old)
    }

    /// Returns the protocol that the table will have; `None` if it does not exist yet and none is staged.
    pub(crate) fn new_protocol(&self) -> Option<&Protocol> {
        let old = self.base.as_ref().map(|base| &base.protocol);
        self.protocol.as_ref().or(old)
    }

    /// Returns the metadata and protocol that the table will have.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.nothing` while there is no table.
    pub fn effective(&self) -> Result<(&Metadata, &Protocol)> {
        let definition = self.new_metadata().zip(self.new_protocol());
        definition.ok_or_else(|| Error::invalid("transaction.nothing", "there is no table yet"))
    }

    /// Records that all rows were read, or those that satisfy a predicate.
    ///
    /// # Errors
    ///
    /// As [`Predicate::bind`] and [`Snapshot::file_filter`].
    pub fn read(&mut self, predicate: Option<&Predicate>) -> Result<()> {
        match (predicate, &self.snapshot) {
            (Some(predicate), Some(snapshot)) => {
                let bound = predicate.bind(snapshot.schema())?;
                let predicate = snapshot.file_filter(bound)?;
                self.reads.predicates.push(predicate);
            }
            _ => self.reads.whole_table = true,
        }
        Ok(())
    }

    /// Records that these files were read.
    pub fn read_files<'a>(&mut self, paths: impl IntoIterator<Item = &'a String>) {
        let keys = &self.source.keys;
        let keys = paths.into_iter().map(|path| keys.key(path, None));
        self.reads.files.extend(keys);
    }

    /// Stages files to add.
    pub fn add(&mut self, files: Vec<AddFile>) {
        self.adds.extend(files);
    }

    /// Stages files to add that were written for this commit.
    ///
    /// # Errors
    ///
    /// As [`StagedFile::of`].
    pub fn add_written(&mut self, files: Vec<AddFile>) -> Result<()> {
        for file in &files {
            self.staged_files.push(StagedFile::of(&self.source, file)?);
        }
        self.adds.extend(files);
        Ok(())
    }

    /// Records files that were written for this commit: old ones are checked again before it is created.
    pub fn record_written(&mut self, files: impl IntoIterator<Item = StagedFile>) {
        self.staged_files.extend(files);
    }

    /// Stages files to remove, with all fields that the log needs.
    pub fn remove(&mut self, files: Vec<RemoveFile>) {
        self.removes.extend(files);
    }

    /// Stages change data files.
    pub fn change_data(&mut self, files: Vec<CdcFile>) {
        self.cdcs.extend(files);
    }

    /// Stages the removal of live files, by path.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.not_live`.
    pub fn remove_paths(&mut self, paths: &[String], data_change: bool) -> Result<()> {
        let now = self.removal_time();
        for file in self.live(paths)? {
            self.removes.push(file.removed(now, data_change));
        }
        Ok(())
    }

    /// Stages new deletion vectors of live files, by path.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.not_live`, `transaction.deletion_vector`.
    pub fn update_vectors(
        &mut self,
        vectors: BTreeMap<String, DeletionVectorDescriptor>,
    ) -> Result<()> {
        let now = self.removal_time();
        let paths: Vec<String> = vectors.keys().cloned().collect();
        let files = self.live(&paths)?;
        let updated = files.iter().zip(vectors.into_values());
        let updated = updated.map(|(file, vector)| file.with_vector(vector));
        self.adds.extend(updated.collect::<Result<Vec<_>>>()?);
        let removed = files.iter().map(|file| file.removed(now, true));
        self.removes.extend(removed);
        Ok(())
    }

    fn removal_time(&self) -> i64 {
        self.snapshot.as_ref().map_or_else(now, now_after)
    }

    /// Returns the live files of these paths, in order.
    fn live(&self, paths: &[String]) -> Result<Vec<AddFile>> {
        let key = |path: &String| self.source.keys.key(path, None);
        let keys: Vec<_> = paths.iter().map(key).collect();
        let mut live_files: BTreeMap<FileActionKey, Option<AddFile>> =
            keys.iter().map(|key| (*key, None)).collect();
        if let Some(snapshot) = &self.snapshot {
            for rows in snapshot.file_batches(&self.source, FileColumns::all(), None)? {
                let rows = rows?;
                for (row, key) in self.source.keys.of_paths(&rows)?.iter().enumerate() {
                    if let Some(file) = live_files.get_mut(key) {
                        *file = Some(AddFile::of_row(&rows, row)?);
                    }
                }
            }
        }
        let file_of = |(key, path): (&FileActionKey, &String)| {
            live_files.get(key).cloned().flatten().ok_or_else(|| {
                let message = "this file is not live in the version that the transaction reads";
                Error::invalid("transaction.not_live", message).at_path(path.clone())
            })
        };
        keys.iter().zip(paths).map(file_of).collect()
    }

    /// Stages metadata; upgrades the protocol if the metadata requires it.
    ///
    /// # Errors
    ///
    /// As [`Protocol::upgrade_for`], but `protocol.version` for protocol versions among the properties that do
    /// not exist, or not together; Invalid argument: the schema; Unsupported: `protocol.writer_features`, and
    /// `alter.row_tracking` for a table whose files have no row ids yet.
    pub fn set_metadata(&mut self, mut metadata: Metadata) -> Result<()> {
        StructType::parse(&metadata.schema_string).map_err(Error::of_argument)?;
        let Some(old) = self.new_protocol().cloned() else {
            self.metadata = Some(without_protocol_keys(metadata));
            return Ok(());
        };
        let new = with_versions(old.clone(), &mut metadata)?.upgrade_for(&metadata)?;
        new.check_writable()?;
        self.check_row_tracking(&metadata)?;
        if !new.is_equivalent(&old) {
            self.protocol = Some(new.clone());
        }
        self.metadata = Some(with_required_properties(
            without_protocol_keys(metadata),
            &new,
        ));
        self.end_impossible_clustering()
    }

    /// Checks that all files have row ids if row tracking is enabled.
    fn check_row_tracking(&self, metadata: &Metadata) -> Result<()> {
        if self.replaces_table {
            return Ok(());
        }
        let on = |metadata: &Metadata| metadata.is_on("delta.enableRowTracking");
        let was_off = self.base.as_ref().is_none_or(|base| !on(&base.metadata));
        if let Some(snapshot) = &self.snapshot
            && on(metadata)
            && was_off
            && self.lack_row_ids(snapshot)?
        {
            let message = "rows of files that have no row ids cannot be tracked: set the property by \
                           itself (set_properties), which gives ids to all files first";
            return Err(Error::unsupported("alter.row_tracking", message));
        }
        Ok(())
    }

    /// Stages a protocol.
    ///
    /// # Errors
    ///
    /// As [`Protocol::check_writable`]; but Invalid argument: `protocol.malformed`.
    pub fn set_protocol(&mut self, protocol: Protocol) -> Result<()> {
        protocol.check_writable().map_err(Error::of_argument)?;
        self.protocol = Some(protocol);
        Ok(())
    }

    /// Stages the version of an application, which counts as read. Returns `true` if this application, or one
    /// staged before, has already committed its version or a later one: then nothing will be committed.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.duplicate` for another version of the same application.
    pub fn set_transaction(&mut self, app_id: &str, version: i64) -> Result<bool> {
        if let Some(other) = self.transactions.get(app_id)
            && other.version != version
        {
            let message = format!(
                "the application {app_id:?} is given two versions in one commit: {} and {version}",
                other.version
            );
            return Err(Error::invalid("transaction.duplicate", message));
        }
        self.reads.applications.insert(app_id.to_owned());
        if let Some(snapshot) = &self.snapshot {
            let committed = snapshot.transactions(&self.source)?;
            self.already_committed |= committed
                .iter()
                .any(|committed| committed.app_id == app_id && committed.version >= version);
        }
        let staged = SetTransaction {
            app_id: app_id.to_owned(),
            version,
            last_updated: Some(now()),
        };
        self.transactions.insert(app_id.to_owned(), staged);
        Ok(self.already_committed)
    }

    /// Stages the configuration of a domain, or its removal.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.domain` for a domain of the system; `transaction.duplicate`.
    pub fn set_domain(&mut self, domain: &str, configuration: Option<&str>) -> Result<()> {
        if domain.starts_with("delta.") {
            let message =
                format!("the domain {domain:?} belongs to Delta Lake: choose another name");
            return Err(Error::invalid("transaction.domain", message));
        }
        if self.domains.contains_key(domain) {
            let message = format!("the domain {domain:?} is given twice in one commit");
            return Err(Error::invalid("transaction.duplicate", message));
        }
        self.set_system_domain(domain, configuration.map(str::to_owned));
        Ok(())
    }

    /// Stages the configuration of a system domain, or its removal.
    pub(crate) fn set_system_domain(&mut self, domain: &str, configuration: Option<String>) {
        let staged = DomainMetadata {
            domain: domain.to_owned(),
            removed: configuration.is_none(),
            configuration: configuration.unwrap_or_default(),
        };
        self.domains.insert(domain.to_owned(), staged);
    }

    /// Returns `true` if nothing was read and only files are added: such a commit never conflicts with
    /// added or removed files.
    fn is_blind_append(&self) -> bool {
        self.reads.is_empty() && self.removes.is_empty() && self.cdcs.is_empty()
    }
}

/// Removes the protocol versions among the properties, and returns the protocol with their features.
fn with_versions(protocol: Protocol, metadata: &mut Metadata) -> Result<Protocol> {
    let versions = ["delta.minReaderVersion", "delta.minWriterVersion"];
    let is_version = |key: &String| versions.iter().any(|name| name.eq_ignore_ascii_case(key));
    let (requested, others) = std::mem::take(&mut metadata.configuration)
        .into_iter()
        .partition(|(key, _)| is_version(key));
    metadata.configuration = others;
    let requested = Metadata {
        configuration: requested,
        ..Metadata::default()
    };
    if requested.configuration.is_empty() {
        return Ok(protocol);
    }
    protocol.with_versions(&requested)
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
