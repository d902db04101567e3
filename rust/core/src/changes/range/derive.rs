//! Derives the changes of a commit to rows from its actions: the rows of added or removed files, and the
//! comparison that must separate changed rows from carried-over rows.
//!
//! Protocol: "Add CDC File", "Change Data Files", "Row Tracking"; the reference's rules for commits
//! without change data files.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::commits::{Commit, FileChange, Stamp};
use super::metadata_history::CommitSettings;
use crate::changes::rows::piece::{ChangeType, Labels, Piece, PieceRows};
use crate::error::{Error, Result};
use crate::replay::Keys;
use crate::scan::ScanFile;
use crate::spec::DeletionVectorDescriptor;

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

/// The changes of a commit.
#[derive(Clone, Debug)]
pub(in crate::changes) struct Derived {
    pub stamp: Stamp,
    pub way: MatchBy,
    pub reason: &'static str,
    pub work: Item,
}

/// Pieces that need no comparison, or pieces whose rows must be compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) enum Item {
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

impl Item {
    /// Returns all of its pieces.
    pub(in crate::changes) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let (first, second): (&[Piece], &[Piece]) = match self {
            Self::Pieces(pieces) => (pieces, &[]),
            Self::Compare { removed, new, .. } => (removed, new),
        };
        first.iter().chain(second)
    }
}

/// The removed and the added rows.
#[derive(Clone, Debug, Default)]
pub(in crate::changes) struct RowChanges {
    pub removed: Vec<Piece>,
    pub new: Vec<Piece>,
    /// True if a file got another deletion vector.
    pub has_new_vectors: bool,
    /// True if a new file was added.
    pub has_new_files: bool,
    /// True if all rows of all files have ids.
    pub row_ids: bool,
}

/// Returns all changes of a commit.
pub(in crate::changes) fn derive(
    commit: &Commit,
    settings: CommitSettings,
    keys: &Keys,
    has_key: bool,
) -> Result<Derived> {
    let stamp = commit.stamp;
    let derived = |way, reason, work| {
        Ok(Derived {
            stamp,
            way,
            reason,
            work,
        })
    };
    if !commit.change_files.is_empty() {
        let pieces = change_files(commit);
        let reason = "the commit has change data files";
        return derived(MatchBy::ChangeFiles, reason, Item::Pieces(pieces));
    }
    if commit.info.no_op_merge {
        let reason = "a MERGE that changed no row, according to its metrics";
        return derived(MatchBy::Nothing, reason, Item::Pieces(Vec::new()));
    }
    let changes = row_changes(commit, settings, keys)?;
    if changes.removed.is_empty() && changes.new.is_empty() {
        let reason = "no file was added or removed because of its rows";
        return derived(MatchBy::Nothing, reason, Item::Pieces(Vec::new()));
    }
    let way = if changes.has_new_vectors {
        MatchBy::DeletionVectors
    } else {
        MatchBy::Files
    };
    let rewrites = changes.rewrites();
    if settings.feed || !rewrites {
        let reason = if !rewrites {
            "no file was rewritten"
        } else {
            "the change data feed is enabled and the commit has no change data files: all rows of added files are \
             new, all rows of removed ones are removed"
        };
        return derived(way, reason, Item::Pieces(changes.into_pieces()));
    }
    let (way, reason) = identity(commit, settings, &changes, has_key);
    let work = Item::Compare {
        stamp,
        removed: changes.removed,
        new: changes.new,
        way,
    };
    derived(way, reason, work)
}

/// Returns the way in which removed and added rows of a commit are matched.
fn identity(
    commit: &Commit,
    settings: CommitSettings,
    changes: &RowChanges,
    has_key: bool,
) -> (MatchBy, &'static str) {
    let preserved = commit.info.row_ids_preserved != Some(false);
    if settings.row_tracking && changes.row_ids && preserved {
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

/// Returns the changes of a commit for a net outcome, with rows identified in this way.
pub(in crate::changes) fn derive_net(
    commit: &Commit,
    settings: CommitSettings,
    keys: &Keys,
    way: MatchBy,
) -> Result<Item> {
    let by_values = matches!(way, MatchBy::Key | MatchBy::Rows);
    if by_values && !commit.change_files.is_empty() {
        return Ok(Item::Pieces(change_files(commit)));
    }
    if commit.info.no_op_merge {
        return Ok(Item::Pieces(Vec::new()));
    }
    let changes = row_changes(commit, settings, keys)?;
    if !changes.rewrites() {
        return Ok(Item::Pieces(changes.into_pieces()));
    }
    Ok(Item::Compare {
        stamp: commit.stamp,
        removed: changes.removed,
        new: changes.new,
        way,
    })
}

/// Returns the pieces of the change data files.
pub(super) fn change_files(commit: &Commit) -> Vec<Piece> {
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
///
/// # Errors
///
/// Corrupt: `changes.partition_values`, with the file.
pub(in crate::changes) fn row_changes(
    commit: &Commit,
    settings: CommitSettings,
    keys: &Keys,
) -> Result<RowChanges> {
    row_changes_of(commit.stamp, &commit.adds, &commit.removes, settings, keys)
}

/// Returns the removed and the added rows, as [`row_changes`], for some actions of a commit.
pub(in crate::changes) fn row_changes_of(
    stamp: Stamp,
    adds: &[FileChange],
    removes: &[FileChange],
    settings: CommitSettings,
    keys: &Keys,
) -> Result<RowChanges> {
    let mut changes = RowChanges {
        row_ids: true,
        ..RowChanges::default()
    };
    let key = |change: &FileChange| keys.key(&change.file.path, None);
    let mut added: HashMap<_, &FileChange> = adds.iter().map(|add| (key(add), add)).collect();
    for remove in removes {
        let readded = added.remove(&key(remove));
        if readded.is_none() && settings.partitioned && !remove.has_partition_values {
            let message = "the commit that removed this file lacks its partition values, so the removed \
                rows are unknown: read ranges without this version";
            return Err(Error::corrupt("changes.partition_values", message)
                .at_path(remove.file.path.clone())
                .at_version(stamp.version));
        }
        match readded {
            None => {
                let piece = Piece::live(remove.file.clone(), ChangeType::Delete, stamp);
                changes.push_removed(piece);
            }
            Some(add) => changes.push_vector_difference(remove, add, stamp),
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

    /// Returns `true` if rows were removed and others added, so some of them may be equal.
    pub(in crate::changes) fn rewrites(&self) -> bool {
        !self.removed.is_empty() && self.has_new_files
    }

    fn push_removed(&mut self, piece: Piece) {
        self.row_ids &= has_row_ids(&piece);
        self.removed.push(piece);
    }

    fn push_new(&mut self, piece: Piece) {
        self.row_ids &= has_row_ids(&piece);
        self.new.push(piece);
    }

    /// Adds the rows that are in only one of two deletion vectors of a file.
    fn push_vector_difference(&mut self, remove: &FileChange, add: &FileChange, stamp: Stamp) {
        self.has_new_vectors = true;
        let (before, after) = (&remove.file.deletion_vector, &add.file.deletion_vector);
        let non_empty = |vector: &Option<DeletionVectorDescriptor>| {
            vector.clone().filter(|vector| !vector.is_empty())
        };
        let (before, after) = (non_empty(before), non_empty(after));
        if before == after {
            return;
        }
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
