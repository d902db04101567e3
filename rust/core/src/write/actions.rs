//! The actions that a transaction writes: file actions as plain data, and all actions as JSON lines.
//!
//! Protocol: "Actions".

use std::collections::{BTreeMap, HashMap};

use arrow_array::{Array, BooleanArray, Int64Array, MapArray, RecordBatch, StringArray};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::codec::columns::TypedColumns;
use crate::codec::deletion_vector::Descriptors;
use crate::error::{Error, Result};
use crate::scan::ScanFile;
use crate::spec::DeletionVectorDescriptor;

/// String values by key; `None` is null.
pub type StringMap = BTreeMap<String, Option<String>>;

/// `add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddFile {
    /// URI-encoded; relative to the table root, or absolute.
    pub path: String,
    /// By the column names used in the log.
    #[serde(default)]
    pub partition_values: StringMap,
    /// Size in bytes.
    pub size: i64,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
    /// False if the rows were in the table before, and are only rearranged.
    #[serde(default = "default_true")]
    pub data_change: bool,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    /// Free-form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<StringMap>,
    /// Rows deleted from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// The default row id of the first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The version that first added the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
    /// The implementation that clustered the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustering_provider: Option<String>,
}

/// `remove`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveFile {
    /// As in the `add`.
    pub path: String,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<i64>,
    /// False if the rows stay in the table, in other files.
    #[serde(default = "default_true")]
    pub data_change: bool,
    /// True if partition values and size are present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_file_metadata: Option<bool>,
    /// As in the `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_values: Option<StringMap>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    /// Free-form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<StringMap>,
    /// As in the `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// As in the `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// As in the `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
}

/// `cdc`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CdcFile {
    /// URI-encoded, below `_change_data`.
    pub path: String,
    /// By the column names used in the log.
    #[serde(default)]
    pub partition_values: StringMap,
    /// Size in bytes.
    pub size: i64,
    /// Always false.
    #[serde(default)]
    pub data_change: bool,
    /// Free-form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<StringMap>,
}

fn default_true() -> bool {
    true
}

impl AddFile {
    /// Returns the number of rows in the file, including deleted ones, if the statistics have it.
    pub fn num_records(&self) -> Option<i64> {
        self.statistic("numRecords")
    }

    /// Checks that the statistics, if there are any, are a JSON object, as readers expect, whose
    /// `numRecords`, if any, is a number of rows.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.file`.
    pub fn check_stats(&self) -> Result<()> {
        let Some(text) = &self.stats else {
            return Ok(());
        };
        let invalid = |message: &str| {
            Err(Error::invalid("transaction.file", message).at_path(self.path.clone()))
        };
        if serde_json::from_str::<Map<String, Value>>(text).is_err() {
            return invalid(
                "the statistics of a file are not a JSON object: pass an object, or leave them out",
            );
        }
        if let Some(rows) = self.statistic::<Value>("numRecords")
            && !rows.is_null()
            && self.num_records().is_none_or(|rows| rows < 0)
        {
            return invalid("numRecords in the statistics of a file is not a number of rows");
        }
        Ok(())
    }

    /// Returns one entry of the statistics.
    pub(crate) fn statistic<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<T> {
        let stats: HashMap<String, &RawValue> =
            serde_json::from_str(self.stats.as_deref()?).ok()?;
        serde_json::from_str(stats.get(name)?.get()).ok()
    }

    /// Returns the `remove` that deletes this file from the table.
    pub fn removed(&self, now: i64, data_change: bool) -> RemoveFile {
        RemoveFile {
            path: self.path.clone(),
            deletion_timestamp: Some(now),
            data_change,
            extended_file_metadata: Some(true),
            partition_values: Some(self.partition_values.clone()),
            size: Some(self.size),
            stats: self.stats.clone(),
            tags: self.tags.clone(),
            deletion_vector: self.deletion_vector.clone(),
            base_row_id: self.base_row_id,
            default_row_commit_version: self.default_row_commit_version,
        }
    }

    /// Returns this file with another deletion vector; its bounds then cover a superset of its rows.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.deletion_vector` if the statistics lack the number of rows.
    pub fn with_vector(&self, vector: DeletionVectorDescriptor) -> Result<Self> {
        let stats = self.num_records().and(self.stats.as_deref());
        let stats = stats.and_then(|text| serde_json::from_str(text).ok());
        let stats: BTreeMap<String, &RawValue> = stats.ok_or_else(|| {
            let message = "a file with a deletion vector must have numRecords in its statistics: rewrite the \
                           file instead";
            Error::invalid("transaction.deletion_vector", message).at_path(self.path.clone())
        })?;
        let mut parts = vec!["\"tightBounds\":false".to_owned()];
        for (name, value) in stats.iter().filter(|(name, _)| *name != "tightBounds") {
            parts.push(format!("{}:{}", Value::from(name.as_str()), value.get()));
        }
        Ok(Self {
            stats: Some(format!("{{{}}}", parts.join(","))),
            deletion_vector: Some(vector),
            data_change: true,
            ..self.clone()
        })
    }

    /// Returns this file as it can be added again: not all writers set `tightBounds` to false for a file with a
    /// deletion vector.
    pub(crate) fn with_wide_bounds(self) -> Result<Self> {
        let Some(vector) = self.deletion_vector.clone() else {
            return Ok(self);
        };
        if self.statistic::<bool>("tightBounds") == Some(false) {
            return Ok(self);
        }
        Ok(Self {
            data_change: self.data_change,
            ..self.with_vector(vector)?
        })
    }

    /// Reads all rows of a batch with the columns of `add`.
    pub(crate) fn of_rows(rows: &RecordBatch) -> Result<Vec<Self>> {
        (0..rows.num_rows())
            .map(|row| Self::of_row(rows, row))
            .collect()
    }

    /// Returns the file as a scan reads it.
    pub(crate) fn scan_file(&self) -> ScanFile {
        ScanFile {
            path: self.path.clone(),
            partition_values: self.partition_values.clone().into_iter().collect(),
            size: self.size,
            deletion_vector: self.deletion_vector.clone(),
            base_row_id: self.base_row_id,
            default_row_commit_version: self.default_row_commit_version,
        }
    }

    /// Reads row `row` of a batch with the columns of `add`.
    pub(crate) fn of_row(rows: &RecordBatch, row: usize) -> Result<Self> {
        let row = Row(rows, row);
        Ok(Self {
            path: row.text("path")?.unwrap_or_default(),
            partition_values: row.map("partitionValues")?.unwrap_or_default(),
            size: row.number("size")?.unwrap_or_default(),
            modification_time: row.number("modificationTime")?.unwrap_or_default(),
            data_change: row.flag("dataChange")?.unwrap_or(true),
            stats: row.text("stats")?,
            tags: row.map("tags")?,
            deletion_vector: row.vector()?,
            base_row_id: row.number("baseRowId")?,
            default_row_commit_version: row.number("defaultRowCommitVersion")?,
            clustering_provider: row.text("clusteringProvider")?,
        })
    }
}

impl RemoveFile {
    /// Reads all rows of a batch with the columns of `remove`.
    pub(crate) fn of_rows(rows: &RecordBatch) -> Result<Vec<Self>> {
        (0..rows.num_rows())
            .map(|row| Self::of_row(rows, row))
            .collect()
    }

    fn of_row(rows: &RecordBatch, row: usize) -> Result<Self> {
        let row = Row(rows, row);
        Ok(Self {
            path: row.text("path")?.unwrap_or_default(),
            deletion_timestamp: row.number("deletionTimestamp")?,
            data_change: row.flag("dataChange")?.unwrap_or(true),
            extended_file_metadata: row.flag("extendedFileMetadata")?,
            partition_values: row.map("partitionValues")?,
            size: row.number("size")?,
            stats: row.text("stats")?,
            tags: row.map("tags")?,
            deletion_vector: row.vector()?,
            base_row_id: row.number("baseRowId")?,
            default_row_commit_version: row.number("defaultRowCommitVersion")?,
        })
    }
}

/// A row of file actions.
struct Row<'a>(&'a RecordBatch, usize);

impl Row<'_> {
    fn text(&self, name: &str) -> Result<Option<String>> {
        let strings: &StringArray = self.0.typed(name)?;
        Ok(strings
            .is_valid(self.1)
            .then(|| strings.value(self.1).to_owned()))
    }

    fn number(&self, name: &str) -> Result<Option<i64>> {
        let numbers: &Int64Array = self.0.typed(name)?;
        Ok(numbers.is_valid(self.1).then(|| numbers.value(self.1)))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        let flags: &BooleanArray = self.0.typed(name)?;
        Ok(flags.is_valid(self.1).then(|| flags.value(self.1)))
    }

    fn map(&self, name: &str) -> Result<Option<StringMap>> {
        let maps: &MapArray = self.0.typed(name)?;
        if maps.is_null(self.1) {
            return Ok(None);
        }
        let entries = maps.value(self.1);
        let (keys, values): (&StringArray, &StringArray) =
            (entries.typed("key")?, entries.typed("value")?);
        let pairs = keys.iter().flatten().zip(values);
        let owned = pairs.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
        Ok(Some(owned.collect()))
    }

    fn vector(&self) -> Result<Option<DeletionVectorDescriptor>> {
        Descriptors::new(self.0.typed("deletionVector")?)?.get(self.1)
    }
}

/// Removes the fields of a JSON object that are null.
pub(crate) fn without_nulls(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// Appends one JSON line of a commit.
pub(crate) fn line(lines: &mut String, kind: &str, body: &impl Serialize) -> Result<()> {
    let body = serde_json::to_string(body).map_err(|cause| {
        let message = format!("the {kind} action is not JSON");
        Error::invalid("transaction.action", message).because(cause)
    })?;
    lines.extend(["{\"", kind, "\":", &body, "}\n"]);
    Ok(())
}

/// Parses actions from a JSON array supplied by a caller.
///
/// # Errors
///
/// Invalid argument: `transaction.action`.
pub fn parse_actions<T: for<'de> Deserialize<'de>>(kind: &str, json: &str) -> Result<Vec<T>> {
    serde_json::from_str(json).map_err(|cause| {
        let message = format!("the {kind} action does not have the fields of the protocol");
        Error::invalid("transaction.action", message).because(cause)
    })
}
