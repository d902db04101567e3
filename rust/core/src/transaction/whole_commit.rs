//! A commit with all its actions.

use serde_json::{Map, Value};

use crate::codec::commit::{ActionBatch, ActionDecoder, ActionSelection};
use crate::error::Result;
use crate::log::VersionedFile;
use crate::log::commit::decode_file;
use crate::storage::Storage;
use crate::write::{AddFile, RemoveFile};

/// The content of one commit.
#[derive(Debug)]
pub struct WholeCommit {
    /// Its actions, as columns.
    pub actions: ActionBatch,
    /// Files that it adds.
    pub adds: Vec<AddFile>,
    /// Files that it removes.
    pub removes: Vec<RemoveFile>,
    /// Its first `commitInfo`; empty if there is none, or if it is not an object.
    pub info: Map<String, Value>,
}

impl WholeCommit {
    /// Reads a commit of the log.
    pub fn read(storage: &dyn Storage, commit: &VersionedFile) -> Result<Self> {
        let mut decoder = ActionDecoder::new(ActionSelection::everything());
        decode_file(storage, &commit.file, commit.version, &mut decoder)?;
        Self::of_actions(decoder.finish()?)
    }

    /// Parses a commit.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let mut decoder = ActionDecoder::new(ActionSelection::everything());
        decoder.decode(text)?;
        Self::of_actions(decoder.finish()?)
    }

    fn of_actions(actions: ActionBatch) -> Result<Self> {
        let adds = actions.adds.as_ref();
        let adds = adds.map(|actions| AddFile::of_rows(&actions.rows));
        let removes = actions.removes.as_ref();
        let removes = removes.map(|actions| RemoveFile::of_rows(&actions.rows));
        let (adds, removes) = (adds.transpose()?, removes.transpose()?);
        Ok(Self {
            info: actions.info(),
            actions,
            adds: adds.unwrap_or_default(),
            removes: removes.unwrap_or_default(),
        })
    }

    /// Returns the in-commit timestamp, if the commit has one.
    pub fn in_commit_timestamp(&self) -> Option<i64> {
        self.info.get("inCommitTimestamp").and_then(Value::as_i64)
    }
}
