//! The part of a winning commit that the conflict check needs.

use arrow_array::BooleanArray;
use serde_json::{Map, Value};

use crate::codec::columns::TypedColumns;
use crate::codec::commit::{ActionBatch, ActionDecoder, ActionSelection};
use crate::codec::file_actions::FileField;
use crate::error::Result;
use crate::log::commit::decode_file;
use crate::log::path::commit_path;
use crate::log::{LogListing, VersionedFile};
use crate::storage::Storage;

use super::ROW_TRACKING;

/// A commit of another writer, or of this one if the store did not confirm it.
#[derive(Debug)]
pub(super) struct Winner {
    pub(super) version: u64,
    pub(crate) actions: ActionBatch,
    pub(super) info: Map<String, Value>,
    /// The modification time of the commit's file, in milliseconds.
    pub(crate) modification_time: i64,
}

impl Winner {
    /// Returns the commits from `version` on, oldest first, up to the first gap.
    pub(super) fn since(storage: &dyn Storage, version: u64) -> Result<Vec<Self>> {
        let mut commits: Vec<VersionedFile> = LogListing::read(storage, version)?
            .commits
            .into_iter()
            .filter(|commit| commit.version >= version)
            .collect();
        if commits.first().is_none_or(|first| first.version > version) {
            // a listing may lag behind; reading the file does not
            let file = storage.head(&commit_path(version))?;
            commits.insert(0, VersionedFile { version, file });
        }
        let mut winners = Vec::with_capacity(commits.len());
        for (commit, expected) in commits.iter().zip(version..) {
            if commit.version != expected {
                break;
            }
            winners.push(Self::read(storage, commit)?);
        }
        Ok(winners)
    }

    fn read(storage: &dyn Storage, commit: &VersionedFile) -> Result<Self> {
        let mut decoder = ActionDecoder::new(ActionSelection {
            adds: Some(vec![
                FileField::Path,
                FileField::PartitionValues,
                FileField::DataChange,
                FileField::BaseRowId,
                FileField::DefaultRowCommitVersion,
            ]),
            removes: Some(vec![
                FileField::Path,
                FileField::PartitionValues,
                FileField::Stats,
            ]),
            cdcs: None,
            control: true,
            commit_infos: true,
        });
        decode_file(storage, &commit.file, commit.version, &mut decoder)?;
        let actions = decoder.finish()?;
        Ok(Self {
            version: commit.version,
            info: actions.info(),
            modification_time: commit.file.modification_time,
            actions,
        })
    }

    pub(super) fn transaction_id(&self) -> Option<&str> {
        self.info.get("txnId").and_then(Value::as_str)
    }

    pub(crate) fn operation(&self) -> &str {
        let operation = self.info.get("operation").and_then(Value::as_str);
        operation.unwrap_or("an operation without a name")
    }

    pub(super) fn is_blind_append(&self) -> bool {
        self.info.get("isBlindAppend").and_then(Value::as_bool) == Some(true)
    }

    /// Returns `true` if the commit only adds files again with row ids, or without them.
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns`.
    pub(super) fn is_backfill(&self) -> Result<bool> {
        let operations = ["ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"];
        let Some(added) = &self.actions.adds else {
            return Ok(false);
        };
        let changes: &BooleanArray = added.rows.typed(FileField::DataChange.name())?;
        let adds_rows = changes.iter().any(|change| change != Some(false));
        Ok(operations.contains(&self.operation()) && !adds_rows)
    }

    /// Returns the high-water mark of row ids that this commit sets, if any.
    pub(super) fn high_water_mark(&self) -> Option<i64> {
        let mut domains = self.actions.domains.iter();
        let (_, domain) = domains.find(|(_, domain)| domain.domain == ROW_TRACKING)?;
        (!domain.removed).then(|| high_water_mark(&domain.configuration))
    }

    pub(crate) fn timestamp(&self) -> i64 {
        let own = self.info.get("inCommitTimestamp").and_then(Value::as_i64);
        own.unwrap_or(self.modification_time)
    }
}

/// Returns the high-water mark in the configuration of the domain `delta.rowTracking`; the largest number if
/// it cannot be read, since any lower one may repeat ids.
pub(super) fn high_water_mark(configuration: &str) -> i64 {
    let fields: Option<Map<String, Value>> = serde_json::from_str(configuration).ok();
    let mark = fields.and_then(|fields| fields.get("rowIdHighWaterMark")?.as_i64());
    mark.filter(|mark| *mark >= -1).unwrap_or(i64::MAX)
}
