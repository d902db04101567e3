//! Derives the changed rows of a commit from its actions: the rows of added or removed files, and whether
//! they must be compared to separate changed rows from carried-over ones.
//!
//! Protocol: "Add CDC File", "Change Data Files", "Row Tracking". A commit without change data files is read
//! as delta-spark reads it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::commits::{Commit, FileChange, Stamp};
use super::metadata_history::CommitSettings;
use crate::changes::rows::piece::{ChangeType, Labels, Piece, PieceRows};
use crate::error::{Error, Result};
use crate::replay::Keys;
use crate::scan::ScanFile;

/// The way in which the rows of a commit are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchBy {
    /// The commit changed no row.
    Nothing,
    /// The changes are read from the change data files of the commit.
    ChangeFiles,
    /// Rows of added files are new, rows of removed files are deleted.
    Files,
    /// As [`MatchBy::Files`]; rows in only one of two deletion vectors of a file were deleted or restored.
    DeletionVectors,
    /// Removed and added rows are matched by row id.
    RowTracking,
    /// Removed and added rows are matched by the given key columns.
    Key,
    /// Equal removed and added rows count as carried over.
    Rows,
}

impl MatchBy {
    /// Returns its name in explanations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::ChangeFiles => "change data files",
            Self::Files => "files",
            Self::DeletionVectors => "deletion vectors",
            Self::RowTracking => "row tracking",
            Self::Key => "key",
            Self::Rows => "rows",
        }
    }
}

/// The changed rows of a commit, and how they were determined.
#[derive(Clone, Debug)]
pub(in crate::changes) struct DerivedCommit {
    pub stamp: Stamp,
    pub way: MatchBy,
    /// The reason for that way.
    pub reason: &'static str,
    pub rows: CommitRows,
}

/// The changed rows of a commit: pieces that need no comparison, or pieces whose rows must be compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) enum CommitRows {
    /// These pieces, in order.
    Pieces(Vec<Piece>),
    /// The removed and added rows that remain after carried-over rows are dropped.
    Compare {
        stamp: Stamp,
        removed: Vec<Piece>,
        new: Vec<Piece>,
        way: MatchBy,
    },
}

impl CommitRows {
    pub(in crate::changes) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let (first, second): (&[Piece], &[Piece]) = match self {
            Self::Pieces(pieces) => (pieces, &[]),
            Self::Compare { removed, new, .. } => (removed, new),
        };
        first.iter().chain(second)
    }
}

#[derive(Clone, Debug, Default)]
pub(in crate::changes) struct RowChanges {
    pub removed: Vec<Piece>,
    pub new: Vec<Piece>,
    /// True if the deletion vector of a file was replaced.
    pub has_new_vectors: bool,
    /// True if a new file was added.
    pub has_new_files: bool,
    /// True if all rows of all files have ids.
    pub all_have_ids: bool,
}

/// Returns the changed rows of a commit.
pub(in crate::changes) fn derive(
    commit: &Commit,
    settings: CommitSettings,
    keys: &Keys,
    has_key: bool,
) -> Result<DerivedCommit> {
    let stamp = commit.stamp;
    let derived = |way, reason, rows| {
        Ok(DerivedCommit {
            stamp,
            way,
            reason,
            rows,
        })
    };
    if !commit.change_files.is_empty() {
        let pieces = change_file_pieces(commit);
        let reason = "the commit has change data files";
        return derived(MatchBy::ChangeFiles, reason, CommitRows::Pieces(pieces));
    }
    if commit.info.no_op_merge {
        let reason = "a MERGE that changed no row, according to its metrics";
        return derived(MatchBy::Nothing, reason, CommitRows::Pieces(Vec::new()));
    }
    let changes = row_changes(commit, settings, keys)?;
    if changes.removed.is_empty() && changes.new.is_empty() {
        let reason = "no action of the commit changes a row";
        return derived(MatchBy::Nothing, reason, CommitRows::Pieces(Vec::new()));
    }
    let way = if changes.has_new_vectors {
        MatchBy::DeletionVectors
    } else {
        MatchBy::Files
    };
    if !changes.rewrites() {
        let reason = "no file was rewritten";
        return derived(way, reason, CommitRows::Pieces(changes.into_pieces()));
    }
    if settings.feed {
        let reason = "the change data feed is enabled and the commit has no change data files: all rows of \
            added files are inserts, all rows of removed files are deletes";
        return derived(way, reason, CommitRows::Pieces(changes.into_pieces()));
    }
    let (way, reason) = best_way(commit, settings, &changes, has_key);
    let rows = CommitRows::Compare {
        stamp,
        removed: changes.removed,
        new: changes.new,
        way,
    };
    derived(way, reason, rows)
}

/// Returns the best way to match the removed and the added rows of a commit, and the reason for it.
fn best_way(
    commit: &Commit,
    settings: CommitSettings,
    changes: &RowChanges,
    has_key: bool,
) -> (MatchBy, &'static str) {
    let preserved = commit.info.row_ids_preserved != Some(false);
    if settings.row_tracking && changes.all_have_ids && preserved {
        return (MatchBy::RowTracking, "files were rewritten; rows have ids");
    }
    if has_key {
        return (
            MatchBy::Key,
            "files were rewritten; rows are identified by the key columns",
        );
    }
    let reason = match (settings.row_tracking, preserved) {
        (true, false) => {
            "files were rewritten, and the commit says that it did not keep row ids: an update \
             appears as a delete and an insert; pass `key` to match them"
        }
        (true, true) => {
            "files were rewritten, and not all of them have row ids: an update appears as a \
             delete and an insert; pass `key` to match them"
        }
        (false, _) => {
            "files were rewritten, and rows cannot be matched: an update appears as a \
             delete and an insert; enable row tracking or pass `key` to match them"
        }
    };
    (MatchBy::Rows, reason)
}

/// Returns the changed rows of a commit for the net outcome of a range, whose rows are identified by `way`.
pub(in crate::changes) fn derive_net(
    commit: &Commit,
    settings: CommitSettings,
    keys: &Keys,
    way: MatchBy,
) -> Result<CommitRows> {
    let by_values = matches!(way, MatchBy::Key | MatchBy::Rows);
    if by_values && !commit.change_files.is_empty() {
        return Ok(CommitRows::Pieces(change_file_pieces(commit)));
    }
    if commit.info.no_op_merge {
        return Ok(CommitRows::Pieces(Vec::new()));
    }
    let changes = row_changes(commit, settings, keys)?;
    if !changes.rewrites() {
        return Ok(CommitRows::Pieces(changes.into_pieces()));
    }
    Ok(CommitRows::Compare {
        stamp: commit.stamp,
        removed: changes.removed,
        new: changes.new,
        way,
    })
}

fn change_file_pieces(commit: &Commit) -> Vec<Piece> {
    let files = commit.change_files.iter();
    files
        .map(|change| Piece {
            file: change.file.clone(),
            rows: PieceRows::Live,
            labels: Labels::InFile(commit.stamp),
        })
        .collect()
}

/// Returns the removed and the added rows, from added and removed files and their deletion vectors.
pub(in crate::changes) fn row_changes(
    commit: &Commit,
    settings: CommitSettings,
    keys: &Keys,
) -> Result<RowChanges> {
    row_changes_of(commit.stamp, &commit.adds, &commit.removes, settings, keys)
}

/// Returns the removed and the added rows, as [`row_changes`], for some actions of a commit.
///
/// # Errors
///
/// Corrupt: `changes.partition_values`, with the file.
pub(in crate::changes) fn row_changes_of(
    stamp: Stamp,
    adds: &[FileChange],
    removes: &[FileChange],
    settings: CommitSettings,
    keys: &Keys,
) -> Result<RowChanges> {
    let mut changes = RowChanges {
        all_have_ids: true,
        ..RowChanges::default()
    };
    let key = |change: &FileChange| keys.key(&change.file.path, None);
    let mut added: HashMap<_, &FileChange> = adds.iter().map(|add| (key(add), add)).collect();
    for remove in removes {
        match added.remove(&key(remove)) {
            Some(add) => changes.push_vector_difference(remove, add, stamp),
            None if settings.partitioned && !remove.has_partition_values => {
                let message = "the commit that removed this file lacks its partition values, so the removed \
                    rows are unknown: read ranges without this version";
                return Err(Error::corrupt("changes.partition_values", message)
                    .at_path(remove.file.path.clone())
                    .at_version(stamp.version));
            }
            None => {
                let piece = Piece::live(remove.file.clone(), ChangeType::Delete, stamp);
                changes.push_removed(piece);
            }
        }
    }
    for add in adds {
        if added.contains_key(&key(add)) {
            changes.has_new_files = true;
            changes.push_new(Piece::live(add.file.clone(), ChangeType::Insert, stamp));
        }
    }
    Ok(changes)
}

impl RowChanges {
    /// Returns the pieces of removed rows, then those of added rows.
    pub(in crate::changes) fn into_pieces(mut self) -> Vec<Piece> {
        self.removed.append(&mut self.new);
        self.removed
    }

    /// Returns `true` if rows were removed and files were added, so some rows may only be carried over.
    pub(in crate::changes) fn rewrites(&self) -> bool {
        !self.removed.is_empty() && self.has_new_files
    }

    fn push_removed(&mut self, piece: Piece) {
        self.all_have_ids &= has_row_ids(&piece);
        self.removed.push(piece);
    }

    fn push_new(&mut self, piece: Piece) {
        self.all_have_ids &= has_row_ids(&piece);
        self.new.push(piece);
    }

    /// Adds the rows that are in only one of two deletion vectors of a file.
    fn push_vector_difference(&mut self, remove: &FileChange, add: &FileChange, stamp: Stamp) {
        let non_empty_vector = |change: &FileChange| {
            let vector = change.file.deletion_vector.clone();
            vector.filter(|vector| !vector.is_empty())
        };
        let (before, after) = (non_empty_vector(remove), non_empty_vector(add));
        if before == after {
            return;
        }
        self.has_new_vectors = true;
        let piece = |included, excluded, change| Piece {
            // the `add` action has more information about the file than the `remove` action
            file: ScanFile {
                deletion_vector: None,
                ..add.file.clone()
            },
            rows: PieceRows::Between { included, excluded },
            labels: Labels::All(change, stamp),
        };
        if let Some(after) = after.clone() {
            self.push_removed(piece(after, before.clone(), ChangeType::Delete));
        }
        if let Some(before) = before {
            self.push_new(piece(before, after, ChangeType::Insert));
        }
    }
}

fn has_row_ids(piece: &Piece) -> bool {
    piece.file.base_row_id.is_some() && piece.file.default_row_commit_version.is_some()
}
