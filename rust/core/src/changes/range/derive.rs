//! The changes of a commit to rows, as far as its actions state them: the rows of the files that are new
//! or removed, and the comparison that separates changed rows from rows that were only carried over.
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

/// The way that rows of a commit are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// It changed no row.
    Nothing,
    /// By its change data files.
    ChangeFiles,
    /// By whole files: rows of added ones are new, rows of removed ones are removed.
    Files,
    /// By the differences of deletion vectors, and of whole files where there are any.
    DeletionVectors,
    /// Rows removed and rows added are matched by row id.
    RowTracking,
    /// They are matched by the columns that the caller named.
    Key,
    /// Equal removed and added rows count as carried over.
    Rows,
}

impl Way {
    /// Its name.
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
    pub way: Way,
    pub reason: &'static str,
    pub work: Item,
}

/// Rows that are changed as a whole, or rows that must be compared first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) enum Item {
    /// These rows, in this order.
    Pieces(Vec<Piece>),
    /// The rows of these that are left once those that were carried over are taken away.
    Compare {
        stamp: Stamp,
        removed: Vec<Piece>,
        new: Vec<Piece>,
        way: Way,
    },
}

impl Item {
    /// All of its pieces.
    pub(in crate::changes) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let (first, second): (&[Piece], &[Piece]) = match self {
            Self::Pieces(pieces) => (pieces, &[]),
            Self::Compare { removed, new, .. } => (removed, new),
        };
        first.iter().chain(second)
    }
}

/// Rows removed and rows added.
#[derive(Clone, Debug, Default)]
pub(in crate::changes) struct Sides {
    pub removed: Vec<Piece>,
    pub new: Vec<Piece>,
    /// A file got another vector.
    pub vectors: bool,
    /// A file was added that was not there before.
    pub whole_new: bool,
    /// Every file has what row ids follow from.
    pub row_ids: bool,
}

/// Returns the changes of a commit, every row of it.
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
        let reason = "the commit has change data files: they say what happened";
        return derived(Way::ChangeFiles, reason, Item::Pieces(pieces));
    }
    if commit.info.no_op_merge {
        let reason = "a MERGE that says that it changed no row";
        return derived(Way::Nothing, reason, Item::Pieces(Vec::new()));
    }
    let sides = sides(commit, facts, keys)?;
    if sides.removed.is_empty() && sides.new.is_empty() {
        let reason = "no file was added or removed for the sake of its rows";
        return derived(Way::Nothing, reason, Item::Pieces(Vec::new()));
    }
    let plain = if sides.vectors {
        Way::DeletionVectors
    } else {
        Way::Files
    };
    let rewrites = sides.rewrites();
    if facts.feed || !rewrites {
        let reason = if !rewrites {
            "no file was rewritten"
        } else {
            "the feed is on and the commit has no change data files: all rows of added files are \
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

/// Returns the way that removed and added rows of a commit are distinguished.
fn identity(
    commit: &Commit,
    facts: CommitFacts,
    sides: &Sides,
    has_key: bool,
) -> (Way, &'static str) {
    let kept = commit.info.row_ids_preserved != Some(false);
    if facts.row_tracking && sides.row_ids && kept {
        return (Way::RowTracking, "files were rewritten; rows have ids");
    }
    if has_key {
        return (
            Way::Key,
            "files were rewritten; rows are identified by the key columns",
        );
    }
    let reason = match (facts.row_tracking, kept) {
        (true, false) => {
            "files were rewritten, and the commit says that it did not keep row ids: an update \
             shows as a delete and an insert; `key` would tell them"
        }
        (true, true) => {
            "files were rewritten, and not all of them have row ids: an update shows as a delete \
             and an insert; `key` would tell them"
        }
        (false, _) => {
            "files were rewritten, and nothing says which row is which: an update shows as a \
             delete and an insert; row tracking or `key` would tell them"
        }
    };
    (Way::Rows, reason)
}

/// Returns the changes of a commit for the net outcome of several, with rows identified in this
/// way.
pub(in crate::changes) fn derive_net(
    commit: &Commit,
    facts: CommitFacts,
    keys: &Keys,
    way: Way,
) -> Result<Item> {
    let by_values = matches!(way, Way::Key | Way::Rows);
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

/// The pieces of the change data files.
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

/// The same for these of a commit's actions.
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
    /// Returns `true` if rows were removed and others added, so that some of them may be the same.
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

    /// The same file with another vector: rows that are in one of the two only.
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
                // the action that keeps the file knows more of it than the one that gives it up
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
