//! Transactions: a snapshot and staged actions in, one new version of the table out, or a conflict.
//!
//! A transaction reads one version, remembers what it read, stages actions, and commits them by creating
//! the next file of the log. Where another writer was faster, each commit in between is checked by the
//! protocol's rules; if none is in the way, ids and timestamps are made again and the next version is
//! tried. Nothing of a transaction is visible before that.
//!
//! Protocol: "Delta Log Entries", "Writer Version Requirements"; conflict rules as in the reference
//! implementation.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::replay::FileFilter;
use crate::replay::{FileActionKey, Source};
use crate::snapshot::Snapshot;
use crate::spec::DeletionVectorDescriptor;
use crate::spec::schema::StructType;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::storage::now;

mod commit;
mod conflict;
mod isolation;
mod prepare;
mod replace;
mod staged_files;
mod whole_commit;
mod winning_commit;

use crate::write::AddFile;
use crate::write::CdcFile;
use crate::write::RemoveFile;
use crate::write::StagedFile;
pub use commit::Commit;
pub use isolation::IsolationLevel;
pub(crate) use prepare::check_metadata;
pub use whole_commit::WholeCommit;

/// The domain that holds the high-water mark of row ids.
pub(crate) const ROW_TRACKING: &str = "delta.rowTracking";

/// The options by which a transaction commits.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// The table's own level where none is given.
    pub isolation: Option<IsolationLevel>,
    /// True if the commit is on disk when it is said to be done.
    pub durable: bool,
    /// The time for retries against other writers, and against a store that does not respond.
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

/// The description of a commit in its `commitInfo`.
#[derive(Clone, Debug, Default)]
pub struct CommitDescription {
    /// Such as `WRITE` or `DELETE`.
    pub operation: String,
    /// By name; any JSON.
    pub parameters: Map<String, Value>,
    /// By name; numbers as text.
    pub metrics: BTreeMap<String, String>,
    /// Free-form.
    pub user_metadata: Option<String>,
    /// Free-form.
    pub tags: BTreeMap<String, String>,
    /// Who commits.
    pub engine_info: Option<String>,
}

/// The data that was read.
#[derive(Debug, Default)]
struct Reads {
    whole_table: bool,
    predicates: Vec<FileFilter>,
    /// By path alone.
    files: HashSet<FileActionKey>,
    applications: BTreeSet<String>,
}

impl Reads {
    fn nothing(&self) -> bool {
        !self.whole_table && self.predicates.is_empty() && self.files.is_empty()
    }
}

/// Protocol and metadata that the transaction builds on: those of its snapshot, until a harmless change of
/// another writer is taken over.
#[derive(Clone, Debug)]
struct Base {
    protocol: Protocol,
    metadata: Metadata,
}

/// A transaction in the making.
#[derive(Debug)]
pub struct Transaction {
    source: Source,
    /// The snapshot that it reads; `None` while it creates the table.
    snapshot: Option<Snapshot>,
    base: Option<Base>,
    options: TransactionOptions,
    description: CommitDescription,
    id: String,
    reads: Reads,
    adds: Vec<AddFile>,
    removes: Vec<RemoveFile>,
    cdcs: Vec<CdcFile>,
    /// Files that were written for this commit, which must still be there when it is made.
    staged_files: Vec<StagedFile>,
    metadata: Option<Metadata>,
    protocol: Option<Protocol>,
    transactions: BTreeMap<String, SetTransaction>,
    domains: BTreeMap<String, DomainMetadata>,
    /// An application has committed this version of its own, or a later one, already.
    done_before: bool,
    /// Nothing stays of the table but its history.
    replaces_table: bool,
}

impl Transaction {
    /// A transaction on a version of a table.
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
        Ok(Self::of(
            source,
            Some(snapshot.clone()),
            description,
            options,
        ))
    }

    /// A transaction that creates the table. The protocol follows from the metadata.
    ///
    /// # Errors
    ///
    /// As [`Protocol::for_new_table`]; Unsupported: `protocol.writer_features`; Invalid argument: the
    /// metadata.
    pub fn create(
        source: &Source,
        metadata: Metadata,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Result<Self> {
        let (metadata, protocol) = crate::definition::first_actions(metadata)?;
        let mut created = Self::for_new_table(source, description, options);
        created.metadata = Some(metadata);
        created.protocol = Some(protocol);
        Ok(created)
    }

    /// A transaction that creates the table by the metadata and the protocol that are staged in it.
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
            id: crate::write::random::new_id(),
            reads: Reads::default(),
            adds: Vec::new(),
            removes: Vec::new(),
            cdcs: Vec::new(),
            staged_files: Vec::new(),
            metadata: None,
            protocol: None,
            transactions: BTreeMap::new(),
            domains: BTreeMap::new(),
            done_before: false,
            replaces_table: false,
        }
    }

    /// The id that the commit will carry.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the snapshot that it has read; `None` if it creates the table.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Returns the options by which it commits.
    pub fn options(&self) -> &TransactionOptions {
        &self.options
    }

    /// Returns the description of the commit, to be changed.
    pub fn description(&mut self) -> &mut CommitDescription {
        &mut self.description
    }

    /// Returns `true` if there is nothing to commit but what the commit says of itself.
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

    /// The metadata that the table will have.
    pub(crate) fn new_metadata(&self) -> Option<&Metadata> {
        let old = self.base.as_ref().map(|base| &base.metadata);
        self.metadata.as_ref().or(old)
    }

    /// The protocol that the table will have.
    pub(crate) fn new_protocol(&self) -> Option<&Protocol> {
        let old = self.base.as_ref().map(|base| &base.protocol);
        self.protocol.as_ref().or(old)
    }

    /// Metadata and protocol that the table will have.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.nothing` while there is no table.
    pub fn effective(&self) -> Result<(&Metadata, &Protocol)> {
        let definition = self.new_metadata().zip(self.new_protocol());
        definition.ok_or_else(|| Error::invalid("transaction.nothing", "there is no table yet"))
    }

    /// Notes that all rows were read, or those that satisfy a predicate.
    ///
    /// # Errors
    ///
    /// Invalid argument: the predicate does not fit the schema.
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

    /// Notes that these files were read.
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
    /// Corrupt: a path that leads out of the table.
    pub fn add_written(&mut self, files: Vec<AddFile>) -> Result<()> {
        for file in &files {
            self.staged_files.push(StagedFile::of(&self.source, file)?);
        }
        self.adds.extend(files);
        Ok(())
    }

    /// Notes files that were written for this commit: old ones are looked at again before it is made.
    pub fn expect(&mut self, files: impl IntoIterator<Item = StagedFile>) {
        self.staged_files.extend(files);
    }

    /// Stages files to remove, with all that the log has to know of them.
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
        for (file, vector) in files.into_iter().zip(vectors.into_values()) {
            self.removes.push(file.removed(now, true));
            self.adds.push(file.revectored(vector)?);
        }
        Ok(())
    }

    fn removal_time(&self) -> i64 {
        self.snapshot
            .as_ref()
            .map_or_else(now, crate::write::random::now_after)
    }

    /// The live files of these paths, in their order.
    fn live(&self, paths: &[String]) -> Result<Vec<AddFile>> {
        let keys: Vec<_> = paths
            .iter()
            .map(|path| self.source.keys.key(path, None))
            .collect();
        let mut live_files: BTreeMap<FileActionKey, Option<AddFile>> =
            keys.iter().map(|key| (*key, None)).collect();
        if let Some(snapshot) = &self.snapshot {
            for rows in snapshot.file_batches(&self.source, FileColumns::all(), None)? {
                let rows = rows?;
                let mut matches = Vec::new();
                if let Some(path) = rows.column_by_name("path") {
                    self.source.keys.visit(path, None, &mut |row, key| {
                        if live_files.contains_key(&key) {
                            matches.push((row, key));
                        }
                    })?;
                }
                for (row, key) in matches {
                    live_files.insert(key, Some(AddFile::of_row(&rows, row)?));
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

    /// Stages metadata; the protocol is upgraded where the metadata calls for it.
    ///
    /// # Errors
    ///
    /// As [`Protocol::upgrade_for`]; Invalid argument: the schema; Unsupported: `protocol.writer_features`,
    /// and `alter.row_tracking` for a table whose files have no row ids yet.
    pub fn set_metadata(&mut self, mut metadata: Metadata) -> Result<()> {
        StructType::parse(&metadata.schema_string).map_err(Error::of_argument)?;
        let Some(old) = self.new_protocol().cloned() else {
            self.metadata = Some(crate::definition::without_consumed(metadata));
            return Ok(());
        };
        let versions = ["delta.minReaderVersion", "delta.minWriterVersion"];
        let mut base = old.clone();
        if versions.iter().any(|key| metadata.property(key).is_some()) {
            let mut requested = Metadata::default();
            let consumed =
                |key: &&String| versions.iter().any(|name| name.eq_ignore_ascii_case(key));
            for key in metadata.configuration.keys().filter(consumed) {
                let value = metadata.configuration.get(key).cloned().unwrap_or_default();
                requested.configuration.insert(key.clone(), value);
            }
            base = base.merge(&Protocol::for_new_table(&requested)?);
            metadata
                .configuration
                .retain(|key, _| !versions.iter().any(|name| name.eq_ignore_ascii_case(key)));
        }
        let new = base.upgrade_for(&metadata)?;
        new.check_writable()?;
        self.check_row_tracking(&metadata)?;
        if !new.is_equivalent(&old) {
            self.protocol = Some(new.clone());
        }
        self.metadata = Some(crate::definition::with_needed_properties(
            crate::definition::without_consumed(metadata),
            &new,
        ));
        Ok(())
    }

    /// Rows of files that have no ids cannot be tracked.
    fn check_row_tracking(&self, metadata: &Metadata) -> Result<()> {
        if self.replaces_table {
            return Ok(());
        }
        let on = |metadata: &Metadata| metadata.is_on("delta.enableRowTracking");
        let before = self.base.as_ref().is_some_and(|base| on(&base.metadata));
        if let Some(snapshot) = &self.snapshot
            && on(metadata)
            && !before
            && prepare::lack_row_ids(&self.source, snapshot)?
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
    /// Unsupported: `protocol.writer_features`; Invalid argument: `protocol.malformed`.
    pub fn set_protocol(&mut self, protocol: Protocol) -> Result<()> {
        protocol.check_writable().map_err(Error::of_argument)?;
        self.protocol = Some(protocol);
        Ok(())
    }

    /// Stages the progress of an application. What the table knew of it counts as read. True when the
    /// application has got that far already: then nothing will be committed.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.duplicate` for another version of the same application.
    pub fn set_transaction(&mut self, app_id: &str, version: i64) -> Result<bool> {
        self.reads.applications.insert(app_id.to_owned());
        if let Some(snapshot) = &self.snapshot {
            let known = snapshot.transactions(&self.source)?;
            self.done_before |= known
                .iter()
                .any(|known| known.app_id == app_id && known.version >= version);
        }
        let staged = SetTransaction {
            app_id: app_id.to_owned(),
            version,
            last_updated: Some(now()),
        };
        match self.transactions.insert(app_id.to_owned(), staged) {
            Some(before) if before.version != version => {
                let message = format!(
                    "the application {app_id:?} is given two versions in one commit: {} and {version}",
                    before.version
                );
                Err(Error::invalid("transaction.duplicate", message))
            }
            _ => Ok(self.done_before),
        }
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
        let staged = DomainMetadata {
            domain: domain.to_owned(),
            configuration: configuration.unwrap_or_default().to_owned(),
            removed: configuration.is_none(),
        };
        match self.domains.insert(domain.to_owned(), staged) {
            Some(_) => {
                let message = format!("the domain {domain:?} is given twice in one commit");
                Err(Error::invalid("transaction.duplicate", message))
            }
            None => Ok(()),
        }
    }

    /// Stages the configuration of a domain of the system, or its removal.
    pub(crate) fn set_system_domain(&mut self, domain: &str, configuration: Option<String>) {
        let staged = DomainMetadata {
            domain: domain.to_owned(),
            removed: configuration.is_none(),
            configuration: configuration.unwrap_or_default(),
        };
        self.domains.insert(domain.to_owned(), staged);
    }

    /// Returns `true` if nothing was read and nothing but files are added: such a commit never
    /// conflicts with what others add or remove.
    fn is_blind_append(&self) -> bool {
        self.reads.nothing() && self.removes.is_empty() && self.cdcs.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
