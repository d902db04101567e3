//! One version of a table: an immutable value, created by `load` and `advance`.
//!
//! A snapshot has its log segment, its protocol and its metadata. The live data files are replayed on
//! request, see `files`, and then kept in its `ReplayCache`.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use self::cache::ReplayCache;
use crate::codec::version_checksum::VersionChecksum;
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::log::{LogSegment, LogWarning};
use crate::replay::{FileFilter, Source};
use crate::spec::properties::{InCommitTimestampEnablement, TableProperties};
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};

pub mod advance;
mod cache;
mod checksum_match;
pub mod columns;
pub mod file_batches;
pub mod files;
pub mod load;
pub mod pieces;
pub mod plain_value;
mod recover;
pub(crate) mod row_count;
mod segment_replay;
mod state;
pub(crate) mod verify;

pub(crate) use segment_replay::prefetch;

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
    /// The data read so far: the only mutable part.
    cache: ReplayCache,
}

/// Protocol and metadata, and the values derived from them; versions share it until either changes.
#[derive(Debug)]
struct TableDefinition {
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType,
    arrow_schema: SchemaRef,
    properties: TableProperties,
}

/// The version checksum and its file.
#[derive(Clone, Debug)]
struct Checksum {
    path: String,
    values: VersionChecksum,
    /// True if its values are used instead of a replay. False if a commit file is empty, which the checksum
    /// may contradict: its values then only verify a replay.
    is_trusted: bool,
}

impl TableDefinition {
    /// Parses schema and properties; refuses features and type changes that this build cannot read, and
    /// a table whose catalog is not that of `source`.
    fn new(
        source: &Source,
        protocol: Protocol,
        metadata: Metadata,
        warnings: &mut Vec<LogWarning>,
    ) -> Result<Self> {
        source.check_readable(&protocol)?;
        if protocol.has_redundant_lists() {
            warnings.push(LogWarning {
                code: "protocol.empty_lists",
                path: None,
                version: None,
                message: "the protocol action has an empty list of features, although its version has no such \
                          lists: it is treated as absent, and other engines may refuse the table"
                    .to_owned(),
            });
        }
        let protocol = protocol.without_redundant_lists();
        let schema = StructType::parse(&metadata.schema_string)?;
        metadata.check_partition_columns(&schema)?;
        let features = ["typeWidening", "typeWidening-preview"];
        if features.iter().any(|name| protocol.is_supported(name)) {
            schema.check_type_changes()?;
        }
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

    /// Returns `true` if commits of this version have in-commit timestamps.
    fn in_commit_timestamps_at(&self, version: u64) -> bool {
        let enabled = self.properties.in_commit_timestamp_enablement.as_ref();
        self.properties.in_commit_timestamps
            && enabled.is_none_or(|enabled| version >= enabled.version)
    }
}

impl Snapshot {
    /// Returns the version.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// Returns the commit timestamp in milliseconds since the epoch: the in-commit timestamp if the commit
    /// has one, otherwise the modification time of its file, adjusted to be strictly ascending.
    pub fn timestamp(&self) -> i64 {
        self.0.timestamp
    }

    /// Returns the in-commit timestamp in milliseconds, if the commit has one.
    pub fn in_commit_timestamp(&self) -> Option<i64> {
        self.0.in_commit_timestamp
    }

    /// Returns the version and the timestamp from which on commits have in-commit timestamps, if the table
    /// has them: 0 and `i64::MIN` if it had them from the beginning.
    pub fn in_commit_timestamps(&self) -> Option<InCommitTimestampEnablement> {
        let properties = self.properties();
        let enablement = properties.in_commit_timestamp_enablement;
        let always = InCommitTimestampEnablement {
            version: 0,
            timestamp: i64::MIN,
        };
        properties
            .in_commit_timestamps
            .then(|| enablement.unwrap_or(always))
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.0.definition.metadata
    }

    /// Returns the protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.0.definition.protocol
    }

    /// Returns the properties defined by the protocol, typed.
    pub fn properties(&self) -> &TableProperties {
        &self.0.definition.properties
    }

    /// Returns the logical schema.
    pub fn schema(&self) -> &StructType {
        &self.0.definition.schema
    }

    /// Returns the logical schema in Arrow types.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::clone(&self.0.definition.arrow_schema)
    }

    /// Returns the filter that skips files of this version in which no row can satisfy a predicate.
    ///
    /// # Errors
    ///
    /// As [`FileFilter::new`].
    pub fn file_filter(&self, predicate: BoundPredicate) -> Result<FileFilter> {
        let mode = self.properties().column_mapping_mode;
        let partition_columns = &self.metadata().partition_columns;
        FileFilter::new(predicate, self.schema(), partition_columns, mode)
    }

    /// Binds a predicate and returns its filter of files.
    ///
    /// # Errors
    ///
    /// As [`Predicate::bind`] and [`FileFilter::new`].
    pub fn filter_of(&self, predicate: &Predicate) -> Result<Arc<FileFilter>> {
        let bound = predicate.bind(self.schema())?;
        self.file_filter(bound).map(Arc::new)
    }

    /// Returns the problems that were skipped so far; more are added when files are replayed.
    pub fn warnings(&self) -> Vec<LogWarning> {
        self.0.cache.warnings()
    }

    /// Returns the log files that the snapshot is replayed from.
    pub fn segment(&self) -> Arc<LogSegment> {
        self.0.cache.segment()
    }

    /// Adds a warning, once; returns an error if the snapshot is strict.
    fn warn(&self, warning: LogWarning) -> Result<()> {
        if self.0.strict {
            return Err(strict_error(&warning));
        }
        self.0.cache.warn(warning);
        Ok(())
    }

    /// Adds the snapshot's version to an error.
    fn located(&self, error: Error) -> Error {
        error.at_version(self.0.version)
    }
}

/// Returns the error that a strict reader returns instead of a warning.
fn strict_error(warning: &LogWarning) -> Error {
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
