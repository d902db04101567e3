//! The actions of the log as plain data, one struct per kind.
//!
//! File actions (`add`, `remove`, `cdc`) are Arrow columns (`codec::file_actions`), never structs; these
//! here are few in a snapshot. Their JSON is the body of the action.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::spec::json::clipped;
use crate::spec::schema::StructType;

/// `metaData`: identity, schema and properties of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The table id, a GUID that stays for the life of the table.
    pub id: String,
    /// Name given by the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description given by the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The encoding of data files.
    pub format: Format,
    /// The schema as in the log (JSON); empty if the log has none.
    pub schema_string: String,
    /// Logical names of the partition columns, in order.
    pub partition_columns: Vec<String>,
    /// Creation time in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_time: Option<i64>,
    /// Table properties.
    pub configuration: BTreeMap<String, String>,
}

impl Metadata {
    /// Checks that each partition column is a column of the schema, spelled identically.
    ///
    /// # Errors
    ///
    /// Corrupt: `transaction.partition_columns`.
    pub fn check_partition_columns(&self, schema: &StructType) -> Result<()> {
        for column in &self.partition_columns {
            let name = clipped(column);
            let message = match schema.field(column) {
                Some(field) if field.name == *column => continue,
                Some(field) => format!(
                    "partitionColumns of the metadata name {name}, which the schema spells {}: names differ in \
                     case, and engines read such a table differently",
                    clipped(&field.name)
                ),
                None => format!(
                    "partitionColumns of the metadata name {name}, which is not in the schema"
                ),
            };
            return Err(Error::corrupt("transaction.partition_columns", message));
        }
        Ok(())
    }
}

/// `format`: how data files are encoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Format {
    /// Always `parquet` in practice.
    pub provider: String,
    /// Empty in practice.
    pub options: BTreeMap<String, String>,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            provider: "parquet".to_owned(),
            options: BTreeMap::new(),
        }
    }
}

/// `protocol`: what a client must understand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Protocol {
    /// `minReaderVersion`.
    pub min_reader_version: i32,
    /// `minWriterVersion`.
    pub min_writer_version: i32,
    /// `readerFeatures`; present iff the reader version is 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    /// `writerFeatures`; present iff the writer version is 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}

/// `txn`: the progress of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetTransaction {
    /// The application.
    pub app_id: String,
    /// The application's own version number.
    pub version: i64,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}

/// `domainMetadata`: configuration of one named domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainMetadata {
    /// The domain's name; `delta.` names belong to the system.
    pub domain: String,
    /// Opaque text, usually JSON.
    pub configuration: String,
    /// True for a tombstone.
    pub removed: bool,
}

/// `sidecar`: one file of a V2 checkpoint's file actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sidecar {
    /// URI-encoded; normally a bare name below `_delta_log/_sidecars`.
    pub path: String,
    /// Length in bytes.
    pub size_in_bytes: i64,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
}
