//! The changes of a commit to rows, as far as its actions determine them: the rows of added or removed
//! files, and the comparison that separates changed rows from carried-over rows.
//!
//! Protocol: "Add CDC File", "Change Data Files", "Row Tracking"; the reference's rules for commits
//! without change data files.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::commits::{Commit, FileChange, Stamp};
use super::metadata_history::CommitFacts;
use crate::changes::rows::piece::{ChangeType, Labels, Piece, PieceRows};
use crate::error::{Error, Result};
use crate::replay::Keys;
use crate::spec::DeletionVectorDescriptor;

/// The way in which the rows of a commit are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchBy {
    /// The commit changed no row.
    Nothing,
    /// From its change data files.
    ChangeFiles,
    /// From whole files: rows of added files are new, rows of removed files are deleted.
    Files,
    /// From the differences of deletion vectors, and from whole files.
    DeletionVectors,
    /// Removed and added rows are matched by row id.
    RowTracking,
    /// Removed and added rows are matched by the given key columns.
    Key,
    /// Equal removed and added rows count as carried over.
    Rows,
}

impl MatchBy {
    /// Returns its name.
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
pub(in crate::changes) struct Sides {
    pub removed: Vec<Piece>,
    pub new: Vec<Piece>,
    /// True if a file got another vector.
    pub vectors: bool,
    /// True if a new file was added.
    pub whole_new: bool,
    /// True if all rows of all files have ids.
    pub row_ids: bool,
}

/// Returns all changes of a commit.
pub(in crate::changes) fn derive(
    commit: &Commit,
    facts: CommitFacts,
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
    let sides = sides(commit, facts, keys)?;
    if sides.removed.is_empty() && sides.new.is_empty() {
        let reason = "no file was added or removed because of its rows";
        return derived(MatchBy::Nothing, reason, Item::Pieces(Vec::new()));
    }
    let plain = if sides.vectors {
        MatchBy::DeletionVectors
    } else {
        MatchBy::Files
    };
    let rewrites = sides.rewrites();
    if facts.feed || !rewrites {
        let reason = if !rewrites {
            "no file was rewritten"
        } else {
            "the change data feed is enabled and the commit has no change data files: all rows of added files are \
             new, all rows of removed ones are removed"
        };
        let Sides {
            mut removed, new, ..
        } = sides;
        removed.extend(new);
        return derived(plain, reason, Item::Pieces(removed));
    }
    let (way, reason) = identity(commit, facts, &sides, has_key);
    let work = Item::Compare {
        stamp,
        removed: sides.removed,
        new: sides.new,
        way,
    };
    derived(way, reason, work)
}

/// Returns the way in which removed and added rows of a commit are matched.
fn identity(
    commit: &Commit,
    facts: CommitFacts,
    sides: &Sides,
    has_key: bool,
) -> (MatchBy, &'static str) {
    let kept = commit.info.row_ids_preserved != Some(false);
    if facts.row_tracking && sides.row_ids && kept {
        return (MatchBy::RowTracking, "files were rewritten; rows have ids");
    }
    if has_key {
        return (
            MatchBy::Key,
            "files were rewritten; rows are identified by the key columns",
        );
    }
    let reason = match (facts.row_tracking, kept) {
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
    facts: CommitFacts,
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
    let sides = sides(commit, facts, keys)?;
    let rewrites = sides.rewrites();
    let Sides {
        mut removed, new, ..
    } = sides;
    if !rewrites {
        removed.extend(new);
        return Ok(Item::Pieces(removed));
    }
    Ok(Item::Compare {
        stamp: commit.stamp,
        removed,
        new,
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

/// Returns the removed and the added rows, by added and removed files and their vectors.
///
/// # Errors
///
/// Corrupt: `changes.partition_values`, with the file.
pub(in crate::changes) fn sides(commit: &Commit, facts: CommitFacts, keys: &Keys) -> Result<Sides> {
    sides_of(commit.stamp, &commit.adds, &commit.removes, facts, keys)
}

/// Returns the removed and the added rows, as [`sides`], for a part of a commit's actions.
pub(in crate::changes) fn sides_of(
    stamp: Stamp,
    adds: &[FileChange],
    removes: &[FileChange],
    facts: CommitFacts,
    keys: &Keys,
) -> Result<Sides> {
    let mut sides = Sides {
        row_ids: true,
        ..Sides::default()
    };
    let key = |change: &FileChange| keys.key(&change.file.path, None);
    let mut added: HashMap<_, &FileChange> = adds.iter().map(|add| (key(add), add)).collect();
    for remove in removes {
        let again = added.remove(&key(remove));
        if again.is_none() && facts.partitioned && !remove.has_partition_values {
            let message = "the commit that removed this file lacks its partition values, so the removed \
                rows are unknown: read ranges without this version";
            return Err(Error::corrupt("changes.partition_values", message)
                .at_path(remove.file.path.clone())
                .at_version(stamp.version));
        }
        match again {
            None => {
                let piece = Piece::live(remove.file.clone(), ChangeType::Delete, stamp);
                sides.push_removed(piece);
            }
            Some(add) => sides.vectors_differ(remove, add, stamp),
        }
    }
    for add in adds {
        if added.contains_key(&key(add)) {
            sides.whole_new = true;
            sides.push_new(Piece::live(add.file.clone(), ChangeType::Insert, stamp));
        }
    }
    Ok(sides)
}

impl Sides {
    /// Returns `true` if rows were removed and others added, so that some of them may be equal.
    pub(in crate::changes) fn rewrites(&self) -> bool {
        !self.removed.is_empty() && self.whole_new
    }

    fn push_removed(&mut self, piece: Piece) {
        self.row_ids &= has_row_ids(&piece);
        self.removed.push(piece);
    }

    fn push_new(&mut self, piece: Piece) {
        self.row_ids &= has_row_ids(&piece);
        self.new.push(piece);
    }

    /// Adds the rows that are in only one of the two vectors of a file.
    fn vectors_differ(&mut self, remove: &FileChange, add: &FileChange, stamp: Stamp) {
        self.vectors = true;
        let (before, after) = (&remove.file.deletion_vector, &add.file.deletion_vector);
        let full = |vector: &Option<DeletionVectorDescriptor>| {
            vector.clone().filter(|vector| !vector.is_empty())
        };
        let (before, after) = (full(before), full(after));
        if before == after {
            return;
        }
        let piece =
            |of: DeletionVectorDescriptor, but: Option<DeletionVectorDescriptor>, change| {
                // the `add` action has more information about the file than the `remove` action
                let file = crate::scan::ScanFile {
                    deletion_vector: None,
                    ..add.file.clone()
                };
                Piece {
                    file,
                    rows: PieceRows::Between { of, but },
                    labels: Labels::All(change, stamp),
                }
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
