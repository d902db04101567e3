//! Net changes from the states of the table before and after a range, if row tracking identifies the rows in
//! all of its commits.
//!
//! A row keeps its id, and the row commit version is the version that last changed its values. So the net
//! changes follow from the states before and after the range:
//!
//! - Files that are the same in both states, with the same deletion vector, are skipped.
//! - The rows *before* are those removed from files that existed before the range; the rows *after* are those
//!   of files that were added and still exist. A row that exists only before was deleted; one that exists
//!   only after was inserted; one that exists on both sides was updated if its row commit version is in the
//!   range, and moved otherwise.
//! - The last change of a row is its row commit version; for a removed row, it is the commit that removed
//!   it from the last of its files. Files that were added and removed within the range are only read for
//!   these rows.
//!
//! This requires that every commit assigns its own version to the rows that it writes, and restores none.
//! [`EndpointFiles::of`] and [`net`] check that; if it is not the case (a RESTORE, a file that is added
//! again, duplicate ids), `of` returns the reason or `net` returns `None`, and [`crate::changes::net`]
//! follows the rows through all commits.
//!
//! Protocol: "Row Tracking".

use std::collections::{HashMap, HashSet};

use super::Net;
use crate::changes::range::commits::Stamp;
use crate::changes::range::derive::CommitRows;
use crate::changes::rows::piece::{ChangeType, Labels, Piece, PieceRows};
use crate::changes::rows::read::locate_error;
use crate::error::Result;
use crate::replay::{FileActionKey, Keys, Source};
use crate::scan::deletion_vectors::load;
use crate::spec::DeletionVectorDescriptor;

mod deletions;
mod differ;
mod join;
mod matcher;
mod values;

pub(in crate::changes) use join::net;

/// Builds a reason for following rows through all commits.
macro_rules! followed_because {
    ($reason:literal) => {
        concat!(
            "all changed rows have ids, but are followed through every commit: ",
            $reason
        )
    };
}

pub(in crate::changes) const SHORT_LIVED_ROWS: &str =
    followed_because!("rows that were inserted and deleted within the range exist at neither end");
pub(in crate::changes) const NO_IDS: &str =
    followed_because!("a commit moved rows without keeping their ids");
pub(in crate::changes) const RESTORED_ROWS: &str =
    followed_because!("deleted rows of a file were restored");
const REPEATED_FILE: &str = followed_because!("a file was added or removed more than once");
const FILE_ADDED_AGAIN: &str =
    followed_because!("a commit added a file of an earlier commit again, as RESTORE does");
const MOVED_NOWHERE: &str =
    followed_because!("a commit that only moved rows removed some from a file and added no file");
const OTHER_VECTOR: &str =
    followed_because!("a file was removed with a deletion vector other than its latest");
const ORDER: &str = followed_because!("ids of new rows are not larger than those of existing rows");
const NO_FILES: &str =
    followed_because!("the files of a commit do not show which rows were removed and added");

/// The maximum number of pairs of deletion vectors held at once.
const MAX_VECTOR_PAIRS: usize = 256;

/// The files whose rows differ before and after a range, and the commits that changed rows.
pub(in crate::changes) struct EndpointFiles {
    /// Files that existed before and lost rows, and files that were added and still exist, each once, in
    /// the order of the commits that first removed rows from them or added them.
    pieces: Vec<(Presence, Piece)>,
    /// Rows removed from files added in the range, oldest first.
    removed_within: Vec<Piece>,
    /// Files whose deletion vector was replaced: the rows that are only in the earlier vector were restored;
    /// there must be none.
    restored: Vec<Piece>,
    /// The commits that changed rows, oldest first.
    stamps: Vec<Stamp>,
    /// The first version of the range.
    first: u64,
    /// Rows added in the range have at least this id, all other rows a lower one.
    first_new_id: i64,
}

/// The side of the range on which the rows of a file exist.
#[derive(Clone, Debug)]
enum Presence {
    /// Before: the rows removed from the file, in these steps.
    Before(Vec<RemovedRows>),
    /// After: the rows of an added file.
    After,
}

/// Rows removed from a file that existed before the range.
#[derive(Clone, Debug)]
struct RemovedRows {
    /// The rows of this deletion vector that were not removed earlier; `None` for all remaining rows.
    vector: Option<DeletionVectorDescriptor>,
    version: u64,
    /// They were moved to another file, which is not a change.
    moved: bool,
}

/// Returns `true` if this kind depends on the rows before; for the others, ascending row ids suffice.
fn needs_before(kind: Net) -> bool {
    matches!(kind, Net::MinDelta | Net::Upsert { deleted: true })
}

pub(in crate::changes) fn suffice(kind: Net) -> bool {
    kind != Net::AppendOnly { deleted: true }
}

impl EndpointFiles {
    /// Determines the files from the rows that each commit changed and those that it moved, both oldest
    /// first; returns the reason if the endpoints do not suffice.
    pub(in crate::changes) fn of(
        commits: &[(Stamp, CommitRows)],
        moves: &[(Stamp, CommitRows)],
        keys: &Keys,
    ) -> Result<Self, &'static str> {
        let mut planner = Planner {
            keys,
            pieces: Vec::new(),
            added: HashMap::new(),
            before: HashMap::new(),
            whole_files: HashSet::new(),
            removed_within: Vec::new(),
            restored: Vec::new(),
            max_old_id: i64::MIN,
            first_new_id: i64::MAX,
        };
        let mut moves = moves.iter().peekable();
        let mut stamps = Vec::new();
        for (stamp, commit_rows) in commits {
            while let Some((_, moved)) = moves.next_if(|(at, _)| at.version <= stamp.version) {
                planner.step(moved, true)?;
            }
            if commit_rows.pieces().next().is_some() {
                stamps.push(*stamp);
                planner.step(commit_rows, false)?;
            }
        }
        let (first, _) = commits.first().ok_or(NO_FILES)?;
        if moves.next().is_some() {
            return Err(NO_FILES);
        }
        if planner.max_old_id >= planner.first_new_id {
            return Err(ORDER);
        }
        Ok(Self {
            pieces: planner.pieces.into_iter().flatten().collect(),
            removed_within: planner.removed_within,
            restored: planner.restored,
            stamps,
            first: first.version,
            first_new_id: planner.first_new_id,
        })
    }

    /// Returns the commit of a row commit version, if it is one of those that changed rows.
    fn stamp(&self, version: u64) -> Option<Stamp> {
        let at = self
            .stamps
            .binary_search_by_key(&version, |stamp| stamp.version)
            .ok()?;
        self.stamps.get(at).copied()
    }

    /// Returns `true` if a deleted row of a file was restored; otherwise deletion vectors only grow.
    pub(in crate::changes) fn restores_rows(&self, source: &Source) -> Result<bool> {
        for pieces in self.restored.chunks(MAX_VECTOR_PAIRS) {
            let mut vectors = Vec::with_capacity(2 * pieces.len());
            for piece in pieces {
                let PieceRows::Between {
                    included: earlier,
                    excluded: Some(later),
                } = &piece.rows
                else {
                    return Ok(true);
                };
                if earlier.cardinality() > later.cardinality() {
                    return Ok(true);
                }
                vectors.extend([earlier.clone(), later.clone()]);
            }
            let loaded = load(&source.storage, &source.resolver, &vectors);
            let mut loaded = loaded.into_iter();
            for piece in pieces {
                let (Some(earlier), Some(later)) = (loaded.next(), loaded.next()) else {
                    return Ok(true);
                };
                let at = |error| locate_error(error, piece);
                let (earlier, later) = (earlier.map_err(at)?, later.map_err(at)?);
                if !earlier.difference(&later)?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Tracks files, not rows, from commit to commit.
struct Planner<'a> {
    keys: &'a Keys,
    /// `None` for files that were removed again.
    pieces: Vec<Option<(Presence, Piece)>>,
    /// The index in `pieces` of each added file.
    added: HashMap<FileActionKey, usize>,
    /// The index in `pieces` of each file that existed before and lost rows.
    before: HashMap<FileActionKey, usize>,
    /// Files that were added or removed as a whole.
    whole_files: HashSet<FileActionKey>,
    removed_within: Vec<Piece>,
    restored: Vec<Piece>,
    /// The highest `baseRowId` of a file that existed before.
    max_old_id: i64,
    /// The lowest `baseRowId` of an added file.
    first_new_id: i64,
}

impl Planner<'_> {
    fn step(&mut self, commit_rows: &CommitRows, moved: bool) -> Result<(), &'static str> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for piece in commit_rows.pieces() {
            match piece.labels {
                Labels::All(ChangeType::Delete, _) => removed.push(piece),
                Labels::All(ChangeType::Insert, _) => added.push(piece),
                _ => return Err(NO_FILES),
            }
        }
        if moved && !removed.is_empty() && added.is_empty() {
            return Err(MOVED_NOWHERE);
        }
        for piece in &removed {
            self.remove(piece, moved)?;
        }
        for piece in added {
            self.add(piece, moved, !removed.is_empty())?;
        }
        Ok(())
    }

    fn remove(&mut self, piece: &Piece, moved: bool) -> Result<(), &'static str> {
        let key = self.keys.key(&piece.file.path, None);
        match self.added.get(&key).copied() {
            None => self.remove_earlier(key, piece, moved)?,
            Some(at) => {
                let entry = self.pieces.get_mut(at).ok_or(REPEATED_FILE)?;
                match &piece.rows {
                    PieceRows::Between { included, .. } => {
                        let (_, file) = entry.as_mut().ok_or(REPEATED_FILE)?;
                        file.file.deletion_vector = Some(included.clone());
                    }
                    _ => {
                        *entry = None;
                        self.added.remove(&key);
                    }
                }
                if !moved {
                    self.removed_within.push(piece.clone());
                }
            }
        }
        Ok(())
    }

    /// Records the removal of rows from a file that existed before the range.
    fn remove_earlier(
        &mut self,
        key: FileActionKey,
        piece: &Piece,
        moved: bool,
    ) -> Result<(), &'static str> {
        let vector = match &piece.rows {
            PieceRows::Live => None,
            PieceRows::Between { included, .. } => Some(included.clone()),
            PieceRows::Only(_) | PieceRows::Read(_) => return Err(NO_FILES),
        };
        if vector.is_none() && !self.whole_files.insert(key) {
            return Err(REPEATED_FILE);
        }
        self.max_old_id = self.max_old_id.max(piece.file.base_row_id.ok_or(NO_IDS)?);
        let removal = RemovedRows {
            vector,
            version: piece.version().ok_or(NO_FILES)?,
            moved,
        };
        let Some(at) = self.before.get(&key) else {
            self.before.insert(key, self.pieces.len());
            let entry = (Presence::Before(vec![removal]), piece.clone());
            self.pieces.push(Some(entry));
            return Ok(());
        };
        let earlier = self.pieces.get_mut(*at).and_then(Option::as_mut);
        let (presence, earlier) = earlier.ok_or(REPEATED_FILE)?;
        let (Presence::Before(steps), PieceRows::Between { included, excluded }) =
            (presence, &mut earlier.rows)
        else {
            return Err(REPEATED_FILE);
        };
        let vector = piece.file.deletion_vector.as_ref();
        let vector = vector.filter(|vector| !vector.is_empty());
        match &piece.rows {
            PieceRows::Between {
                included: later,
                excluded: Some(current),
            } if current == included => *included = later.clone(),
            PieceRows::Live if vector == Some(&*included) => {
                earlier.file.deletion_vector = excluded.take();
                earlier.rows = PieceRows::Live;
            }
            _ => return Err(OTHER_VECTOR),
        }
        steps.push(removal);
        Ok(())
    }

    fn add(&mut self, piece: &Piece, moved: bool, has_removed: bool) -> Result<(), &'static str> {
        if !matches!(piece.rows, PieceRows::Live) {
            self.restored.push(piece.clone());
            return if moved { Err(RESTORED_ROWS) } else { Ok(()) };
        }
        let key = self.keys.key(&piece.file.path, None);
        let file = &piece.file;
        if moved {
            if let Some(at) = self.added.get(&key) {
                // added again, possibly with other statistics
                let earlier = self.pieces.get(*at).and_then(Option::as_ref);
                let (_, earlier) = earlier.ok_or(REPEATED_FILE)?;
                let same = earlier.file.base_row_id == file.base_row_id
                    && earlier.file.deletion_vector == file.deletion_vector;
                return if same { Ok(()) } else { Err(REPEATED_FILE) };
            }
            if !has_removed {
                return Ok(()); // a file that existed before was added again
            }
        } else {
            let version = piece
                .version()
                .and_then(|version| i64::try_from(version).ok());
            if file.default_row_commit_version != version {
                return Err(FILE_ADDED_AGAIN);
            }
        }
        if !self.whole_files.insert(key) {
            return Err(REPEATED_FILE);
        }
        self.first_new_id = self.first_new_id.min(file.base_row_id.ok_or(NO_IDS)?);
        self.added.insert(key, self.pieces.len());
        let piece = piece.clone();
        self.pieces.push(Some((Presence::After, piece)));
        Ok(())
    }
}
