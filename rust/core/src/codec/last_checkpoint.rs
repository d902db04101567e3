//! Decodes the `_last_checkpoint` hint.
//!
//! The hint is only an optimisation: if this decoder refuses it, readers list the log instead. The checksum
//! is verified if the file has one.
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

/// The newest checkpoint when the hint was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// Version of the checkpoint.
    pub version: u64,
    /// Number of its actions; -1 if the writer did not know it.
    pub size: i64,
    /// Number of files of a multi-part checkpoint.
    pub parts: Option<u32>,
    /// Size in bytes of all its files, including sidecars.
    pub size_in_bytes: Option<i64>,
    /// Number of its `add` actions.
    pub num_of_add_files: Option<i64>,
    /// Its schema, as JSON text.
    pub checkpoint_schema: Option<String>,
    /// User-defined.
    pub tags: Option<BTreeMap<String, String>>,
    /// MD5 of the file's canonical form, which has been verified.
    pub checksum: Option<String>,
    /// The content of a V2 checkpoint apart from its file actions.
    pub v2_checkpoint: Option<LastV2Checkpoint>,
}

/// The part of the hint for a V2 checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastV2Checkpoint {
    /// Name of the file in the log directory.
    pub path: String,
    /// Size of the file in bytes.
    pub size_in_bytes: i64,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
    /// All sidecars, if there are few.
    pub sidecar_files: Option<Vec<Sidecar>>,
    /// All actions other than file actions and sidecars, as JSON text, if there are few.
    pub non_file_actions: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hint {
    version: u64,
    size: i64,
    parts: Option<u32>,
    size_in_bytes: Option<i64>,
    /// The name used by early versions of delta-rs.
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
    /// Decodes the file and verifies its checksum, if it has one.
    ///
    /// # Errors
    ///
    /// Corrupt: `last_checkpoint.json` if the bytes are not a JSON object with the expected fields, or
    /// contain a duplicate key; `last_checkpoint.checksum` if the checksum does not match the content.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let json = text_of(bytes, CODE)?;
        // first: it bounds the nesting before any other parser reads the text
        let canonical = CanonicalJson::parse(json, CODE)?;
        let hint: Hint = serde_json::from_str(json).map_err(|cause| {
            Error::corrupt(
                CODE,
                "the file does not have the fields of a checkpoint hint",
            )
            .because(cause)
        })?;
        if let Some(checksum) = &hint.checksum
            && !canonical.matches(checksum)
        {
            let message = "the checksum in the file does not match its content";
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
mod tests;
