//! `_last_checkpoint`: a hint where to begin a listing, never authoritative.
//!
//! Protocol: "Last Checkpoint File".

use super::listing::CheckpointInstance;
use super::path::{self, LOG_DIRECTORY, LogFileKind};
use super::segment::LogSegment;
use super::warning::LogWarning;
use crate::codec::last_checkpoint::LastCheckpoint;
use crate::error::{ErrorKind, Result};
use crate::storage::{FileMeta, Storage, is_unreachable};

/// The maximum size of a hint. Most have a few hundred bytes, unless they contain the checkpoint's schema.
const MAX_BYTES: u64 = 16 << 20;

/// Returns the path of the hint, relative to the table root.
pub fn hint_path() -> String {
    format!("{LOG_DIRECTORY}/_last_checkpoint")
}

/// The content of the hint.
#[derive(Clone, Debug)]
pub enum Hint {
    /// There is no hint.
    Missing,
    /// It is corrupt (`hint.corrupt`), or the storage failed to return it (`hint.unreadable`).
    Ignored(LogWarning),
    /// The newest checkpoint when it was written.
    Checkpoint(Box<LastCheckpoint>),
}

impl Hint {
    /// Reads the hint.
    ///
    /// # Errors
    ///
    /// `storage.io` if the store cannot be reached; other errors of the storage concern the hint alone, or
    /// recur in the listing.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let path = hint_path();
        let (code, problem) = match storage.read_at_most(&path, MAX_BYTES) {
            Ok(bytes) => match LastCheckpoint::parse(&bytes) {
                Ok(hint) => return Ok(Self::Checkpoint(Box::new(hint))),
                Err(error) => ("hint.corrupt", error.message().to_owned()),
            },
            Err(error) => match error.code() {
                "storage.not_found" => return Ok(Self::Missing),
                "storage.not_a_file" | "storage.file_too_large" | "storage.truncated" => {
                    ("hint.corrupt", error.message().to_owned())
                }
                _ if error.kind() == ErrorKind::Storage && !is_unreachable(&error) => {
                    ("hint.unreadable", error.to_string())
                }
                _ if error.kind() == ErrorKind::Interrupted => return Err(error),
                _ => return Err(error.at_path(path)),
            },
        };
        let message =
            format!("the hint was ignored, and the log was listed from its beginning: {problem}");
        Ok(Self::Ignored(LogWarning::new(code, path, None, message)))
    }

    /// Returns the version of the checkpoint, if the hint names one.
    pub fn version(&self) -> Option<u64> {
        match self {
            Self::Checkpoint(hint) => Some(hint.version),
            _ => None,
        }
    }

    /// Returns the checkpoint that the listing will probably contain: one file of the size in the hint.
    pub fn checkpoint(&self) -> Option<CheckpointInstance> {
        let Self::Checkpoint(hint) = self else {
            return None;
        };
        let version = hint.version;
        let (base, size) = match &hint.v2_checkpoint {
            Some(v2) => (v2.path.clone(), v2.size_in_bytes),
            None if hint.parts.is_some() => return None,
            None => (
                format!("{version:020}.checkpoint.parquet"),
                hint.size_in_bytes?,
            ),
        };
        let size = u64::try_from(size).ok().filter(|size| *size > 0)?;
        match path::parse(&base)? {
            (version_in_name, LogFileKind::Checkpoint(name))
                if version_in_name == version && !base.contains('/') =>
            {
                Some(CheckpointInstance {
                    version,
                    name,
                    files: vec![FileMeta {
                        path: format!("{LOG_DIRECTORY}/{base}"),
                        size,
                        modification_time: 0,
                        tag: 0,
                    }],
                })
            }
            _ => None,
        }
    }

    /// Returns a warning if the hint was ignored, or does not name the checkpoint of `newest`.
    pub fn check(&self, newest: &LogSegment) -> Option<LogWarning> {
        if let Self::Ignored(warning) = self {
            return Some(warning.clone());
        }
        let used = newest
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.version);
        let (code, message) = match (self.version(), used) {
            (None, Some(version)) => (
                "hint.missing",
                format!("there is a checkpoint of version {version}, but no hint that names it"),
            ),
            (Some(hint), Some(version)) if hint < version => (
                "hint.stale",
                format!(
                    "the hint names version {hint}, but there is a checkpoint of version {version}"
                ),
            ),
            (Some(hint), Some(version)) if hint > version => (
                "hint.wrong",
                format!(
                    "the hint names version {hint}, whose checkpoint cannot be used; the checkpoint of version \
                     {version} was used instead"
                ),
            ),
            (Some(hint), None) => (
                "hint.wrong",
                format!(
                    "the hint names version {hint}, but there is no checkpoint that can be used"
                ),
            ),
            _ => return None,
        };
        Some(LogWarning::new(code, hint_path(), used, message))
    }
}
