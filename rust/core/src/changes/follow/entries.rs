//! The files of a stream, in order: those of a snapshot, then those of each commit.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::FollowOptions;
use crate::changes::Kind;
use crate::changes::net::identify::Share;
use crate::changes::plan::{NetPlan, Task, feed_disabled};
use crate::changes::range::commits::{Commit, FileChange, Stamp};
use crate::changes::range::derive::{CommitRows, derive};
use crate::changes::range::metadata_history::{CommitSettings, PartitionNames};
use crate::changes::rows::piece::{ChangeType, Piece};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::ScanFile;
use crate::scan::scan_file::SCAN_FIELDS;
use crate::snapshot::Snapshot;

/// A file and its position in the stream.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The index among the files of its version.
    pub index: i64,
    /// The size in bytes, as in the log.
    pub bytes: u64,
    rows: EntryRows,
}

#[derive(Clone, Debug)]
enum EntryRows {
    /// The rows of the piece.
    Rows(Box<Piece>),
    /// All changes of the commit, in the entry of its last file.
    Commit(Box<(Commit, CommitSettings)>),
    /// Nothing, in the entries of the other files of such a commit.
    Nothing,
}

pub(super) fn total_bytes(entries: &[Entry]) -> u64 {
    let bytes = entries.iter().map(|entry| entry.bytes);
    bytes.fold(0, u64::saturating_add)
}

/// Returns the tasks that read the files of a batch.
pub(super) fn tasks_of(
    entries: Vec<Entry>,
    source: &Source,
    options: &FollowOptions,
) -> Result<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut commits: Vec<(Commit, CommitSettings)> = Vec::new();
    let has_key = !options.key.is_empty();
    let net = options.net();
    for entry in entries {
        match entry.rows {
            EntryRows::Nothing => {}
            EntryRows::Rows(piece) => Task::Pieces(vec![*piece]).append(&mut tasks),
            EntryRows::Commit(commit) if net.is_some() => commits.push(*commit),
            EntryRows::Commit(commit) => {
                let (commit, settings) = *commit;
                let derived = derive(&commit, settings, &source.keys, has_key)?;
                Task::of(derived.rows).append(&mut tasks);
            }
        }
    }
    if let Some(kind) = net.filter(|_| !commits.is_empty()) {
        let plan = NetPlan::of(&commits, &source.keys, has_key, kind)?;
        tasks.push(Task::Net(Arc::new(plan), Share::ALL));
    }
    Ok(tasks)
}

/// Returns all files of a snapshot, oldest first.
pub(super) fn of_snapshot(source: &Source, snapshot: &Snapshot) -> Result<Vec<Entry>> {
    let fields: Vec<FileField> = SCAN_FIELDS
        .into_iter()
        .chain([FileField::ModificationTime])
        .collect();
    let table = snapshot.files(source, &FileColumns::fields_only(&fields), None)?;
    let partitions = PartitionNames::of(snapshot)?;
    let mut files: Vec<(i64, ScanFile)> = Vec::new();
    for rows in &table.batches {
        let times = rows
            .column_by_name(FileField::ModificationTime.name())
            .and_then(|times| times.as_primitive_opt::<Int64Type>());
        for (row, file) in ScanFile::of(rows)?.into_iter().enumerate() {
            let time = times.map(|times| times.value(row)).unwrap_or_default();
            let mut file = file?;
            partitions.complete(&mut file);
            files.push((time, file));
        }
    }
    files.sort_by(|left, right| (left.0, &left.1.path).cmp(&(right.0, &right.1.path)));
    let stamp = Stamp {
        version: snapshot.version(),
        timestamp: snapshot.timestamp(),
    };
    let entries = files.into_iter().zip(0_i64..);
    Ok(entries
        .map(|((_, file), index)| entry(index, Piece::live(file, ChangeType::Insert, stamp)))
        .collect())
}

fn entry(index: i64, piece: Piece) -> Entry {
    Entry {
        index,
        bytes: piece.bytes(),
        rows: EntryRows::Rows(Box::new(piece)),
    }
}

/// Returns the files of a commit, in groups that must not be split.
pub(super) fn of_commit(
    source: &Source,
    commit: &Commit,
    settings: Option<CommitSettings>,
    options: &FollowOptions,
) -> Result<Vec<Vec<Entry>>> {
    match (options.changes, settings) {
        (Some(kind), Some(settings)) => changed_files(source, commit, settings, kind, options),
        _ => added_files(commit, options),
    }
}

/// Returns the added files, each as a group; the options decide about commits that remove files.
fn added_files(commit: &Commit, options: &FollowOptions) -> Result<Vec<Vec<Entry>>> {
    if !commit.removes.is_empty() {
        if options.skip_change_commits {
            return Ok(Vec::new());
        }
        check_tolerated(commit, options)?;
    }
    let added = commit.adds.iter().zip(0_i64..);
    Ok(added
        .map(|(add, index)| {
            let piece = Piece::live(add.file.clone(), ChangeType::Insert, commit.stamp);
            vec![entry(index, piece)]
        })
        .collect())
}

/// Checks that the options tolerate a commit that removes files.
fn check_tolerated(commit: &Commit, options: &FollowOptions) -> Result<()> {
    let info = &commit.info;
    let operation = match (&info.operation, &info.parameters) {
        (Some(operation), Some(parameters)) => format!("{operation} ({parameters})"),
        (Some(operation), None) => operation.clone(),
        _ => commit
            .removes
            .first()
            .map(|remove| remove.file.path.clone())
            .unwrap_or_default(),
    };
    let version = commit.stamp.version;
    if commit.adds.is_empty() {
        if options.ignore_deletes || options.ignore_changes {
            return Ok(());
        }
        let message = format!(
            "rows were deleted, which a stream of added rows does not show ({operation}): tolerate it by \
             `ignore_deletes`, skip such commits by `skip_change_commits`, or follow the changes by \
             `read_change_feed` (in Spark: `ignoreDeletes`, `skipChangeCommits`, `readChangeFeed`)"
        );
        return Err(Error::unsupported("follow.deletes", message).at_version(version));
    }
    if options.ignore_changes {
        return Ok(());
    }
    let message = format!(
        "rows were changed, which a stream of added rows does not show ({operation}): skip such \
         commits by `skip_change_commits`, get rewritten files as a whole by `ignore_changes`, or \
         follow the changes by `read_change_feed` (in Spark: `skipChangeCommits`, `ignoreChanges`, \
         `readChangeFeed`)"
    );
    Err(Error::unsupported("follow.changes", message).at_version(version))
}

/// Returns the changed files of a commit: a group for each file if their changes can be read separately,
/// otherwise one group of all files.
fn changed_files(
    source: &Source,
    commit: &Commit,
    settings: CommitSettings,
    kind: Kind,
    options: &FollowOptions,
) -> Result<Vec<Vec<Entry>>> {
    if options.require_feed && !settings.feed {
        return Err(feed_disabled(commit.stamp.version));
    }
    let has_change_files = !commit.change_files.is_empty();
    let files: Vec<&FileChange> = if has_change_files {
        commit.change_files.iter().collect()
    } else {
        let mut files: Vec<&FileChange> = commit.adds.iter().chain(&commit.removes).collect();
        files.sort_by_key(|change| change.position);
        files
    };
    if files.is_empty() || commit.info.no_op_merge {
        return Ok(Vec::new());
    }
    let has_vectors = files
        .iter()
        .any(|change| change.file.deletion_vector.is_some());
    let may_split = kind == Kind::Full && !has_change_files && !has_vectors;
    if may_split
        && let CommitRows::Pieces(pieces) =
            derive(commit, settings, &source.keys, !options.key.is_empty())?.rows
        && pieces.len() == files.len()
    {
        let by_path = |piece: Piece| (piece.file.path.clone(), piece);
        let mut pieces: HashMap<String, Piece> = pieces.into_iter().map(by_path).collect();
        let numbered = files.iter().zip(0_i64..);
        return Ok(numbered
            .filter_map(|(change, index)| {
                let piece = pieces.remove(&change.file.path)?;
                Some(vec![entry(index, piece)])
            })
            .collect());
    }
    let numbered = files.iter().zip(0_i64..);
    let mut group: Vec<Entry> = numbered
        .map(|(change, index)| Entry {
            index,
            bytes: u64::try_from(change.file.size).unwrap_or_default(),
            rows: EntryRows::Nothing,
        })
        .collect();
    if let Some(last) = group.last_mut() {
        last.rows = EntryRows::Commit(Box::new((commit.clone(), settings)));
    }
    Ok(vec![group])
}
