//! The net outcome of a range of commits: at most one change for each row.
//!
//! All commits are read, oldest first, as identities and positions of rows; about 100 bytes are held for
//! each changed row. If there are too many rows, the work is split in halves by identity. Values are
//! not held: those of reported rows are read at the end. If rows have ids, [`endpoints`] usually suffices.

pub(super) mod compare;
pub(super) mod endpoints;
pub(super) mod identify;
pub(super) mod runs;
pub(super) mod shuffle;

use std::collections::HashMap;
use std::sync::Arc;

use super::range::commits::Stamp;
use super::range::derive::{CommitRows, MatchBy};
use super::rows::piece::{ChangeType, Labels, Piece, PieceRows};
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use compare::{Compared, Differences, IdentityMap, LabelledPieces, differences, duplicate_rows};
use identify::{IdentifiedRow, RowIdentity, Share, ShareReader};

/// The kind of net changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Net {
    /// The difference between the first and the last state.
    MinDelta,
    /// Inserted and updated rows that still exist, with their last values.
    Upsert {
        /// Also return rows that existed before and were removed.
        deleted: bool,
    },
    /// Inserted rows, with their last values.
    AppendOnly {
        /// Also return inserted rows that were removed again.
        deleted: bool,
    },
}

/// The place where the values of a row are stored, and the commit that added or removed the row.
#[derive(Clone, Copy)]
struct RowPosition {
    /// The index of the piece.
    piece: u32,
    /// The index of the commit.
    commit: u32,
    /// The position in the file of the piece.
    row: u64,
}

const NONE: u32 = u32::MAX;

/// The positions of a row before the range and at its end; those of all equal rows, if only their values
/// identify them.
#[derive(Clone, Copy)]
struct Outcome {
    /// The position before the range: the head of a chain of positions.
    before: u32,
    /// The position at the end, likewise.
    after: u32,
    /// The last position of a row that was added and removed within the range; of equal rows, all such
    /// positions.
    transient: u32,
    /// The index of the commit that last changed the row; `NONE` for equal rows, each of which was changed
    /// once, in the commit of its position.
    commit: u32,
}

/// The outcomes of all rows so far, commit by commit.
pub(super) struct Outcomes {
    way: MatchBy,
    outcomes: IdentityMap<Outcome>,
    positions: Vec<(RowPosition, u32)>,
}

impl Outcome {
    const EMPTY: Self = Self {
        before: NONE,
        after: NONE,
        transient: NONE,
        commit: NONE,
    };
}

/// Prepends a position to a chain; returns its new head.
fn push(
    positions: &mut Vec<(RowPosition, u32)>,
    row: &IdentifiedRow,
    base: u32,
    commit: u32,
    next: u32,
) -> u32 {
    let position = RowPosition {
        piece: row.piece.saturating_add(base),
        commit,
        row: row.row,
    };
    positions.push((position, next));
    u32::try_from(positions.len() - 1).unwrap_or(NONE)
}

/// Returns `true` if only its values identify a row.
fn by_values(way: MatchBy, row: &IdentifiedRow) -> bool {
    way == MatchBy::Rows || (way == MatchBy::Key && row.has_null_key())
}

impl Outcomes {
    pub(super) fn new(way: MatchBy) -> Self {
        Self {
            way,
            outcomes: IdentityMap::default(),
            positions: Vec::new(),
        }
    }

    /// Adds the changes of a commit, without carried-over rows; `base` is the index of the first piece of the
    /// rows, `commit` the index of the commit.
    fn step(&mut self, differences: &Differences, base: u32, commit: u32) -> Result<()> {
        for row in &differences.removed {
            self.remove(row, base, commit)?;
        }
        for row in &differences.added {
            self.add(row, base, commit)?;
        }
        Ok(())
    }

    /// Drops rows whose positions before and at the end hold equal values.
    pub(super) fn drop_equal(&mut self, equal: impl Fn((u32, u64), (u32, u64)) -> bool) {
        let positions = &self.positions;
        let row_of = |at: u32| {
            let (position, _) = positions.get(at as usize)?;
            Some((position.piece, position.row))
        };
        self.outcomes.retain(
            |_, outcome| match (row_of(outcome.before), row_of(outcome.after)) {
                (Some(before), Some(after)) => !equal(before, after),
                _ => true,
            },
        );
    }

    fn remove(&mut self, row: &IdentifiedRow, base: u32, commit: u32) -> Result<()> {
        let by_values = by_values(self.way, row);
        let entry = self.outcomes.entry(row.identity);
        let outcome = entry.or_insert(Outcome::EMPTY);
        if !by_values {
            outcome.commit = commit;
        }
        if let Some((_, next)) = self.positions.get_mut(outcome.after as usize) {
            let removed = std::mem::replace(&mut outcome.after, *next);
            if by_values {
                *next = std::mem::replace(&mut outcome.transient, removed);
            } else if outcome.before == NONE {
                outcome.transient = removed;
            }
            return Ok(());
        }
        let is_duplicate = outcome.before != NONE || outcome.transient != NONE;
        if is_duplicate && !by_values {
            return Err(duplicate_rows(self.way));
        }
        outcome.before = push(&mut self.positions, row, base, commit, outcome.before);
        Ok(())
    }

    fn add(&mut self, row: &IdentifiedRow, base: u32, commit: u32) -> Result<()> {
        let entry = self.outcomes.entry(row.identity);
        let outcome = entry.or_insert(Outcome::EMPTY);
        if by_values(self.way, row) {
            if let Some((_, next)) = self.positions.get(outcome.before as usize) {
                // an equal row was removed before
                outcome.before = *next;
                return Ok(());
            }
        } else {
            outcome.commit = commit;
            if outcome.after != NONE {
                return Err(duplicate_rows(self.way));
            }
        }
        outcome.after = push(&mut self.positions, row, base, commit, outcome.after);
        Ok(())
    }

    fn len(&self) -> usize {
        self.positions.len()
    }
}

/// Returns the net outcome of a range, for one share of the rows.
pub(super) fn net(
    reader: ShareReader<'_>,
    kind: Net,
    commits: &[(Stamp, CommitRows)],
) -> Result<Compared> {
    let mut outcome_reader = OutcomeReader {
        reader,
        outcomes: Outcomes::new(reader.identity.way),
        pieces: Vec::new(),
        stamps: Vec::new(),
    };
    let mut run: Vec<Piece> = Vec::new();
    for (stamp, commit_rows) in commits {
        match commit_rows {
            // commits that need no comparison are read in parallel
            CommitRows::Pieces(more) => run.extend(more.iter().cloned()),
            CommitRows::Compare { removed, new, .. } => {
                let before = std::mem::take(&mut run);
                if !outcome_reader.read(before)? || !outcome_reader.compare(removed, new, *stamp)? {
                    return Ok(Compared::TooMany);
                }
            }
        }
        outcome_reader.stamps.push(*stamp);
        if outcome_reader.outcomes.len() > reader.max_rows() {
            return Ok(Compared::TooMany);
        }
    }
    if !outcome_reader.read(run)? {
        return Ok(Compared::TooMany);
    }
    let OutcomeReader {
        mut outcomes,
        pieces,
        stamps,
        ..
    } = outcome_reader;
    if kind == Net::MinDelta && reader.identity.way != MatchBy::Rows {
        drop_unchanged(reader, &mut outcomes, &pieces)?;
    }
    reported_pieces(&outcomes, kind, pieces, &stamps).map(Compared::Pieces)
}

/// Reads the outcomes of the rows of one share, commit by commit.
struct OutcomeReader<'a> {
    reader: ShareReader<'a>,
    outcomes: Outcomes,
    /// All pieces so far, by their indexes in the outcomes.
    pieces: Vec<Piece>,
    /// The commits so far, by their indexes in the outcomes.
    stamps: Vec<Stamp>,
}

impl OutcomeReader<'_> {
    /// Compares the rows that a commit removed with those that it added; returns `false` if there are too
    /// many.
    fn compare(&mut self, removed: &[Piece], new: &[Piece], stamp: Stamp) -> Result<bool> {
        let base = u32::try_from(self.pieces.len()).unwrap_or(NONE);
        self.pieces.extend(removed.iter().chain(new).cloned());
        let sides = (removed.to_vec(), new.to_vec());
        let differing = differences(self.reader, sides);
        let at = |error: Error| error.at_version(stamp.version);
        let Some(differing) = differing.map_err(at)? else {
            return Ok(false);
        };
        let commit = u32::try_from(self.stamps.len()).unwrap_or(NONE);
        self.outcomes.step(&differing, base, commit).map_err(at)?;
        Ok(true)
    }

    /// Reads the rows of pieces that need no comparison; returns `false` if there are too many.
    fn read(&mut self, run: Vec<Piece>) -> Result<bool> {
        let base = u32::try_from(self.pieces.len()).unwrap_or(NONE);
        self.pieces.extend(run.iter().cloned());
        let (outcomes, stamps) = (&mut self.outcomes, &self.stamps);
        let versions: Vec<u64> = run
            .iter()
            .map(|piece| piece.version().unwrap_or_default())
            .collect();
        let commits_of_pieces: Vec<u32> = versions
            .iter()
            .map(|version| {
                let at = stamps.partition_point(|stamp| stamp.version < *version);
                u32::try_from(at).unwrap_or(NONE)
            })
            .collect();
        let max_rows = self.reader.max_rows();
        let mut error_of_row = None;
        let mut full = false;
        // added rows are held back: change data files may have them before removed rows of the same commit
        let mut added: Vec<IdentifiedRow> = Vec::new();
        let mut current = NONE;
        let mut visit = |row: IdentifiedRow| {
            let commit = commits_of_pieces
                .get(row.piece as usize)
                .copied()
                .unwrap_or(NONE);
            let mut step = || {
                if commit != current {
                    flush(outcomes, &mut added, base, current, stamps)?;
                    current = commit;
                }
                match row.change {
                    ChangeType::Delete | ChangeType::UpdatePreimage => {
                        outcomes.remove(&row, base, commit)
                    }
                    ChangeType::Insert | ChangeType::UpdatePostimage => {
                        added.push(row);
                        Ok(())
                    }
                }
            };
            if let Err(error) = step() {
                let version = versions.get(row.piece as usize).copied();
                error_of_row = Some(error.at_version(version.unwrap_or_default()));
            }
            full = outcomes.len() + added.len() > max_rows;
            error_of_row.is_none() && !full
        };
        self.reader.visit(run, &mut visit)?;
        if let Some(error) = error_of_row {
            return Err(error);
        }
        if !full {
            flush(outcomes, &mut added, base, current, stamps)?;
        }
        Ok(!full)
    }
}

fn flush(
    outcomes: &mut Outcomes,
    added: &mut Vec<IdentifiedRow>,
    base: u32,
    commit: u32,
    stamps: &[Stamp],
) -> Result<()> {
    for row in added.drain(..) {
        let result = outcomes.add(&row, base, commit);
        result.map_err(|error| match stamps.get(commit as usize) {
            Some(stamp) => error.at_version(stamp.version),
            None => error,
        })?;
    }
    Ok(())
}

/// Drops rows with the same values at the end as before.
fn drop_unchanged(
    reader: ShareReader<'_>,
    outcomes: &mut Outcomes,
    pieces: &[Piece],
) -> Result<()> {
    let both = |outcome: &&Outcome| outcome.before != NONE && outcome.after != NONE;
    let mut rows: Vec<(u32, u64)> = Vec::new();
    for outcome in outcomes.outcomes.values().filter(both) {
        for at in [outcome.before, outcome.after] {
            if let Some((position, _)) = outcomes.positions.get(at as usize) {
                rows.push((position.piece, position.row));
            }
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_unstable();
    rows.dedup();
    let (mut indexes, mut pieces_to_read): (Vec<u32>, Vec<Piece>) = (Vec::new(), Vec::new());
    for chunk in rows.chunk_by(|left, right| left.0 == right.0) {
        let Some((index, _)) = chunk.first() else {
            continue;
        };
        let Some(piece) = pieces.get(*index as usize) else {
            continue;
        };
        let only = DeletionVector::from_rows(chunk.iter().map(|(_, row)| *row))?;
        let stamp = Stamp {
            version: piece.version().unwrap_or_default(),
            timestamp: 0,
        };
        indexes.push(*index);
        pieces_to_read.push(Piece {
            file: piece.file.clone(),
            rows: PieceRows::Only(Arc::new(only)),
            labels: Labels::All(ChangeType::Delete, stamp),
        });
    }
    let by_values = RowIdentity {
        way: MatchBy::Rows,
        key: Vec::new(),
        seed: reader.identity.seed,
        most_rows: usize::MAX,
    };
    let mut values: HashMap<(u32, u64), u128> = HashMap::with_capacity(rows.len());
    let all = ShareReader {
        identity: &by_values,
        share: Share::ALL,
        ..reader
    };
    all.visit(pieces_to_read, &mut |row| {
        let piece = indexes.get(row.piece as usize).copied().unwrap_or(NONE);
        values.insert((piece, row.row), row.identity);
        true
    })?;
    outcomes.drop_equal(|before, after| values.get(&before) == values.get(&after));
    Ok(())
}

impl Outcomes {
    /// Calls `visit` for each row to report: its position, its change, and the index of its commit.
    pub(super) fn visit_reported(
        &self,
        kind: Net,
        mut visit: impl FnMut((u32, u64), ChangeType, u32),
    ) {
        // by position, since positions are in the order of the files
        let mut reported: Vec<Option<(ChangeType, u32)>> = vec![None; self.positions.len()];
        let mut report = |mut at: u32, change: ChangeType, commit: Option<u32>| {
            while let Some((position, next)) = self.positions.get(at as usize) {
                if let Some(row) = reported.get_mut(at as usize) {
                    *row = Some((change, commit.unwrap_or(position.commit)));
                }
                at = *next;
            }
        };
        for outcome in self.outcomes.values() {
            let existed = outcome.before != NONE;
            let are_equal_rows = outcome.commit == NONE;
            let commit = Some(outcome.commit).filter(|_| !are_equal_rows);
            match kind {
                Net::MinDelta => {
                    let updated = existed && outcome.after != NONE;
                    let (removed, added) = if updated {
                        (ChangeType::UpdatePreimage, ChangeType::UpdatePostimage)
                    } else {
                        (ChangeType::Delete, ChangeType::Insert)
                    };
                    report(outcome.before, removed, commit);
                    report(outcome.after, added, commit);
                }
                Net::Upsert { deleted } => {
                    let added = if existed {
                        ChangeType::UpdatePostimage
                    } else {
                        ChangeType::Insert
                    };
                    report(outcome.after, added, commit);
                    if deleted && outcome.after == NONE {
                        report(outcome.before, ChangeType::Delete, commit);
                    }
                }
                Net::AppendOnly { deleted } => {
                    if !existed {
                        report(outcome.after, ChangeType::Insert, commit);
                    }
                    let is_gone = !existed && outcome.after == NONE;
                    if deleted && (is_gone || are_equal_rows) {
                        report(outcome.transient, ChangeType::Insert, None);
                    }
                }
            }
        }
        for ((position, _), row) in self.positions.iter().zip(reported) {
            if let Some((change, commit)) = row {
                visit((position.piece, position.row), change, commit);
            }
        }
    }
}

fn reported_pieces(
    outcomes: &Outcomes,
    kind: Net,
    pieces: Vec<Piece>,
    stamps: &[Stamp],
) -> Result<Vec<Piece>> {
    let mut labels = LabelledPieces::new(pieces);
    outcomes.visit_reported(kind, |(piece, row), change, commit| {
        if let Some(stamp) = stamps.get(commit as usize) {
            labels.push(piece, row, change, *stamp);
        }
    });
    labels.finish()
}
