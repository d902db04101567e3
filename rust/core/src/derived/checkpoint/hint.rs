//! `_last_checkpoint`, written after a checkpoint.
//!
//! Protocol: "Last Checkpoint File".

use serde::Serialize;
use serde_json::{Value, json};

use super::WrittenCheckpoint;
use crate::codec::canonical_json::CanonicalJson;
use crate::error::Result;
use crate::log::hint::{Hint, hint_path};
use crate::replay::Source;
use crate::storage::{BackgroundWork, in_background};

/// The maximum length of a list in the hint, which every reader of the table reads; longer ones are omitted.
const MAX_ENTRIES: usize = 30;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LastCheckpoint {
    version: u64,
    size: u64,
    size_in_bytes: u64,
    num_of_add_files: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    v2_checkpoint: Option<V2Details>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct V2Details {
    pub(super) path: String,
    pub(super) size_in_bytes: u64,
    /// Milliseconds since the epoch.
    pub(super) modification_time: i64,
    /// The actions of the manifest without sidecars.
    #[serde(skip_serializing_if = "is_long")]
    pub(super) non_file_actions: Vec<Value>,
    #[serde(skip_serializing_if = "is_long")]
    pub(super) sidecar_files: Vec<Value>,
}

fn is_long(list: &[Value]) -> bool {
    list.len() > MAX_ENTRIES
}

pub(super) fn read(source: &Source) -> BackgroundWork<Hint> {
    in_background(&source.storage, |storage| Hint::read(&**storage))
}

/// Writes the hint, unless the current one names a newer version.
pub(super) fn write(
    source: &Source,
    current: BackgroundWork<Hint>,
    written: &WrittenCheckpoint,
    v2: Option<V2Details>,
) -> Result<()> {
    let version = written.version;
    if current.wait()?.version() > Some(version) {
        return Ok(());
    }
    let mut hint = json!(LastCheckpoint {
        version,
        size: written.num_actions,
        size_in_bytes: written.size_in_bytes,
        num_of_add_files: written.num_files,
        v2_checkpoint: v2,
    });
    let checksum = CanonicalJson::parse(&hint.to_string(), "last_checkpoint.json")?.checksum();
    if let Some(fields) = hint.as_object_mut() {
        fields.insert("checksum".to_owned(), Value::from(checksum));
    }
    source
        .storage
        .put(&hint_path(), hint.to_string().as_bytes())
}
