//! Decodes the `_last_checkpoint` hint.
//!
//! The hint is only an optimization: if this decoder refuses it, readers list the log instead. The checksum
//! is verified if the file has one.
//!
//! Protocol: "Last Checkpoint File", "JSON checksum".

use serde::Deserialize;

use crate::codec::canonical_json::CanonicalJson;
use crate::error::{Error, Result};
use crate::spec::json::text_of;

const CODE: &str = "last_checkpoint.json";

/// The newest checkpoint when the hint was written: the required fields, and those that readers use.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastCheckpoint {
    /// Version of the checkpoint.
    pub version: u64,
    /// Number of its actions; -1 if the writer did not know it.
    pub size: i64,
    /// Number of files of a multi-part checkpoint.
    pub parts: Option<u32>,
    /// Size in bytes of all its files, including sidecars.
    #[serde(alias = "size_in_bytes")] // the name used by early versions of delta-rs
    pub size_in_bytes: Option<i64>,
    /// MD5 of the file's canonical form, which has been verified.
    pub checksum: Option<String>,
    /// The file of a V2 checkpoint.
    pub v2_checkpoint: Option<LastV2Checkpoint>,
}

/// The part of the hint for a V2 checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastV2Checkpoint {
    /// Name of the file in the log directory.
    pub path: String,
    /// Size of the file in bytes.
    pub size_in_bytes: i64,
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
        let hint: Self = serde_json::from_str(json).map_err(|cause| {
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
        Ok(hint)
    }
}

#[cfg(test)]
mod tests;
