//! One version of a table: a value that never changes, found by `load`, carried on by `advance`.
//!
//! A snapshot knows its files of the log, its protocol and its metadata. The live data files are
//! replayed when they are requested, and then kept in its `ReplayCache`: `files` has that.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use self::cache::ReplayCache;
use crate::codec::version_checksum::VersionChecksum;
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::log::history::InCommitTimestamps;
use crate::log::{LogSegment, LogWarning};
use crate::replay::{FileFilter, Source};
use crate::spec::properties::TableProperties;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};

pub mod advance;
mod cache;
pub mod columns;
pub mod file_batches;
pub mod files;
pub mod load;
pub mod pieces;
pub mod plain_value;
mod recover;
mod replayed;
pub(crate) mod row_count;
mod state;
pub(crate) mod verified;
mod verify;

pub(crate) use replayed::prefetch;

/// One version of a table. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    version: u64,
    strict: bool,
    definition: Arc<TableDefinition>,
    timestamp: i64,
    in_commit_timestamp: Option<i64>,
    checksum: Option<Checksum>,
    /// All that changes: what was read since.
    cache: ReplayCache,
}

/// Protocol and metadata, and what follows from them; versions share it until one of them changes.
#[derive(Debug)]
struct TableDefinition {
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType,
    arrow_schema: SchemaRef,
    properties: TableProperties,
}

/// The version checksum and its source.
#[derive(Clone, Debug)]
struct Checksum {
    path: String,
    values: VersionChecksum,
    /// False where the log has an oddity that the checksum may contradict: then it only verifies.
    answers: bool,
}

impl TableDefinition {
    /// Refuses what this build cannot read, or not the way the table was opened.
    fn new(
        source: &Source,
        protocol: Protocol,
        metadata: Metadata,
        warnings: &mut Vec<LogWarning>,
    ) -> Result<Self> {
        source.admit(&protocol)?;
        if protocol.has_idle_lists() {
            warnings.push(LogWarning {
                code: "protocol.empty_lists",
                path: None,
                version: None,
                message: "the protocol action has an empty list of features beside a version that knows no such \
                          lists: it was taken as absent, and other engines may refuse the table"
                    .to_owned(),
            });
        }
        let protocol = protocol.without_idle_lists();
        let schema = StructType::parse(&metadata.schema_string)?;
        metadata.check_partition_columns(&schema)?;
        let (properties, problems) = TableProperties::new(&metadata, &protocol)?;
        warnings.extend(problems.into_iter().map(|problem| LogWarning {
            code: "properties.invalid",
            path: None,
            version: None,
            message: format!("{}: {}", problem.key, problem.message),
        }));
        Ok(Self {
            arrow_schema: schema.arrow_schema(),
            schema,
            properties,
            protocol,
            metadata,
        })
    }

    /// Returns `true` if commits of this version carry their own timestamp.
    fn in_commit_timestamps_at(&self, version: u64) -> bool {
        let enabled = self.properties.in_commit_timestamp_enablement.as_ref();
        self.properties.in_commit_timestamps
            && enabled.is_none_or(|enabled| version >= enabled.version)
    }
}

impl Snapshot {
    /// The version.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// When it was committed, in milliseconds since the epoch: the commit's own timestamp where the
    /// table keeps one, else the file's, made strictly ascending.
    pub fn timestamp(&self) -> i64 {
        self.0.timestamp
    }

    /// The commit's own timestamp in milliseconds, where the table keeps one.
    pub fn in_commit_timestamp(&self) -> Option<i64> {
        self.0.in_commit_timestamp
    }

    /// From which version on the commits carry their own timestamp.
    pub fn in_commit_timestamps(&self) -> Option<InCommitTimestamps> {
        let properties = self.properties();
        let enabled = properties.in_commit_timestamp_enablement.as_ref();
        properties.in_commit_timestamps.then(|| InCommitTimestamps {
            version: enabled.map_or(0, |enabled| enabled.version),
            timestamp: enabled.map_or(i64::MIN, |enabled| enabled.timestamp),
        })
    }

    /// The metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.0.definition.metadata
    }

    /// The protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.0.definition.protocol
    }

    /// The properties that the protocol defines, typed.
    pub fn properties(&self) -> &TableProperties {
        &self.0.definition.properties
    }

    /// The logical schema.
    pub fn schema(&self) -> &StructType {
        &self.0.definition.schema
    }

    /// The logical schema in Arrow's types.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::clone(&self.0.definition.arrow_schema)
    }

    /// The filter that leaves out files of this version in which no row can satisfy a predicate.
    ///
    /// # Errors
    ///
    /// As [`FileFilter::new`].
    pub fn file_filter(&self, predicate: BoundPredicate) -> Result<FileFilter> {
        let mode = self.properties().column_mapping_mode;
        let partition_columns = &self.metadata().partition_columns;
        FileFilter::new(predicate, self.schema(), partition_columns, mode)
    }

    /// The same for a predicate that is not bound yet.
    ///
    /// # Errors
    ///
    /// As [`Predicate::bind`] and [`FileFilter::new`].
    pub fn filter_of(&self, predicate: &Predicate) -> Result<Arc<FileFilter>> {
        let bound = predicate.bind(self.schema())?;
        self.file_filter(bound).map(Arc::new)
    }

    /// Returns the problems that were passed over so far; more are added when files are replayed.
    pub fn warnings(&self) -> Vec<LogWarning> {
        self.0.cache.warnings()
    }

    /// The files of the log that it is replayed from.
    pub fn segment(&self) -> Arc<LogSegment> {
        self.0.cache.segment()
    }

    /// Keeps a warning, each once; an error where the snapshot is strict.
    fn warn(&self, warning: LogWarning) -> Result<()> {
        if self.0.strict {
            return Err(refused(&warning));
        }
        self.0.cache.warn(warning);
        Ok(())
    }

    /// Names the snapshot's version in an error.
    fn located(&self, error: Error) -> Error {
        error.at_version(self.0.version)
    }
}

/// The error of a strict reader for a warning.
fn refused(warning: &LogWarning) -> Error {
    let mut error = Error::corrupt(
        warning.code,
        format!("refused, since reading is strict: {}", warning.message),
    );
    if let Some(path) = &warning.path {
        error = error.at_path(path.clone());
    }
    match warning.version {
        Some(version) => error.at_version(version),
        None => error,
    }
}

#[cfg(test)]
pub(crate) mod tests;
