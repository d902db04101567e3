//! Net changes from the first and the last version of a range, if row tracking identifies rows in all of
//! its commits.
//!
//! A row keeps its id, and the row commit version is the version that last changed its values. So the net
//! changes follow from the states before and after the range:
//!
//! - Files that are the same in both states, with the same deletion vector, are skipped.
//! - *Before* are the rows removed from files that existed before the range, *now* the rows of files that
//!   were added and still exist. A row that is only before was removed; a row that is only now is new; a
//!   row that is both was changed if its row commit version is in the range, and moved otherwise.
//! - The last change of a row is its row commit version; for a removed row, it is the commit that removed
//!   it from the last of its files. Files that were added and removed within the range are only read for
//!   these rows.
//!
//! This requires that every commit assigns its own version to the rows that it writes, and restores none.
//! [`RangeBounds::of`] and [`net`] check that; if it is not the case (a RESTORE, a file that is added
//! again, duplicate ids), they return the reason, and [`crate::changes::net`] follows the rows through all
//! commits.
//!
//! Protocol: "Row Tracking".

use std::collections::{HashMap, HashSet};

use super::Net;
use crate::changes::range::commits::Stamp;
use crate::changes::range::derive::Item;
use crate::changes::rows::piece::{ChangeType, Labels, Piece, PieceRows};
use crate::error::Result;
use crate::replay::{FileActionKey, Keys, Source};
use crate::scan::deletion_vectors::load;
use crate::spec::DeletionVectorDescriptor;

mod deletions;
mod differ;
mod join;
mod matched;
mod values;

pub(in crate::changes) use join::net;

/// Builds a reason for following rows through all commits.
macro_rules! followed {
    ($why:literal) => {
        concat!(
            "rows have ids in every commit of the range, but are followed through every commit: ",
            $why
        )
    };
}

pub(in crate::changes) const SHORT_LIVED_ROWS: &str =
    followed!("rows that were inserted and deleted within the range exist at neither end");
pub(in crate::changes) const NO_IDS: &str =
    followed!("a commit moved rows and does not record their ids");
pub(in crate::changes) const RESTORED_ROWS: &str =
    followed!("deleted rows of a file were restored");
const REPEATED_FILE: &str = followed!("a file was added or removed more than once");
const FILE_ADDED_AGAIN: &str =
    followed!("a commit added a file of an earlier commit again, as RESTORE does");
const MOVED_NOWHERE: &str =
    followed!("a commit that changed no rows removed some from a file and added them to none");
const OTHER_VECTOR: &str =
    followed!("a file was removed with a different deletion vector than the log gave it last");
const ORDER: &str = followed!("ids of new rows are not larger than those of existing rows");
const NO_FILES: &str =
    followed!("the files of a commit do not show which rows were removed and added");

/// The maximum number of pairs of vectors held at once.
const VECTORS: usize = 256;

/// The files of the first and the last version of a range.
pub(in crate::changes) struct RangeBounds {
    /// Files that existed before and lost rows, and files that were added and still exist, each once, in
    /// the order of the commits that first removed rows of them or added them.
    pieces: Vec<(Presence, Piece)>,
    /// Rows removed from files added in the range, oldest first.
    passed: Vec<Piece>,
    /// Rows that are no longer in a vector: there must be none.
    back: Vec<Piece>,
    /// The commits that changed rows, oldest first.
    stamps: Vec<Stamp>,
    /// The first version of the range.
    first: u64,
    /// Rows added in the range have at least this id, all others a lower one.
    fresh: i64,
}

/// The side of the range on which the rows of a file exist.
#[derive(Clone, Debug)]
enum Presence {
    /// Before: the rows that left the file, in these steps.
    Before(Vec<RemovedRows>),
    /// Now: the rows of an added file.
    Now,
}

/// Rows that left a file that existed before the range.
#[derive(Clone, Debug)]
struct RemovedRows {
    /// The rows of this vector that had not left earlier; `None` for all remaining rows.
    vector: Option<DeletionVectorDescriptor>,
    version: u64,
    /// They were moved to another file, which is not a change.
    moved: bool,
}

/// Returns `true` if this kind depends on the rows before; for the others, ascending row ids suffice.
fn needs_before(kind: Net) -> bool {
    matches!(kind, Net::MinDelta | Net::Upsert { deleted: true })
}

/// Returns `true` if the endpoints suffice for this kind.
pub(in crate::changes) fn are_enough(kind: Net) -> bool {
    kind != Net::AppendOnly { deleted: true }
}

impl RangeBounds {
    /// Builds the endpoints from the changes of each commit to rows, and from the rows that it
    /// moved, both oldest first; returns the reason if the bounds do not suffice.
    pub(in crate::changes) fn of(
        commits: &[(Stamp, Item)],
        moves: &[(Stamp, Item)],
        keys: &Keys,
    ) -> Result<Self, &'static str> {
        let mut planner = Planner {
            keys,
            pieces: Vec::new(),
            added: HashMap::new(),
            before: HashMap::new(),
            seen: HashSet::new(),
            passed: Vec::new(),
            back: Vec::new(),
            oldest: i64::MIN,
            fresh: i64::MAX,
        };
        let mut moves = moves.iter().peekable();
        let mut stamps = Vec::new();
        for (stamp, item) in commits {
            while let Some((_, moved)) = moves.next_if(|(at, _)| at.version <= stamp.version) {
                planner.step(moved, true)?;
            }
            if item.pieces().next().is_some() {
                stamps.push(*stamp);
                planner.step(item, false)?;
            }
        }
        let (first, _) = commits.first().ok_or(NO_FILES)?;
        if moves.next().is_some() {
            return Err(NO_FILES);
        }
        if planner.oldest >= planner.fresh {
            return Err(ORDER);
        }
        Ok(Self {
            pieces: planner.pieces.into_iter().flatten().collect(),
            passed: planner.passed,
            back: planner.back,
            stamps,
            first: first.version,
            fresh: planner.fresh,
        })
    }

    /// Returns the commit of a row commit version, if it is one of those that changed rows.
    fn stamp(&self, version: i64) -> Option<Stamp> {
        let version = u64::try_from(version).ok()?;
        let at = self
            .stamps
            .binary_search_by_key(&version, |stamp| stamp.version)
            .ok()?;
        self.stamps.get(at).copied()
    }

    /// Returns `true` if a row was restored to its file; otherwise vectors only grow.
    pub(in crate::changes) fn brings_rows_back(&self, source: &Source) -> Result<bool> {
        for pieces in self.back.chunks(VECTORS) {
            let mut vectors = Vec::with_capacity(2 * pieces.len());
            for piece in pieces {
                let PieceRows::Between { of, but: Some(but) } = &piece.rows else {
                    return Ok(true);
                };
                if of.cardinality() > but.cardinality() {
                    return Ok(true);
                }
                vectors.extend([of.clone(), but.clone()]);
            }
            let loaded = load(&source.storage, &source.resolver, &vectors);
            let mut loaded = loaded.into_iter();
            for piece in pieces {
                let (Some(of), Some(but)) = (loaded.next(), loaded.next()) else {
                    return Ok(true);
                };
                let locate_error = |error| crate::changes::rows::read::locate_error(error, piece);
                let (of, but) = (of.map_err(locate_error)?, but.map_err(locate_error)?);
                if !of.difference(&but)?.is_empty() {
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
    seen: HashSet<FileActionKey>,
    passed: Vec<Piece>,
    back: Vec<Piece>,
    /// The highest `baseRowId` of a file that existed before.
    oldest: i64,
    /// The lowest `baseRowId` of an added file.
    fresh: i64,
}

impl Planner<'_> {
    fn step(&mut self, item: &Item, moved: bool) -> Result<(), &'static str> {
        let is_removed =
            |piece: &&Piece| matches!(piece.labels, Labels::All(ChangeType::Delete, _));
        let is_added = |piece: &&Piece| matches!(piece.labels, Labels::All(ChangeType::Insert, _));
        if !item
            .pieces()
            .all(|piece| is_removed(&piece) || is_added(&piece))
        {
            return Err(NO_FILES);
        }
        let (some_removed, some_added) = (
            item.pieces().any(|piece| is_removed(&piece)),
            item.pieces().any(|piece| is_added(&piece)),
        );
        if moved && some_removed && !some_added {
            return Err(MOVED_NOWHERE);
        }
        for piece in item.pieces().filter(is_removed) {
            self.remove(piece, moved)?;
        }
        for piece in item.pieces().filter(is_added) {
            self.add(piece, moved, some_removed)?;
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
                    PieceRows::Between { of, .. } => {
                        let (_, known) = entry.as_mut().ok_or(REPEATED_FILE)?;
                        known.file.deletion_vector = Some(of.clone());
                    }
                    _ => {
                        *entry = None;
                        self.added.remove(&key);
                    }
                }
                if !moved {
                    self.passed.push(piece.clone());
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
            PieceRows::Between { of, .. } => Some(of.clone()),
            PieceRows::Only(_) | PieceRows::Read(_) => return Err(NO_FILES),
        };
        if vector.is_none() && !self.seen.insert(key) {
            return Err(REPEATED_FILE);
        }
        self.oldest = self.oldest.max(piece.file.base_row_id.ok_or(NO_IDS)?);
        let leaving = RemovedRows {
            vector,
            version: piece.version().ok_or(NO_FILES)?,
            moved,
        };
        let Some(at) = self.before.get(&key) else {
            self.before.insert(key, self.pieces.len());
            let entry = (Presence::Before(vec![leaving]), piece.clone());
            self.pieces.push(Some(entry));
            return Ok(());
        };
        let known = self.pieces.get_mut(*at).and_then(Option::as_mut);
        let (presence, known) = known.ok_or(REPEATED_FILE)?;
        let (Presence::Before(steps), PieceRows::Between { of, but }) = (presence, &mut known.rows)
        else {
            return Err(REPEATED_FILE);
        };
        let full = |vector: &Option<DeletionVectorDescriptor>| {
            vector.clone().filter(|vector| !vector.is_empty())
        };
        match &piece.rows {
            PieceRows::Between {
                of: later,
                but: Some(same),
            } if same == of => *of = later.clone(),
            PieceRows::Live if full(&piece.file.deletion_vector).as_ref() == Some(of) => {
                known.file.deletion_vector = but.take();
                known.rows = PieceRows::Live;
            }
            _ => return Err(OTHER_VECTOR),
        }
        steps.push(leaving);
        Ok(())
    }

    fn add(&mut self, piece: &Piece, moved: bool, some_removed: bool) -> Result<(), &'static str> {
        if !matches!(piece.rows, PieceRows::Live) {
            self.back.push(piece.clone());
            return if moved { Err(RESTORED_ROWS) } else { Ok(()) };
        }
        let key = self.keys.key(&piece.file.path, None);
        let file = &piece.file;
        if moved {
            if let Some(at) = self.added.get(&key) {
                // added again, possibly with other statistics
                let known = self.pieces.get(*at).and_then(Option::as_ref);
                let (_, known) = known.ok_or(REPEATED_FILE)?;
                let known = &known.file;
                let same = known.base_row_id == file.base_row_id
                    && known.deletion_vector == file.deletion_vector;
                return if same { Ok(()) } else { Err(REPEATED_FILE) };
            }
            if !some_removed {
                return Ok(()); // the same for a file that existed before
            }
        } else {
            let version = piece
                .version()
                .and_then(|version| i64::try_from(version).ok());
            if file.default_row_commit_version != version {
                return Err(FILE_ADDED_AGAIN);
            }
        }
        if !self.seen.insert(key) {
            return Err(REPEATED_FILE);
        }
        self.fresh = self.fresh.min(file.base_row_id.ok_or(NO_IDS)?);
        self.added.insert(key, self.pieces.len());
        let piece = piece.clone();
        self.pieces.push(Some((Presence::Now, piece)));
        Ok(())
    }
}
