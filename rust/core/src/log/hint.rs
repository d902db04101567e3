//! `_last_checkpoint`: where a listing may begin. Never an authority.
//!
//! Protocol: "Last Checkpoint File".

use super::path::LOG_DIRECTORY;
use super::segment::LogSegment;
use super::warning::LogWarning;
use crate::codec::last_checkpoint::LastCheckpoint;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// A larger hint is not read. Most have some hundred bytes; a copy of the checkpoint's schema is the
/// longest part.
const MOST_BYTES: u64 = 16 << 20;

/// Errors of a hint's bytes, which the log does not need. A link out of the table is refused.
const IGNORED: [&str; 2] = ["storage.file_too_large", "storage.truncated"];

/// The path of the hint, relative to the table root.
pub fn hint_path() -> String {
    format!("{LOG_DIRECTORY}/_last_checkpoint")
}

/// The content of the hint: nothing, something, or something that cannot be trusted.
#[derive(Clone, Debug)]
pub enum Hint {
    /// There is none.
    Missing,
    /// It does not decode, or its checksum is wrong.
    Corrupt(LogWarning),
    /// A checkpoint of this version was written.
    Version(u64),
}

impl Hint {
    /// Reads the hint. Only storage can fail.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let path = hint_path();
        let bytes = match storage.read_at_most(&path, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if IGNORED.contains(&error.code()) => {
                return Ok(Self::ignored(path, &error));
            }
            Err(error) if error.code() == "storage.not_found" => return Ok(Self::Missing),
            Err(error) if error.code() == "storage.not_a_file" => {
                let message = "there is something else where the hint should be; the log was listed from its beginning";
                return Ok(Self::Corrupt(LogWarning::new(
                    "hint.corrupt",
                    path,
                    None,
                    message.to_owned(),
                )));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(error.at_path(path)),
        };
        Ok(match LastCheckpoint::parse(&bytes) {
            Ok(hint) => Self::Version(hint.version),
            Err(error) => Self::ignored(path, &error),
        })
    }

    fn ignored(path: String, error: &Error) -> Self {
        let why = error.message();
        let message =
            format!("the hint was ignored, and the log was listed from its beginning: {why}");
        Self::Corrupt(LogWarning::new("hint.corrupt", path, None, message))
    }

    /// Returns a warning if it is wrong about the newest version's segment.
    pub fn check(&self, newest: &LogSegment) -> Option<LogWarning> {
        let checkpoint = newest
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.version);
        let (code, message) = match (self, checkpoint) {
            (Self::Corrupt(warning), _) => return Some(warning.clone()),
            (Self::Missing, Some(version)) => {
                let message = format!(
                    "there is a checkpoint of version {version}, but no hint that names it"
                );
                ("hint.missing", message)
            }
            (Self::Version(hint), Some(version)) if *hint < version => (
                "hint.stale",
                format!(
                    "the hint names version {hint}, but there is a checkpoint of version {version}"
                ),
            ),
            (Self::Version(hint), Some(version)) if *hint > version => {
                let message = format!(
                    "the hint names version {hint}, whose checkpoint cannot be used; version {version} was taken"
                );
                ("hint.wrong", message)
            }
            (Self::Version(hint), None) => (
                "hint.wrong",
                format!(
                    "the hint names version {hint}, but there is no checkpoint that can be used"
                ),
            ),
            _ => return None,
        };
        Some(LogWarning::new(code, hint_path(), checkpoint, message))
    }
}
