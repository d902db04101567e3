//! `_last_checkpoint`: bytes in, a hint out.
//!
//! The hint is never authority: whoever reads it falls back to listing when this decoder refuses it.
//! The checksum is verified here where the file has one.
//!
//! Protocol: "Last Checkpoint File", "JSON checksum".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::codec::canonical_json::CanonicalJson;
use crate::error::{Error, Result};
use crate::spec::actions::Sidecar;
use crate::spec::json::text_of;

const CODE: &str = "last_checkpoint.json";

/// The newest checkpoint at the time when the hint was last written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// Version of the checkpoint.
    pub version: u64,
    /// Number of its actions; -1 where the writer did not know.
    pub size: i64,
    /// Number of files of a multi-part checkpoint.
    pub parts: Option<u32>,
    /// Bytes of all its files, sidecars included.
    pub size_in_bytes: Option<i64>,
    /// Number of its `add` actions.
    pub num_of_add_files: Option<i64>,
    /// Its schema, as JSON text.
    pub checkpoint_schema: Option<String>,
    /// Free-form.
    pub tags: Option<BTreeMap<String, String>>,
    /// MD5 of the file's canonical form; it has been verified.
    pub checksum: Option<String>,
    /// The content of a V2 checkpoint beside its file actions.
    pub v2_checkpoint: Option<LastV2Checkpoint>,
}

/// The part of the hint that describes a V2 checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastV2Checkpoint {
    /// Name of the file in the log directory.
    pub path: String,
    /// Bytes of that file.
    pub size_in_bytes: i64,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
    /// All sidecars, where there are few.
    pub sidecar_files: Option<Vec<Sidecar>>,
    /// All actions that are neither files nor sidecars, each as JSON text, where there are few.
    pub non_file_actions: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hint {
    version: u64,
    size: i64,
    parts: Option<u32>,
    size_in_bytes: Option<i64>,
    /// The spelling of early delta-rs.
    #[serde(rename = "size_in_bytes")]
    old_size_in_bytes: Option<i64>,
    num_of_add_files: Option<i64>,
    checkpoint_schema: Option<Box<RawValue>>,
    tags: Option<BTreeMap<String, Option<String>>>,
    checksum: Option<String>,
    v2_checkpoint: Option<V2Hint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct V2Hint {
    path: String,
    size_in_bytes: i64,
    modification_time: i64,
    sidecar_files: Option<Vec<SidecarHint>>,
    non_file_actions: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SidecarHint {
    path: String,
    size_in_bytes: i64,
    modification_time: i64,
}

impl LastCheckpoint {
    /// Decodes the file and verifies its checksum where it has one.
    ///
    /// # Errors
    ///
    /// Corrupt: `last_checkpoint.json` when the bytes are no such object (a name that occurs twice
    /// included), `last_checkpoint.checksum` when the checksum is not that of the content.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let json = text_of(bytes, CODE)?;
        // goes first: it bounds nesting before anything else looks at the text
        let canonical = CanonicalJson::parse(json, CODE)?;
        let hint: Hint = serde_json::from_str(json).map_err(|cause| {
            Error::corrupt(
                CODE,
                "the file does not hold the fields of a checkpoint hint",
            )
            .because(cause)
        })?;
        if let Some(checksum) = &hint.checksum
            && !canonical.matches(checksum)
        {
            let message = "the checksum of the file is not that of its content";
            return Err(Error::corrupt("last_checkpoint.checksum", message));
        }
        Ok(hint.into())
    }
}

impl From<Hint> for LastCheckpoint {
    fn from(hint: Hint) -> Self {
        let known = |tags: BTreeMap<String, Option<String>>| {
            tags.into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .collect()
        };
        Self {
            version: hint.version,
            size: hint.size,
            parts: hint.parts,
            size_in_bytes: hint.size_in_bytes.or(hint.old_size_in_bytes),
            num_of_add_files: hint.num_of_add_files,
            checkpoint_schema: hint.checkpoint_schema.map(text),
            tags: hint.tags.map(known),
            checksum: hint.checksum,
            v2_checkpoint: hint.v2_checkpoint.map(LastV2Checkpoint::from),
        }
    }
}

impl From<V2Hint> for LastV2Checkpoint {
    fn from(hint: V2Hint) -> Self {
        let sidecar = |sidecar: SidecarHint| Sidecar {
            path: sidecar.path,
            size_in_bytes: sidecar.size_in_bytes,
            modification_time: sidecar.modification_time,
        };
        Self {
            path: hint.path,
            size_in_bytes: hint.size_in_bytes,
            modification_time: hint.modification_time,
            sidecar_files: hint
                .sidecar_files
                .map(|list| list.into_iter().map(sidecar).collect()),
            non_file_actions: hint
                .non_file_actions
                .map(|list| list.into_iter().map(text).collect()),
        }
    }
}

fn text(raw: Box<RawValue>) -> String {
    String::from(Box::<str>::from(raw))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
