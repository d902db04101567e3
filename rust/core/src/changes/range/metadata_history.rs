//! The table definition at each commit: whether the change data feed and row tracking are enabled, and
//! whether rows can still be returned with the columns at the end of the range.

use crate::changes::range::commits::{Commit, FileChange};
use crate::changes::rows::bridge::first_inconvertible;
use crate::changes::rows::row_schema::Reading;
use crate::error::{Error, Result};
use crate::scan::ScanFile;
use crate::snapshot::Snapshot;
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};

/// The definition that applies to the rows of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::changes) struct CommitFacts {
    /// True if the change data feed is enabled.
    pub feed: bool,
    /// True if rows have stable ids.
    pub row_tracking: bool,
    /// True if the table has partition columns.
    pub partitioned: bool,
}

/// Tracks protocol and metadata from commit to commit.
#[derive(Clone, Debug)]
pub(in crate::changes) struct MetadataHistory {
    protocol: Protocol,
    metadata: Metadata,
    facts: CommitFacts,
    partitions: PartitionNames,
    /// True before the first commit of the range.
    first: bool,
}

/// The partition columns by their names in the log.
#[derive(Clone, Debug)]
pub(in crate::changes) struct PartitionNames(Vec<String>);

impl PartitionNames {
    /// Returns the names of a snapshot's partition columns.
    ///
    /// # Errors
    ///
    /// Corrupt: a column without the name that its mapping needs.
    pub(in crate::changes) fn of(snapshot: &Snapshot) -> Result<Self> {
        let mode = snapshot.properties().column_mapping_mode;
        Self::new(snapshot.metadata(), snapshot.schema(), mode)
    }

    fn new(metadata: &Metadata, schema: &StructType, mode: ColumnMappingMode) -> Result<Self> {
        let name = |column: &String| match schema.field(column) {
            Some(field) => field.name_in_files(mode).map(str::to_owned),
            None => Ok(column.clone()),
        };
        let names = metadata.partition_columns.iter().map(name);
        Ok(Self(names.collect::<Result<_>>()?))
    }

    /// Returns `true` if an added file of the commit lacks a partition value.
    pub(in crate::changes) fn lacks(&self, commit: &Commit) -> bool {
        let files = commit.adds.iter().chain(&commit.kept_adds);
        let mut files = files.chain(&commit.change_files);
        files.any(|change| self.absent(&change.file).next().is_some())
    }

    fn absent<'a>(&'a self, file: &'a ScanFile) -> impl Iterator<Item = &'a String> {
        let names = self.0.iter();
        names.filter(|name| !file.partition_values.iter().any(|(key, _)| key == *name))
    }

    /// Adds the nulls that some writers omit.
    pub(in crate::changes) fn complete(&self, file: &mut ScanFile) {
        let absent: Vec<String> = self.absent(file).cloned().collect();
        let nulls = absent.into_iter().map(|name| (name, None));
        file.partition_values.extend(nulls);
    }

    /// Adds the missing nulls to the files of a commit that has partition values.
    fn complete_all(&self, commit: &mut Commit) {
        let known = |change: &&mut FileChange| change.has_partition_values;
        let removes = commit.removes.iter_mut().chain(&mut commit.kept_removes);
        let files = commit.adds.iter_mut().chain(&mut commit.kept_adds);
        let files = files.chain(&mut commit.change_files);
        for change in files.chain(removes.filter(known)) {
            self.complete(&mut change.file);
        }
    }
}

impl MetadataHistory {
    /// Begins with the table at the first version.
    pub(in crate::changes) fn new(start: &Snapshot, reading: &Reading) -> Result<Self> {
        let metadata = start.metadata().clone();
        check(
            start.schema(),
            reading,
            start.properties().column_mapping_mode,
        )
        .map_err(|error| error.at_version(start.version()))?;
        Ok(Self {
            facts: facts(start.properties(), &metadata),
            partitions: PartitionNames::of(start)?,
            protocol: start.protocol().clone(),
            metadata,
            first: true,
        })
    }

    /// Moves to the state after the first version.
    pub(in crate::changes) fn after(self) -> Self {
        Self {
            first: false,
            ..self
        }
    }

    /// Returns the definition at this commit, which follows the previous one; adds missing partition values
    /// to its files.
    ///
    /// # Errors
    ///
    /// Unsupported: features that this build lacks. Invalid argument: `changes.schema`. All name the
    /// version.
    pub(in crate::changes) fn step(
        &mut self,
        commit: &mut Commit,
        reading: &Reading,
    ) -> Result<CommitFacts> {
        // the first commit's actions are in the snapshot already
        let first = std::mem::replace(&mut self.first, false);
        if !first && (commit.metadata.is_some() || commit.protocol.is_some()) {
            self.change(commit, reading)?;
        }
        self.partitions.complete_all(commit);
        Ok(self.facts)
    }

    /// Applies the protocol and the metadata of a commit.
    fn change(&mut self, commit: &Commit, reading: &Reading) -> Result<()> {
        let changed = || -> Result<Self> {
            let protocol = commit.protocol.clone().unwrap_or(self.protocol.clone());
            let metadata = commit.metadata.clone().unwrap_or(self.metadata.clone());
            protocol.check_readable()?;
            let (properties, _) = TableProperties::new(&metadata, &protocol)?;
            let mode = properties.column_mapping_mode;
            let schema = StructType::parse(&metadata.schema_string)?;
            if commit.metadata.is_some() {
                check(&schema, reading, mode)?;
            }
            Ok(Self {
                facts: facts(&properties, &metadata),
                partitions: PartitionNames::new(&metadata, &schema, mode)?,
                protocol,
                metadata,
                first: false,
            })
        };
        *self = changed().map_err(|error| error.at_version(commit.stamp.version))?;
        Ok(())
    }
}

fn facts(properties: &TableProperties, metadata: &Metadata) -> CommitFacts {
    CommitFacts {
        feed: properties.change_data_feed,
        row_tracking: properties.row_tracking && !properties.row_tracking_suspended,
        partitioned: !metadata.partition_columns.is_empty(),
    }
}

/// Checks that rows of a table with this metadata can be returned.
pub(in crate::changes) fn check_metadata(metadata: &Metadata, reading: &Reading) -> Result<()> {
    let schema = StructType::parse(&metadata.schema_string)?;
    check(&schema, reading, reading.table().1)
}

fn check(schema: &StructType, reading: &Reading, mode: ColumnMappingMode) -> Result<()> {
    let Some(column) = first_inconvertible(schema, reading, mode)? else {
        return Ok(());
    };
    let message = format!(
        "at this version the values of the column {column} do not fit its type at the end of the range: \
         read the versions before this one, and those after it, as ranges of their own"
    );
    Err(Error::invalid("changes.schema", message))
}
