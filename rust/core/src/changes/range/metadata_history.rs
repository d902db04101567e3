//! The table definition at each commit: whether the change data feed and row tracking are enabled, and
//! whether rows can still be returned with the columns at the end of the range.

use crate::changes::range::commits::Commit;
use crate::changes::rows::conversion::first_inconvertible;
use crate::changes::rows::row_schema::ResolvedDefinition;
use crate::error::{Error, Result};
use crate::scan::ScanFile;
use crate::snapshot::Snapshot;
use crate::spec::properties::{ColumnMappingMode, TableProperties, declared_column_mapping_mode};
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};

/// The table settings at a commit that determine how its changes are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::changes) struct CommitSettings {
    /// True if the change data feed is enabled.
    pub feed: bool,
    /// True if rows have stable ids.
    pub row_tracking: bool,
    /// True if files that the commit removes have partition values.
    pub partitioned: bool,
}

/// Tracks protocol and metadata from commit to commit.
#[derive(Clone, Debug)]
pub(in crate::changes) struct MetadataHistory {
    protocol: Protocol,
    metadata: Metadata,
    settings: CommitSettings,
    partitions: PartitionNames,
    /// True if the protocol and metadata are already those of the next commit.
    includes_next: bool,
}

/// The partition columns by their names in the log.
#[derive(Clone, Debug)]
pub(in crate::changes) struct PartitionNames(Vec<String>);

impl PartitionNames {
    pub(in crate::changes) fn of(snapshot: &Snapshot) -> Result<Self> {
        let mode = snapshot.properties().column_mapping_mode;
        let columns = &snapshot.metadata().partition_columns;
        snapshot.schema().names_in_files(columns, mode).map(Self)
    }

    /// Returns `true` if an added file or a change data file of the commit lacks a partition value.
    pub(in crate::changes) fn lacks(&self, commit: &Commit) -> bool {
        let files = commit.adds.iter().chain(&commit.unchanged_adds);
        let mut files = files.chain(&commit.change_files);
        files.any(|change| self.missing(&change.file).next().is_some())
    }

    fn missing<'a>(&'a self, file: &'a ScanFile) -> impl Iterator<Item = &'a String> {
        let names = self.0.iter();
        names.filter(|name| !file.partition_values.iter().any(|(key, _)| key == *name))
    }

    /// Adds the null partition values that some writers omit.
    pub(in crate::changes) fn complete(&self, file: &mut ScanFile) {
        let missing: Vec<String> = self.missing(file).cloned().collect();
        let nulls = missing.into_iter().map(|name| (name, None));
        file.partition_values.extend(nulls);
    }

    /// Adds the missing nulls to the new files of a commit.
    fn complete_new(&self, commit: &mut Commit) {
        let files = commit.adds.iter_mut().chain(&mut commit.unchanged_adds);
        for change in files.chain(&mut commit.change_files) {
            self.complete(&mut change.file);
        }
    }

    /// Adds the missing nulls to the removed files of a commit, except to those without any values.
    fn complete_removed(&self, commit: &mut Commit) {
        let removes = commit.removes.iter_mut();
        let removes = removes.chain(&mut commit.unchanged_removes);
        for change in removes.filter(|change| change.has_partition_values) {
            self.complete(&mut change.file);
        }
    }
}

impl MetadataHistory {
    /// Creates the history for the commits from that of the snapshot on.
    pub(in crate::changes) fn new(start: &Snapshot, resolved: &ResolvedDefinition) -> Result<Self> {
        let metadata = start.metadata().clone();
        check_schema(start, resolved).map_err(|error| error.at_version(start.version()))?;
        Ok(Self {
            settings: settings_of(start.properties(), &metadata),
            partitions: PartitionNames::of(start)?,
            protocol: start.protocol().clone(),
            metadata,
            includes_next: true,
        })
    }

    /// Returns the history for commits after the snapshot, which does not include the next one.
    pub(in crate::changes) fn after_snapshot(self) -> Self {
        Self {
            includes_next: false,
            ..self
        }
    }

    /// Returns the settings at the next commit, and adds missing partition values to its files.
    ///
    /// # Errors
    ///
    /// Unsupported: features that this build lacks. Invalid argument: `changes.schema`. All name the
    /// version.
    pub(in crate::changes) fn step(
        &mut self,
        commit: &mut Commit,
        resolved: &ResolvedDefinition,
    ) -> Result<CommitSettings> {
        let is_included = std::mem::replace(&mut self.includes_next, false);
        let is_changed = commit.metadata.is_some() || commit.protocol.is_some();
        if !(is_included && is_changed) {
            // removed files have the partition columns before the commit
            self.partitions.complete_removed(commit);
        }
        let partitioned = self.settings.partitioned;
        if !is_included && is_changed {
            self.apply(commit, resolved)?;
        }
        self.partitions.complete_new(commit);
        Ok(CommitSettings {
            partitioned,
            ..self.settings
        })
    }

    fn apply(&mut self, commit: &Commit, resolved: &ResolvedDefinition) -> Result<()> {
        let changed = || -> Result<Self> {
            let protocol = commit.protocol.clone().unwrap_or(self.protocol.clone());
            let metadata = commit.metadata.clone().unwrap_or(self.metadata.clone());
            protocol.check_readable()?;
            let (properties, _) = TableProperties::new(&metadata, &protocol)?;
            let mode = properties.column_mapping_mode;
            let schema = StructType::parse(&metadata.schema_string)?;
            if commit.metadata.is_some() {
                check(&schema, resolved, mode)?;
            }
            Ok(Self {
                settings: settings_of(&properties, &metadata),
                partitions: PartitionNames(
                    schema.names_in_files(&metadata.partition_columns, mode)?,
                ),
                protocol,
                metadata,
                includes_next: false,
            })
        };
        *self = changed().map_err(|error| error.at_version(commit.stamp.version))?;
        Ok(())
    }
}

fn settings_of(properties: &TableProperties, metadata: &Metadata) -> CommitSettings {
    CommitSettings {
        feed: properties.change_data_feed,
        row_tracking: properties.row_tracking && !properties.row_tracking_suspended,
        partitioned: !metadata.partition_columns.is_empty(),
    }
}

/// Checks that rows of this version can be returned.
pub(in crate::changes) fn check_schema(
    snapshot: &Snapshot,
    resolved: &ResolvedDefinition,
) -> Result<()> {
    let mode = snapshot.properties().column_mapping_mode;
    check(snapshot.schema(), resolved, mode)
}

/// Checks that rows of a table with this metadata can be returned.
pub(in crate::changes) fn check_metadata(
    metadata: &Metadata,
    resolved: &ResolvedDefinition,
) -> Result<()> {
    let schema = StructType::parse(&metadata.schema_string)?;
    check(&schema, resolved, declared_column_mapping_mode(metadata))
}

fn check(
    schema: &StructType,
    resolved: &ResolvedDefinition,
    mode: ColumnMappingMode,
) -> Result<()> {
    let Some(column) = first_inconvertible(schema, resolved, mode)? else {
        return Ok(());
    };
    let message = format!(
        "at this version the values of the column {column} do not fit its type at the end of the range: \
         read the versions before and after the change of its type as separate ranges"
    );
    Err(Error::invalid("changes.schema", message))
}
