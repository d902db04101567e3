//! The commits of a range, as decoded from the log: changes of files, of the protocol and of the metadata,
//! and fields of `commitInfo`.
//!
//! Commits are decoded in runs, at most [`RUNS_AHEAD`] ahead of the caller.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec::commit::{
    ActionBatch, ActionDecoder, ActionSelection, FileActions, parse_commit_info,
};
use crate::codec::file_actions::FileField;
use crate::error::{Error, ErrorKind, Result};
use crate::log::commit::decode_files;
use crate::log::segment::{file_timestamps, gap};
use crate::log::{LogListing, VersionedFile};
use crate::scan::ScanFile;
use crate::scan::scan_file::SCAN_FIELDS;
use crate::spec::file_size::group_by_size;
use crate::spec::{Metadata, Protocol};
use crate::storage::Storage;
use crate::storage::pool::ordered;

/// The maximum size of a run of several commits in bytes; a commit counts as at least [`MIN_BYTES`].
const RUN_BYTES: u64 = 4 << 20;
const MIN_BYTES: u64 = RUN_BYTES / 256;

const RUNS_AHEAD: usize = 2;

/// Modification times are adjusted to ascend, beginning this many commits before the range, as in
/// delta-spark.
const LOOK_BACK: u64 = 100;

/// The version and time of a commit, as its rows show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::changes) struct Stamp {
    pub version: u64,
    /// Commit timestamp in milliseconds since the epoch.
    pub timestamp: i64,
}

/// The file of an `add`, `remove` or `cdc` action.
#[derive(Clone, Debug)]
pub(in crate::changes) struct FileChange {
    pub file: ScanFile,
    /// The position among all actions of its run.
    pub position: u32,
    /// True if the action has values for the partition columns.
    pub has_partition_values: bool,
}

/// The relevant fields of `commitInfo`.
#[derive(Clone, Debug, Default)]
pub(in crate::changes) struct CommitInfo {
    /// `operation`.
    pub operation: Option<String>,
    /// `operationParameters`, in the format of delta-spark.
    pub parameters: Option<String>,
    /// `inCommitTimestamp`.
    pub in_commit_timestamp: Option<i64>,
    /// True for a MERGE whose metrics show that it changed no row.
    pub no_op_merge: bool,
    /// `tags["delta.rowTracking.preserved"]`.
    pub row_ids_preserved: Option<bool>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::changes) struct Commit {
    pub stamp: Stamp,
    /// `cdc` actions.
    pub change_files: Vec<FileChange>,
    /// `add` actions with `dataChange`.
    pub adds: Vec<FileChange>,
    /// `remove` actions with `dataChange`.
    pub removes: Vec<FileChange>,
    /// `add` actions without `dataChange`.
    pub unchanged_adds: Vec<FileChange>,
    /// `remove` actions without `dataChange`.
    pub unchanged_removes: Vec<FileChange>,
    /// True if rows were moved to other files without a change.
    pub moved: bool,
    /// The last `metaData` action.
    pub metadata: Option<Metadata>,
    /// The last `protocol` action.
    pub protocol: Option<Protocol>,
    pub info: CommitInfo,
}

/// Reads the commits `first..=last`, oldest first.
///
/// # Errors
///
/// Version not found: `version.range`; Corrupt: `log.gap`.
pub(in crate::changes) fn commits_between(
    storage: &Arc<dyn Storage>,
    first: u64,
    last: u64,
) -> Result<impl Iterator<Item = Result<Commit>> + Send + use<>> {
    let listing = LogListing::read(&**storage, first.saturating_sub(LOOK_BACK))?;
    let commits: Vec<(VersionedFile, i64)> = file_timestamps(&listing.commits)
        .into_iter()
        .filter(|(commit, _)| (first..=last).contains(&commit.version))
        .map(|(commit, time)| (commit.clone(), time))
        .collect();
    check_complete(&commits, first, last)?;
    let storage = Arc::clone(storage);
    let decode = move |run: Vec<(VersionedFile, i64)>| decode(&*storage, &run);
    let size = |(commit, _): &(VersionedFile, i64)| commit.file.size.max(MIN_BYTES);
    let runs = ordered(group_by_size(commits, RUN_BYTES, size), RUNS_AHEAD, decode);
    Ok(runs.flat_map(|run| {
        let (run, error) = match run {
            Ok(run) => (run, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        run.into_iter().map(Ok).chain(error.map(Err))
    }))
}

fn check_complete(commits: &[(VersionedFile, i64)], first: u64, last: u64) -> Result<()> {
    let mut expected = first;
    for (commit, _) in commits {
        if commit.version != expected {
            break;
        }
        expected += 1;
    }
    if expected > last {
        return Ok(());
    }
    let message = match commits.iter().find(|(commit, _)| commit.version > expected) {
        None => format!(
            "the log has no commit of version {expected}, so its changes are unknown: read the versions \
             before it"
        ),
        Some((later, _)) if expected == first => format!(
            "the commits before version {} were cleaned up, so their changes are unknown: start at that \
             version",
            later.version
        ),
        Some(_) => return Err(gap(expected)),
    };
    let error = Error::new(ErrorKind::VersionNotFound, "version.range", message);
    Err(error.at_version(expected))
}

fn file_fields() -> Vec<FileField> {
    let data_change = [FileField::DataChange];
    SCAN_FIELDS.into_iter().chain(data_change).collect()
}

fn decode(storage: &dyn Storage, run: &[(VersionedFile, i64)]) -> Result<Vec<Commit>> {
    let mut decoder = ActionDecoder::new(ActionSelection {
        adds: Some(file_fields()),
        removes: Some(file_fields()),
        cdcs: Some(file_fields()),
        control: true,
        commit_infos: true,
    });
    let files: Vec<_> = run
        .iter()
        .map(|(commit, _)| (&commit.file, commit.version))
        .collect();
    decode_files(storage, &files, &mut decoder)?;
    let mut actions = decoder.finish()?;
    let starts = std::mem::take(&mut actions.starts);
    let mut commits: Vec<Commit> = run
        .iter()
        .map(|(commit, time)| Commit {
            stamp: Stamp {
                version: commit.version,
                timestamp: *time,
            },
            ..Commit::default()
        })
        .collect();
    assign_to_commits(actions, &starts, &mut commits)?;
    Ok(commits)
}

fn assign_to_commits(actions: ActionBatch, starts: &[u32], commits: &mut [Commit]) -> Result<()> {
    let commit_index = |position: u32| {
        starts
            .partition_point(|start| *start <= position)
            .saturating_sub(1)
    };
    // the version and path of each `add` without `dataChange`: if its commit also removes the file, the rows
    // did not move, only the action changed, such as its statistics; so adds come before removes
    let mut unchanged_adds: HashSet<(u64, String)> = HashSet::new();
    for (files, kind) in [
        (actions.cdcs, FileActionKind::Cdc),
        (actions.adds, FileActionKind::Add),
        (actions.removes, FileActionKind::Remove),
    ] {
        for (position, changes_rows, change) in file_changes(files.as_ref())? {
            let Some(commit) = commits.get_mut(commit_index(position)) else {
                continue;
            };
            let version = commit.stamp.version;
            let change = change.map_err(|error| error.at_version(version))?;
            match kind {
                FileActionKind::Cdc => commit.change_files.push(change),
                FileActionKind::Add if changes_rows => commit.adds.push(change),
                FileActionKind::Remove if changes_rows => commit.removes.push(change),
                FileActionKind::Add => {
                    unchanged_adds.insert((version, change.file.path.clone()));
                    commit.unchanged_adds.push(change);
                }
                FileActionKind::Remove => {
                    commit.moved |= !unchanged_adds.contains(&(version, change.file.path.clone()));
                    commit.unchanged_removes.push(change);
                }
            }
        }
    }
    for (position, metadata) in actions.metadatas {
        if let Some(commit) = commits.get_mut(commit_index(position)) {
            commit.metadata = Some(metadata);
        }
    }
    for (position, protocol) in actions.protocols {
        if let Some(commit) = commits.get_mut(commit_index(position)) {
            commit.protocol = Some(protocol);
        }
    }
    // in reverse order, since the first `commitInfo` of a commit counts
    for (position, text) in actions.commit_infos.into_iter().rev() {
        if let Some(commit) = commits.get_mut(commit_index(position)) {
            commit.info = CommitInfo::of(&text);
        }
    }
    for commit in commits {
        if let Some(timestamp) = commit.info.in_commit_timestamp {
            commit.stamp.timestamp = timestamp;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum FileActionKind {
    Cdc,
    Add,
    Remove,
}

/// The position of an action among all of its run, its `dataChange`, and its file.
type DecodedChange = (u32, bool, Result<FileChange>);

fn file_changes(files: Option<&FileActions>) -> Result<Vec<DecodedChange>> {
    let Some(files) = files else {
        return Ok(Vec::new());
    };
    let column = |field: FileField| files.rows.column_by_name(field.name());
    let data_change: Option<&BooleanArray> =
        column(FileField::DataChange).and_then(|column| column.as_boolean_opt());
    let values = column(FileField::PartitionValues);
    let changes = ScanFile::of(&files.rows)?.into_iter().zip(&files.sequence);
    let changes = changes.enumerate().map(|(row, (file, position))| {
        let changes_rows = data_change.is_none_or(|flags| flags.is_null(row) || flags.value(row));
        let change = file.map(|file| FileChange {
            file,
            position: *position,
            has_partition_values: values.is_some_and(|values| values.is_valid(row)),
        });
        (*position, changes_rows, change)
    });
    Ok(changes.collect())
}

impl CommitInfo {
    /// Parses the JSON text; fields that do not parse are omitted.
    fn of(text: &str) -> Self {
        let info = parse_commit_info(text).unwrap_or_default();
        let operation = info.get("operation").and_then(Value::as_str);
        let is_zero = |name: &str| {
            let metrics = info.get("operationMetrics");
            metrics.and_then(|metrics| metrics.get(name)?.as_str()) == Some("0")
        };
        let counts = [
            "numTargetRowsInserted",
            "numTargetRowsUpdated",
            "numTargetRowsDeleted",
        ];
        let preserved = info
            .get("tags")
            .and_then(|tags| tags.get("delta.rowTracking.preserved")?.as_str());
        Self {
            operation: operation.map(str::to_owned),
            parameters: info.get("operationParameters").and_then(parameters),
            in_commit_timestamp: info.get("inCommitTimestamp").and_then(Value::as_i64),
            no_op_merge: operation == Some("MERGE") && counts.into_iter().all(is_zero),
            row_ids_preserved: preserved.and_then(|text| text.parse().ok()),
        }
    }
}

/// Formats parameters as a list of `name -> value`.
fn parameters(value: &Value) -> Option<String> {
    let pairs = value.as_object()?.iter().map(|(name, value)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        format!("{name} -> {text}")
    });
    Some(pairs.collect::<Vec<_>>().join(", "))
}
