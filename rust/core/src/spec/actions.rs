//! The actions of the log as plain data, one struct a kind.
//!
//! File actions (`add`, `remove`, `cdc`) live in Arrow columns (`codec::file_actions`), never in
//! structs; what stands here occurs a few times in a snapshot.

use std::collections::BTreeMap;

/// `metaData`: identity, schema and properties of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The table id, a GUID that stays for the life of the table.
    pub id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// Description given by the user.
    pub description: Option<String>,
    /// `format.provider`; always `parquet` in practice.
    pub format_provider: String,
    /// `format.options`.
    pub format_options: BTreeMap<String, String>,
    /// The schema as the log has it (JSON); empty where the log has none.
    pub schema_string: String,
    /// Logical names of the partition columns, in order.
    pub partition_columns: Vec<String>,
    /// Creation time in milliseconds since the epoch.
    pub created_time: Option<i64>,
    /// Table properties.
    pub configuration: BTreeMap<String, String>,
}

/// `protocol`: what a client must understand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// `minReaderVersion`.
    pub min_reader_version: i32,
    /// `minWriterVersion`.
    pub min_writer_version: i32,
    /// `readerFeatures`; present iff the reader version is 3.
    pub reader_features: Option<Vec<String>>,
    /// `writerFeatures`; present iff the writer version is 7.
    pub writer_features: Option<Vec<String>>,
}

/// `txn`: the progress of one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetTransaction {
    /// The application.
    pub app_id: String,
    /// Its own version number.
    pub version: i64,
    /// Milliseconds since the epoch.
    pub last_updated: Option<i64>,
}

/// `domainMetadata`: configuration of one named domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainMetadata {
    /// The domain's name; `delta.` names belong to the system.
    pub domain: String,
    /// Opaque text, usually JSON.
    pub configuration: String,
    /// A tombstone.
    pub removed: bool,
}

/// `sidecar`: one file of a V2 checkpoint's file actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sidecar {
    /// URI-encoded; normally a bare name below `_delta_log/_sidecars`.
    pub path: String,
    /// Length in bytes.
    pub size_in_bytes: i64,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
}
