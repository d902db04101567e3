//! The table's definition as it changes from commit to commit: is the feed on, are rows tracked, and
//! can rows still be returned with the columns at the end of the range.

use crate::changes::commits::Commit;
use crate::changes::definition::Reading;
use crate::changes::schema::unbridged;
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::schema::StructType;

/// What holds for the rows that a commit writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommitFacts {
    /// The change data feed is on.
    pub feed: bool,
    /// Rows have ids that stay.
    pub row_tracking: bool,
    /// The table has partition columns.
    pub partitioned: bool,
}

/// Follows protocol and metadata.
#[derive(Clone, Debug)]
pub(super) struct MetadataHistory {
    protocol: Protocol,
    metadata: Metadata,
    facts: CommitFacts,
    /// The version that is looked at first.
    first: bool,
}

impl MetadataHistory {
    /// Begins with the table at the first version.
    pub(super) fn new(start: &Snapshot, reading: &Reading) -> Result<Self> {
        let metadata = start.metadata().clone();
        check(
            start.schema(),
            reading,
            start.properties().column_mapping_mode,
        )
        .map_err(|error| error.at_version(start.version()))?;
        Ok(Self {
            facts: facts(start.properties(), &metadata),
            protocol: start.protocol().clone(),
            metadata,
            first: true,
        })
    }

    /// The same after the first version rather than before it.
    pub(super) fn after(self) -> Self {
        Self {
            first: false,
            ..self
        }
    }

    /// What holds for this commit, which follows the last one.
    ///
    /// # Errors
    ///
    /// Unsupported: features that this build lacks. Invalid argument: `changes.schema`. All name the
    /// version.
    pub(super) fn step(&mut self, commit: &Commit, reading: &Reading) -> Result<CommitFacts> {
        // the first commit's actions are in the snapshot already
        let first = std::mem::replace(&mut self.first, false);
        if first || (commit.metadata.is_none() && commit.protocol.is_none()) {
            return Ok(self.facts);
        }
        let changed = || -> Result<(Protocol, Metadata, CommitFacts)> {
            let protocol = commit.protocol.clone().unwrap_or(self.protocol.clone());
            let metadata = commit.metadata.clone().unwrap_or(self.metadata.clone());
            protocol.check_readable()?;
            let (properties, _) = TableProperties::new(&metadata, &protocol)?;
            if commit.metadata.is_some() {
                let schema = StructType::parse(&metadata.schema_string)?;
                check(&schema, reading, properties.column_mapping_mode)?;
            }
            let facts = facts(&properties, &metadata);
            Ok((protocol, metadata, facts))
        };
        let version = commit.stamp.version;
        let (protocol, metadata, facts) = changed().map_err(|error| error.at_version(version))?;
        self.protocol = protocol;
        self.metadata = metadata;
        self.facts = facts;
        Ok(facts)
    }
}

fn facts(properties: &TableProperties, metadata: &Metadata) -> CommitFacts {
    CommitFacts {
        feed: properties.change_data_feed,
        row_tracking: properties.row_tracking && !properties.row_tracking_suspended,
        partitioned: !metadata.partition_columns.is_empty(),
    }
}

/// Whether rows of a table with this metadata can be returned.
pub(super) fn check_metadata(metadata: &Metadata, reading: &Reading) -> Result<()> {
    let schema = StructType::parse(&metadata.schema_string)?;
    check(&schema, reading, reading.table().1)
}

fn check(schema: &StructType, reading: &Reading, mode: ColumnMappingMode) -> Result<()> {
    let Some(column) = unbridged(schema, reading, mode)? else {
        return Ok(());
    };
    let message = format!(
        "at this version the column {column} has a type whose values are none of its type at the \
         end of the range: ask for the versions up to the one before, and for those after it, one \
         by one"
    );
    Err(Error::invalid("changes.schema", message))
}
