//! `_last_checkpoint`, written after a checkpoint.
//!
//! Protocol: "Last Checkpoint File".

use serde_json::{Value, json};

use super::WrittenCheckpoint;
use crate::codec::canonical_json::CanonicalJson;
use crate::error::Result;
use crate::log::hint::{Hint, hint_path};
use crate::replay::Source;
use crate::storage::{BackgroundWork, in_background};

/// Longer lists are omitted: every reader of the table reads the hint.
const MAX_ENTRIES: usize = 30;

/// The details of a V2 checkpoint in the hint.
#[derive(Debug)]
pub(super) struct V2Details {
    /// The file name of the manifest.
    pub(super) name: String,
    pub(super) size_in_bytes: u64,
    /// Milliseconds since the epoch.
    pub(super) modification_time: i64,
    /// The actions of the manifest without sidecars.
    pub(super) non_file_actions: Vec<Value>,
    pub(super) sidecars: Vec<Value>,
}

/// Begins to read the hint.
pub(super) fn read(source: &Source) -> BackgroundWork<Hint> {
    in_background(&source.storage, |storage| Hint::read(&**storage))
}

/// Writes the hint, unless the current one names a newer version.
pub(super) fn write(
    source: &Source,
    known: BackgroundWork<Hint>,
    written: &WrittenCheckpoint,
    v2: Option<V2Details>,
) -> Result<()> {
    let version = written.version;
    if known.wait()?.version() > Some(version) {
        return Ok(());
    }
    let mut hint = json!({
        "version": version,
        "size": written.num_actions,
        "sizeInBytes": written.size_in_bytes,
        "numOfAddFiles": written.num_files,
    });
    let mut put = |key: &str, value: Value| {
        if let Some(fields) = hint.as_object_mut() {
            fields.insert(key.to_owned(), value);
        }
    };
    if let Some(v2) = v2 {
        put("v2Checkpoint", v2.into_json());
    }
    let checksum = CanonicalJson::parse(&hint.to_string(), "last_checkpoint.json")?.checksum();
    if let Some(fields) = hint.as_object_mut() {
        fields.insert("checksum".to_owned(), Value::from(checksum));
    }
    source
        .storage
        .put(&hint_path(), hint.to_string().as_bytes())
}

impl V2Details {
    fn into_json(self) -> Value {
        let mut body = json!({
            "path": self.name,
            "sizeInBytes": self.size_in_bytes,
            "modificationTime": self.modification_time,
        });
        for (key, list) in [
            ("nonFileActions", self.non_file_actions),
            ("sidecarFiles", self.sidecars),
        ] {
            if let Some(body) = body.as_object_mut()
                && list.len() <= MAX_ENTRIES
            {
                body.insert(key.to_owned(), Value::from(list));
            }
        }
        body
    }
}
