//! A Delta table: holds where it is, offers the verbs.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use serde_json::{Map, Value, json};

use crate::changes::{ChangeOptions, Changes, Edge};
use crate::codec::version_checksum::VersionChecksum;
use crate::derived::checkpoint::{WrittenCheckpoint, write_checkpoint};
use crate::derived::checksum::{checksum_path, write_checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::Predicate;
use crate::log::LogListing;
use crate::log::history::{history_batch, read_history, version_at};
use crate::replay::{FileFilter, Source};
use crate::scan::file_bounds::FilePredicate;
use crate::scan::min_max::min_max;
use crate::scan::{Scan, ScanOptions};
use crate::snapshot::columns::FileColumns;
use crate::snapshot::load::load;
use crate::spec::actions::{DomainMetadata, Metadata, SetTransaction};
use crate::spec::schema::StructType;
use crate::transaction::alter::{self, new_metadata};
use crate::transaction::random::now;
use crate::transaction::{Commit, CommitDescription, Transaction, TransactionOptions};

pub use crate::log::actions::ActionBatches;
pub use crate::snapshot::Snapshot;
pub use crate::snapshot::file_batches::FileBatches;
pub use crate::snapshot::files::FileTable;

/// How a table is reached and read.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// Options of the store, as `object_store` names them.
    pub storage_options: Vec<(String, String)>,
    /// Roots beside the table's own below which the log may point to files.
    pub allowed_roots: Option<Vec<String>>,
    /// Refuse what could be passed over with a warning.
    pub strict: bool,
}

/// Which version of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest one.
    Latest,
    /// This one.
    Version(u64),
    /// The one that was current at this instant: milliseconds since the epoch, UTC.
    Timestamp(i64),
}

/// Of tables with more files than that a checksum is not counted after each commit.
const SMALL_TABLE: u64 = 1_000;

/// What came of a commit, and of what follows it.
#[derive(Debug)]
pub struct Committed {
    /// The commit.
    pub commit: Commit,
    /// What went wrong when the checkpoint or the checksum was written.
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

/// One change of what a table is.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// Sets these properties.
    SetProperties(BTreeMap<String, String>),
    /// Takes these properties away; true: also where one is not set.
    UnsetProperties(Vec<String>, bool),
    /// Adds columns behind the others.
    AddColumns(StructType),
    /// Gives a column another name.
    RenameColumn(String, String),
    /// Takes a column away.
    DropColumn(String),
    /// Says something of a column, or nothing any more.
    SetComment(String, Option<String>),
    /// Says something of the table, or nothing any more.
    SetDescription(Option<String>),
    /// Adds a table feature.
    AddFeature(String),
}

/// A Delta table. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Table {
    source: Source,
    uri: Arc<str>,
    strict: bool,
}

impl Table {
    /// The table at `uri`; nothing is read yet.
    ///
    /// # Errors
    ///
    /// Invalid argument: the URI or an option.
    pub fn new(uri: &str, options: TableOptions) -> Result<Self> {
        let roots = options.allowed_roots.unwrap_or_default();
        let source = Source::new(uri, &options.storage_options, &roots)?;
        Ok(Self {
            uri: source.storage.root().into(),
            source,
            strict: options.strict,
        })
    }

    /// The table root as a URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What the table's log is read with.
    pub fn source(&self) -> &Source {
        &self.source
    }

    fn named(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::TableNotFound {
            error.at_path(self.uri())
        } else {
            error
        }
    }

    /// Whether there is a log with at least one version.
    pub fn exists(&self) -> Result<bool> {
        Ok(LogListing::read(&*self.source.storage, 0)?
            .latest()
            .is_some())
    }

    /// A version of the table; `strict` overrides the table's own setting.
    pub fn snapshot(&self, at: At, strict: Option<bool>) -> Result<Snapshot> {
        let strict = strict.unwrap_or(self.strict);
        let load = |target| load(&self.source, target, strict).map_err(|error| self.named(error));
        match at {
            At::Latest => load(None),
            At::Version(version) => load(Some(version)),
            At::Timestamp(timestamp) => {
                let newest = load(None)?;
                let listing = LogListing::read(&*self.source.storage, 0)?;
                let version = version_at(
                    &*self.source.storage,
                    &listing,
                    timestamp,
                    newest.in_commit_timestamps(),
                )?;
                if version == newest.version() {
                    Ok(newest)
                } else {
                    load(Some(version))
                }
            }
        }
    }

    /// The newest version, from an older one; reads the new commits only.
    pub fn update(&self, snapshot: &Snapshot) -> Result<Snapshot> {
        snapshot
            .advance(&self.source)
            .map_err(|error| self.named(error))
    }

    /// What each version's commit says of itself, newest first.
    pub fn history(&self, limit: Option<usize>) -> Result<RecordBatch> {
        let newest = self.snapshot(At::Latest, None)?;
        let listing = LogListing::read(&*self.source.storage, 0)?;
        let entries = read_history(
            &*self.source.storage,
            &listing,
            limit,
            newest.in_commit_timestamps(),
        )?;
        history_batch(&entries)
    }

    /// What happened to the rows from `start` to `end`, both included; `None` is the newest version.
    pub fn changes(
        &self,
        start: Edge,
        end: Option<Edge>,
        options: ChangeOptions,
    ) -> Result<Changes> {
        Changes::new(&self.source, start, end, self.strict, options)
            .map_err(|error| self.named(error))
    }

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
        let mut metadata =
            new_metadata(&new.schema, new.partition_columns, &new.properties, now())?;
        (metadata.name, metadata.description) = (new.name, new.description);
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

    /// Changes what the newest version of the table is.
    ///
    /// # Errors
    ///
    /// Invalid argument: the change; Unsupported: a feature that this build cannot write; Conflict:
    /// another writer was faster.
    pub fn alter(&self, change: Alteration, options: TransactionOptions) -> Result<Commit> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let old = snapshot.metadata();
        let text = |value: Value| json!(value.to_string());
        let mut feature = None;
        let (operation, parameters, new): (_, Vec<(&str, Value)>, Metadata) = match change {
            Alteration::SetProperties(properties) => (
                "SET TBLPROPERTIES",
                vec![("properties", text(json!(properties)))],
                alter::set_properties(old, &properties)?,
            ),
            Alteration::UnsetProperties(keys, if_exists) => (
                "UNSET TBLPROPERTIES",
                vec![
                    ("properties", text(json!(keys))),
                    ("ifExists", json!(if_exists.to_string())),
                ],
                alter::unset_properties(old, &keys, if_exists)?,
            ),
            Alteration::AddColumns(columns) => (
                "ADD COLUMNS",
                vec![("columns", json!(columns.to_json()))],
                alter::add_columns(old, &columns)?,
            ),
            Alteration::RenameColumn(name, new_name) => (
                "RENAME COLUMN",
                vec![
                    ("oldColumnPath", json!(name)),
                    ("newColumnPath", json!(new_name)),
                ],
                alter::rename_column(old, &name, &new_name)?,
            ),
            Alteration::DropColumn(name) => (
                "DROP COLUMNS",
                vec![("columns", text(json!([name])))],
                alter::drop_column(old, &name)?,
            ),
            Alteration::SetComment(name, comment) => (
                "CHANGE COLUMN",
                vec![("column", json!(name))],
                alter::set_comment(old, &name, comment.as_deref())?,
            ),
            Alteration::SetDescription(description) => (
                "SET TABLE COMMENT",
                Vec::new(),
                Metadata {
                    description,
                    ..old.clone()
                },
            ),
            Alteration::AddFeature(name) => {
                feature = Some(snapshot.protocol().with_feature(&name)?);
                (
                    "UPGRADE PROTOCOL",
                    vec![("feature", json!(name))],
                    old.clone(),
                )
            }
        };
        let description = described(operation, parameters);
        let mut transaction = Transaction::begin(&self.source, &snapshot, description, options)?;
        match feature {
            Some(protocol) => transaction.set_protocol(protocol)?,
            None => transaction.set_metadata(new)?,
        }
        self.commit(transaction).map(|committed| committed.commit)
    }

    /// Commits a transaction; then writes what its version calls for: a checkpoint, a checksum of a
    /// table that is not large.
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

    fn after(&self, version: u64, commit: &Commit) -> Result<()> {
        let before = version
            .checked_sub(1)
            .map(|before| self.known_files(before));
        let small = before.is_none_or(|files| files.is_some_and(|files| files <= SMALL_TABLE));
        if !small && !commit.checkpoint_due {
            return Ok(());
        }
        let snapshot = self.snapshot(At::Version(version), Some(false))?;
        if small {
            write_checksum(&self.source, &snapshot, Some(&commit.id))?;
        }
        if commit.checkpoint_due {
            write_checkpoint(&self.source, &snapshot)?;
        }
        Ok(())
    }

    /// How many files a version has, if a checksum tells.
    fn known_files(&self, version: u64) -> Option<u64> {
        let path = checksum_path(version);
        let bytes = self.source.storage.read(&path).ok()?;
        VersionChecksum::parse(&bytes).ok()?.num_files
    }

    /// Writes a checkpoint of a snapshot, and the hint that names it.
    ///
    /// # Errors
    ///
    /// Unsupported: a feature that this build cannot write; Storage.
    pub fn checkpoint(&self, snapshot: &Snapshot) -> Result<WrittenCheckpoint> {
        snapshot.protocol().check_writable()?;
        write_checkpoint(&self.source, snapshot)
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

    /// A transaction that reads a snapshot of this table.
    ///
    /// # Errors
    ///
    /// Unsupported: a feature that this build cannot write.
    pub fn transaction(
        &self,
        snapshot: &Snapshot,
        description: CommitDescription,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        Transaction::begin(&self.source, snapshot, description, options)
    }

    /// The raw actions of the commits `start..=end`, oldest first.
    pub fn actions(&self, start: u64, end: Option<u64>) -> Result<ActionBatches> {
        ActionBatches::new(Arc::clone(&self.source.storage), start, end)
    }

    /// The live files of a snapshot of this table; without those in which no row can satisfy `filter`.
    pub fn files(
        &self,
        snapshot: &Snapshot,
        columns: Option<&[String]>,
        filter: Option<&Predicate>,
    ) -> Result<FileTable> {
        let filter = file_filter(snapshot, filter)?;
        let columns = FileColumns::new(columns, snapshot)?;
        snapshot.files(&self.source, &columns, filter.as_ref())
    }

    /// The same, streamed; memory is bounded by the log's tail.
    pub fn file_batches(
        &self,
        snapshot: &Snapshot,
        columns: Option<&[String]>,
        filter: Option<&Predicate>,
    ) -> Result<FileBatches> {
        let filter = file_filter(snapshot, filter)?;
        let columns = FileColumns::new(columns, snapshot)?;
        snapshot.file_batches(&self.source, columns, filter.as_ref())
    }

    /// The rows of a snapshot of this table, or some of them.
    pub fn scan(&self, snapshot: &Snapshot, options: ScanOptions) -> Result<Scan> {
        Scan::new(&self.source, snapshot, options)
    }

    /// The live tombstones of a snapshot of this table.
    pub fn tombstones(&self, snapshot: &Snapshot) -> Result<FileTable> {
        snapshot.tombstones(&self.source)
    }

    /// The live transactions.
    pub fn transactions(&self, snapshot: &Snapshot) -> Result<Vec<SetTransaction>> {
        snapshot.transactions(&self.source)
    }

    /// The live domains.
    pub fn domain_metadata(&self, snapshot: &Snapshot) -> Result<Vec<DomainMetadata>> {
        snapshot.domain_metadata(&self.source)
    }

    /// The number of live files.
    pub fn num_files(&self, snapshot: &Snapshot) -> Result<u64> {
        snapshot.num_files(&self.source)
    }

    /// The number of rows, where the log tells it.
    pub fn num_rows(&self, snapshot: &Snapshot) -> Result<Option<u64>> {
        snapshot.num_rows(&self.source)
    }

    /// The least and the greatest value of a column, where the log tells it.
    pub fn min_max(&self, snapshot: &Snapshot, column: &str) -> Result<Option<RecordBatch>> {
        min_max(&self.source, snapshot, column)
    }

    /// The total size of the live files in bytes.
    pub fn size_in_bytes(&self, snapshot: &Snapshot) -> Result<u64> {
        snapshot.size_in_bytes(&self.source)
    }
}

fn described<'a>(
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

fn file_filter(
    snapshot: &Snapshot,
    filter: Option<&Predicate>,
) -> Result<Option<Arc<dyn FileFilter>>> {
    let Some(filter) = filter else {
        return Ok(None);
    };
    let bound = filter.bind(snapshot.schema())?;
    Ok(Some(Arc::new(FilePredicate::of(bound, snapshot)?)))
}
