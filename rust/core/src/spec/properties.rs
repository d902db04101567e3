//! Table properties as typed values.
//!
//! Parsing is lenient: a property that does not parse counts as its default, and is reported. Keys are
//! case-insensitive. A property that enables a feature counts only if the protocol supports that feature.
//!
//! Protocol: "Table Properties"; defaults as in delta-spark.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::interval::{MILLIS_PER_DAY, parse_interval};
use crate::spec::json::clipped;
use crate::spec::schema::{StructField, StructType};
use crate::spec::variant_name::variant_named;

/// The method to match columns of data files to columns of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnMappingMode {
    /// By the logical name.
    #[default]
    None,
    /// By the physical name in the field's metadata.
    Name,
    /// By the field id in the field's metadata.
    Id,
}

/// The property of tables whose symlink manifests are written after each commit.
pub(crate) const MANIFESTS: &str = "delta.compatibility.symlinkFormatManifest.enabled";

/// The version from which on a table has in-commit timestamps, if not from its first version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InCommitTimestampEnablement {
    /// The first version with one.
    pub version: u64,
    /// The timestamp of that version, in milliseconds since the epoch.
    pub timestamp: i64,
}

/// The properties of one version of a table, with their defaults. Durations are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableProperties {
    /// `delta.deletedFileRetentionDuration`: how long tombstones are kept; one week.
    pub deleted_file_retention: i64,
    /// `delta.logRetentionDuration`: how long commits are kept; 30 days.
    pub log_retention: i64,
    /// `delta.enableExpiredLogCleanup`: whether older commits are deleted when a checkpoint is written;
    /// true.
    pub expired_log_cleanup: bool,
    /// `delta.dropFeatureTruncateHistory.retentionDuration`: how long commits are kept when a feature is
    /// dropped with its history; 24 hours.
    pub truncated_history_retention: i64,
    /// `delta.setTransactionRetentionDuration`: how long `txn` actions of idle applications are kept; unlimited.
    pub set_transaction_retention: Option<i64>,
    /// `delta.checkpointInterval`: commits from one checkpoint to the next; 10.
    pub checkpoint_interval: u64,
    /// `delta.enableInCommitTimestamps`, if supported.
    pub in_commit_timestamps: bool,
    /// Both `delta.inCommitTimestampEnablement…` properties; absent if the table had in-commit timestamps
    /// from its first version, or has none.
    pub in_commit_timestamp_enablement: Option<InCommitTimestampEnablement>,
    /// `delta.columnMapping.mode`, if supported.
    pub column_mapping_mode: ColumnMappingMode,
    /// `delta.appendOnly`, if supported.
    pub append_only: bool,
    /// `delta.enableChangeDataFeed` (or its old name `delta.enableChangeDataCapture`), if supported.
    pub change_data_feed: bool,
    /// `delta.enableDeletionVectors`, if supported: writers may add them. Existing vectors apply
    /// regardless.
    pub deletion_vectors: bool,
    /// `delta.enableRowTracking`, if supported: every row has a stable id.
    pub row_tracking: bool,
    /// `delta.rowTrackingSuspended`: new files get no row ids.
    pub row_tracking_suspended: bool,
    /// `delta.rowTracking.materializedRowIdColumnName`.
    pub materialized_row_id_column: Option<String>,
    /// `delta.rowTracking.materializedRowCommitVersionColumnName`.
    pub materialized_row_commit_version_column: Option<String>,
}

/// A property that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyProblem {
    /// The key in canonical case.
    pub key: &'static str,
    /// The problem, and the value used instead.
    pub message: String,
}

impl fmt::Display for PropertyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table property {}: {}", self.key, self.message)
    }
}

impl TableProperties {
    /// Parses the properties of a table with this metadata and protocol; returns those that were ignored,
    /// too.
    ///
    /// # Errors
    ///
    /// Corrupt: `properties.column_mapping_mode` if the protocol supports column mapping and its
    /// mode is unknown, so no data file could be read correctly.
    pub fn new(metadata: &Metadata, protocol: &Protocol) -> Result<(Self, Vec<PropertyProblem>)> {
        let mut reader = Reader {
            metadata,
            protocol,
            problems: Vec::new(),
        };
        let properties = Self {
            deleted_file_retention: reader
                .interval("delta.deletedFileRetentionDuration")
                .unwrap_or(7 * MILLIS_PER_DAY),
            log_retention: reader
                .interval("delta.logRetentionDuration")
                .unwrap_or(30 * MILLIS_PER_DAY),
            expired_log_cleanup: reader
                .boolean("delta.enableExpiredLogCleanup")
                .unwrap_or(true),
            truncated_history_retention: reader
                .interval("delta.dropFeatureTruncateHistory.retentionDuration")
                .unwrap_or(MILLIS_PER_DAY),
            set_transaction_retention: reader.interval("delta.setTransactionRetentionDuration"),
            checkpoint_interval: reader.checkpoint_interval(),
            in_commit_timestamps: reader
                .switch("delta.enableInCommitTimestamps", "inCommitTimestamp"),
            in_commit_timestamp_enablement: reader.enablement(),
            column_mapping_mode: reader.column_mapping_mode()?,
            append_only: reader.switch("delta.appendOnly", "appendOnly"),
            change_data_feed: reader.change_data_feed(),
            deletion_vectors: reader.switch("delta.enableDeletionVectors", "deletionVectors"),
            row_tracking: reader.switch("delta.enableRowTracking", "rowTracking"),
            row_tracking_suspended: reader.switch("delta.rowTrackingSuspended", "rowTracking"),
            materialized_row_id_column: reader
                .text("delta.rowTracking.materializedRowIdColumnName"),
            materialized_row_commit_version_column: reader
                .text("delta.rowTracking.materializedRowCommitVersionColumnName"),
        };
        Ok((properties, reader.problems))
    }
}

/// Returns the column mapping mode of metadata in a table whose protocol supports it; none if it is unknown.
pub(crate) fn declared_column_mapping_mode(metadata: &Metadata) -> ColumnMappingMode {
    find_property(&metadata.configuration, "delta.columnMapping.mode")
        .and_then(|text| variant_named(&text.to_ascii_lowercase()))
        .unwrap_or_default()
}

/// Returns the value of a property; keys are case-insensitive.
pub(crate) fn find_property<'a>(
    configuration: &'a BTreeMap<String, String>,
    key: &str,
) -> Option<&'a str> {
    let exact = configuration.get(key);
    exact
        .or_else(|| {
            configuration
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(key))
                .map(|(_, value)| value)
        })
        .map(String::as_str)
}

impl Metadata {
    /// Returns the value of a table property; keys are case-insensitive.
    pub fn property(&self, key: &str) -> Option<&str> {
        find_property(&self.configuration, key)
    }

    /// Returns `true` if a table property is true.
    pub fn is_on(&self, key: &str) -> bool {
        self.property(key)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns `true` if checkpoints have the JSON text of statistics, which is the default.
    pub(crate) fn has_json_stats_in_checkpoints(&self) -> bool {
        self.property("delta.checkpoint.writeStatsAsJson")
            .is_none_or(|value| value.eq_ignore_ascii_case("true"))
    }
}

impl StructField {
    /// Returns the name of this column in data files, statistics and partition values, for a table with
    /// this mode.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.physical_name` if columns are mapped and this one has no physical name.
    pub fn name_in_files(&self, mode: ColumnMappingMode) -> Result<&str> {
        if mode == ColumnMappingMode::None {
            return Ok(&self.name);
        }
        self.physical_name().ok_or_else(|| {
            let message = format!(
                "column {} has no delta.columnMapping.physicalName although the table maps columns",
                clipped(&self.name)
            );
            Error::corrupt("schema.physical_name", message)
        })
    }
}

impl StructType {
    /// Returns the names of these columns in the log and in data files, for a table with this mode. Unknown
    /// names are kept.
    pub fn names_in_files(
        &self,
        columns: &[String],
        mode: ColumnMappingMode,
    ) -> Result<Vec<String>> {
        let name = |column: &String| match self.field(column) {
            Some(field) => field.name_in_files(mode).map(str::to_owned),
            None => Ok(column.clone()),
        };
        columns.iter().map(name).collect()
    }
}

struct Reader<'a> {
    metadata: &'a Metadata,
    protocol: &'a Protocol,
    problems: Vec<PropertyProblem>,
}

impl<'a> Reader<'a> {
    fn find(&self, key: &str) -> Option<&'a str> {
        self.metadata.property(key)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.find(key).map(str::to_owned)
    }

    fn parsed<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.find(key)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.problem(key, format!("{} is ignored: {reason}", clipped(text)));
                None
            }
        }
    }

    fn problem(&mut self, key: &'static str, message: String) {
        self.problems.push(PropertyProblem { key, message });
    }

    fn interval(&mut self, key: &'static str) -> Option<i64> {
        self.parsed(key, parse_interval)
    }

    fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.parsed(key, |text| match text {
            text if text.eq_ignore_ascii_case("true") => Ok(true),
            text if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err("it is neither true nor false".to_owned()),
        })
    }

    fn number<T: std::str::FromStr>(&mut self, key: &'static str) -> Option<T> {
        self.parsed(key, |text| {
            text.parse()
                .map_err(|_| "it is not an integer in range".to_owned())
        })
    }

    fn switch(&mut self, key: &'static str, feature: &str) -> bool {
        self.boolean(key).unwrap_or(false) && self.protocol.is_supported(feature)
    }

    fn change_data_feed(&mut self) -> bool {
        let key = "delta.enableChangeDataFeed";
        let key = if self.find(key).is_some() {
            key
        } else {
            "delta.enableChangeDataCapture"
        };
        self.switch(key, "changeDataFeed")
    }

    fn checkpoint_interval(&mut self) -> u64 {
        let key = "delta.checkpointInterval";
        let parse = |text: &str| match text.parse() {
            Ok(0) | Err(_) => Err("it is not a positive integer".to_owned()),
            Ok(interval) => Ok(interval),
        };
        self.parsed(key, parse).unwrap_or(10)
    }

    fn enablement(&mut self) -> Option<InCommitTimestampEnablement> {
        let keys = [
            "delta.inCommitTimestampEnablementVersion",
            "delta.inCommitTimestampEnablementTimestamp",
        ];
        let [version_key, timestamp_key] = keys;
        let (present, missing) = match (self.number(version_key), self.number(timestamp_key)) {
            (Some(version), Some(timestamp)) => {
                return Some(InCommitTimestampEnablement { version, timestamp });
            }
            (None, None) => return None,
            (Some(_), None) => (version_key, timestamp_key),
            (None, Some(_)) => (timestamp_key, version_key),
        };
        self.problem(present, format!("it is ignored without a valid {missing}"));
        None
    }

    fn column_mapping_mode(&mut self) -> Result<ColumnMappingMode> {
        let key = "delta.columnMapping.mode";
        let Some(text) = self.find(key) else {
            return Ok(ColumnMappingMode::None);
        };
        let mode = variant_named(&text.to_ascii_lowercase());
        let text = clipped(text);
        match (mode, self.protocol.is_supported("columnMapping")) {
            (Some(mode), true) => return Ok(mode),
            (Some(_), false) => {}
            (None, true) => {
                let message = format!(
                    "unknown column mapping mode {text}: the modes are none, name and id; read the table with a \
                     newer client, or correct its property {key}"
                );
                return Err(Error::corrupt("properties.column_mapping_mode", message));
            }
            (None, false) => {
                let message = format!("{text} is ignored: it is not a column mapping mode");
                self.problem(key, message);
            }
        }
        Ok(ColumnMappingMode::None)
    }
}

#[cfg(test)]
mod tests;
