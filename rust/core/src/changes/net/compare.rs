//! Compares the rows that a commit removed with those that it added: each row was deleted, inserted, updated
//! or carried over.
//!
//! Memory: about 100 bytes for each removed row, and 50 for each added row that was not carried over; if
//! rows have ids, 32 bytes for each run of consecutive ids. If there are too many rows, they are split in
//! halves by hash, and each half is compared separately.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::identify::{IdentifiedRow, Share, ShareReader};
use super::runs::{Joined, Run, has_duplicates, join, read, sort};
use crate::changes::range::commits::Stamp;
use crate::changes::range::derive::MatchBy;
use crate::changes::rows::piece::{ChangeType, Labels, Piece, PieceRows, RowLabel};
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::KeyHasher;

/// The default maximum number of rows held at once.
pub(in crate::changes) const MAX_ROWS: usize = 4 << 20;

/// Maps by row identity: the keys are hashes, or row ids multiplied to be distributed evenly.
pub(super) type IdentityMap<V> = HashMap<u128, V, BuildHasherDefault<KeyHasher>>;

pub(in crate::changes) enum Compared {
    Pieces(Vec<Piece>),
    /// There are too many rows: split the share.
    TooMany,
}

/// The removed and the added rows that were not carried over.
pub(super) struct Differences {
    pub removed: Vec<IdentifiedRow>,
    pub added: Vec<IdentifiedRow>,
}

/// Rows in chains, one chain for each identity.
#[derive(Default)]
struct RowsByIdentity {
    heads: IdentityMap<u32>,
    /// Each row, with the index of the next one in its chain; `NONE` at the end.
    rows: Vec<(IdentifiedRow, u32)>,
}

const NONE: u32 = u32::MAX;

impl RowsByIdentity {
    fn push(&mut self, row: IdentifiedRow) {
        let at = u32::try_from(self.rows.len()).unwrap_or(NONE);
        let before = self.heads.insert(row.identity, at);
        self.rows.push((row, before.unwrap_or(NONE)));
    }

    /// Removes a row with this identity and hash; returns `false` if there is none.
    fn take(&mut self, identity: u128, value_hash: u128) -> bool {
        let Some(head) = self.heads.get(&identity).copied() else {
            return false;
        };
        let (mut before, mut at) = (NONE, head);
        while let Some((row, next)) = self.rows.get(at as usize).copied() {
            if row.value_hash != value_hash {
                (before, at) = (at, next);
                continue;
            }
            match self.rows.get_mut(before as usize) {
                Some((_, link)) => *link = next,
                None if next == NONE => {
                    self.heads.remove(&identity);
                }
                None => {
                    self.heads.insert(identity, next);
                }
            }
            return true;
        }
        false
    }

    /// Returns the remaining rows, in the order in which they were pushed.
    fn finish(self) -> Vec<IdentifiedRow> {
        let mut remaining: Vec<u32> = Vec::new();
        for head in self.heads.into_values() {
            let mut at = head;
            while let Some((_, next)) = self.rows.get(at as usize) {
                remaining.push(at);
                at = *next;
            }
        }
        remaining.sort_unstable();
        let rows = remaining
            .into_iter()
            .filter_map(|at| self.rows.get(at as usize));
        rows.map(|(row, _)| *row).collect()
    }
}

/// Compares the rows of removed and new pieces. `None` if there are too many rows.
pub(super) fn differences(
    reader: ShareReader<'_>,
    (removed, new): (Vec<Piece>, Vec<Piece>),
) -> Result<Option<Differences>> {
    let max_rows = reader.max_rows();
    let shift = u32::try_from(removed.len()).unwrap_or(NONE);
    let mut unmatched = RowsByIdentity::default();
    let mut full = false;
    let mut collect = |row: IdentifiedRow| {
        full = unmatched.rows.len() >= max_rows;
        unmatched.push(row);
        !full
    };
    reader.visit(removed, &mut collect)?;
    if full {
        return Ok(None);
    }
    let mut added: Vec<IdentifiedRow> = Vec::new();
    let mut compare = |row: IdentifiedRow| {
        full = added.len() >= max_rows;
        if !unmatched.take(row.identity, row.value_hash) {
            added.push(IdentifiedRow {
                piece: row.piece.saturating_add(shift),
                ..row
            });
        }
        !full
    };
    reader.visit(new, &mut compare)?;
    if full {
        return Ok(None);
    }
    Ok(Some(Differences {
        removed: unmatched.finish(),
        added,
    }))
}

/// Compares rows in memory, like [`differences`].
pub(super) fn differences_in_memory(
    removed: Vec<IdentifiedRow>,
    new: Vec<IdentifiedRow>,
) -> Differences {
    let mut unmatched = RowsByIdentity::default();
    unmatched.rows.reserve(removed.len());
    for row in removed {
        unmatched.push(row);
    }
    let added = new
        .into_iter()
        .filter(|row| !unmatched.take(row.identity, row.value_hash))
        .collect();
    Differences {
        removed: unmatched.finish(),
        added,
    }
}

/// Returns the changes of a commit, row by row.
///
/// # Errors
///
/// Invalid argument: `changes.key` when more than one row has the same key; Corrupt: `changes.row_id`.
pub(in crate::changes) fn compare(
    reader: ShareReader<'_>,
    stamp: Stamp,
    (removed, new): (Vec<Piece>, Vec<Piece>),
) -> Result<Compared> {
    let pieces: Vec<Piece> = removed.iter().chain(&new).cloned().collect();
    let way = reader.identity.way;
    if way == MatchBy::RowTracking {
        let compared = compare_ids(reader, stamp, &pieces, removed.len());
        if let Some(compared) = compared.map_err(|error| error.at_version(stamp.version))? {
            return Ok(compared);
        }
        // an id occurs twice: below, that is an error only if it makes an update ambiguous
    }
    let differing = differences(reader, (removed, new));
    let Some(differing) = differing.map_err(|error| error.at_version(stamp.version))? else {
        return Ok(Compared::TooMany);
    };
    // the number of removed and of added rows by identity
    let mut counts: IdentityMap<(u32, u32)> = IdentityMap::default();
    for row in &differing.removed {
        counts.entry(row.identity).or_default().0 += 1;
    }
    for row in &differing.added {
        if let Some((_, added)) = counts.get_mut(&row.identity) {
            *added += 1;
        }
    }
    if counts
        .values()
        .any(|(removed, added)| *added > 0 && removed + added > 2)
    {
        return Err(duplicate_rows(way).at_version(stamp.version));
    }
    let mut labels = LabelledPieces::new(pieces);
    for row in &differing.removed {
        let updated = counts
            .get(&row.identity)
            .is_some_and(|(_, added)| *added > 0);
        let change = if updated {
            ChangeType::UpdatePreimage
        } else {
            ChangeType::Delete
        };
        labels.push(row.piece, row.row, change, stamp);
    }
    for row in &differing.added {
        let change = if counts.contains_key(&row.identity) {
            ChangeType::UpdatePostimage
        } else {
            ChangeType::Insert
        };
        labels.push(row.piece, row.row, change, stamp);
    }
    labels.finish().map(Compared::Pieces)
}

/// Compares rows by runs of row ids, like [`compare`]; the first `num_removed` pieces contain removed rows.
/// `None` if an id occurs twice among the removed or among the added rows.
fn compare_ids(
    reader: ShareReader<'_>,
    stamp: Stamp,
    pieces: &[Piece],
    num_removed: usize,
) -> Result<Option<Compared>> {
    let max_rows = reader.max_rows();
    let (mut removed, mut new): (Vec<Run>, Vec<Run>) = (Vec::new(), Vec::new());
    let mut labels = LabelledPieces::new(pieces.to_vec());
    let mut num_rows = vec![0_u64; pieces.len()];
    let mut take = |run: Run| {
        let at = run.piece as usize;
        if let Some(rows) = num_rows.get_mut(at) {
            *rows += u64::from(run.rows);
        }
        let side = if at < num_removed {
            &mut removed
        } else {
            &mut new
        };
        side.push(run);
        side.len() <= max_rows
    };
    read(reader, pieces.to_vec(), &mut take)?;
    if removed.len().max(new.len()) > max_rows {
        return Ok(Some(Compared::TooMany));
    }
    for runs in [&mut removed, &mut new] {
        sort(runs)?;
        if has_duplicates(runs) {
            return Ok(None);
        }
    }
    if reader.share == Share::ALL {
        for (piece, rows) in (0..).zip(num_rows) {
            labels.set_num_rows(piece, rows);
        }
    }
    let mut label = |run: Run, change| labels.push_run(run.piece, run.row, run.rows, change, stamp);
    join(&removed, &new, &mut |joined| {
        match joined {
            Joined::Before(run) => label(run, ChangeType::Delete),
            Joined::After(run) => label(run, ChangeType::Insert),
            Joined::Both(before, after) if before.version == after.version => {} // carried over
            Joined::Both(before, after) => {
                label(before, ChangeType::UpdatePreimage);
                label(after, ChangeType::UpdatePostimage);
            }
        }
        Some(())
    });
    drop((removed, new));
    labels.finish().map(|pieces| Some(Compared::Pieces(pieces)))
}

/// Returns the error for several rows with the same identity.
pub(super) fn duplicate_rows(way: MatchBy) -> Error {
    if way == MatchBy::Key {
        let message =
            "several changed rows have the same key: add columns until the key identifies each row";
        return Error::invalid("changes.key", message);
    }
    let message = match way {
        MatchBy::Files => {
            "rows of a file were added or removed twice, so the log is wrong: ask its writer"
        }
        _ => {
            "several changed rows have the same row id, so the log or a file is wrong: ask its writer, or \
             pass the columns of a `key`"
        }
    };
    Error::corrupt("changes.row_id", message)
}

/// Collects the labels of rows, piece by piece.
pub(super) struct LabelledPieces(Vec<Labelled>);

struct Labelled {
    piece: Piece,
    labels: Vec<RowLabel>,
    /// The number of rows of the piece, if known.
    rows: Option<u64>,
    /// The rows, with a change code for each, and the commits of the codes; if the rows were read already.
    read: Option<(Vec<RecordBatch>, Arc<Vec<Stamp>>)>,
}

impl LabelledPieces {
    pub(in crate::changes) fn new(pieces: Vec<Piece>) -> Self {
        let pieces = pieces.into_iter().map(|piece| Labelled {
            piece,
            labels: Vec::new(),
            rows: None,
            read: None,
        });
        Self(pieces.collect())
    }

    /// Sets the number of rows of a piece, so that a piece whose rows all have labels is kept as a whole.
    pub(super) fn set_num_rows(&mut self, piece: u32, rows: u64) {
        if let Some(labelled) = self.0.get_mut(piece as usize) {
            labelled.rows = Some(rows);
        }
    }

    pub(in crate::changes) fn num_rows(&self, piece: u32) -> Option<u64> {
        self.0.get(piece as usize)?.rows
    }

    /// Sets the rows of a piece with their codes, which replace its labels.
    pub(super) fn set_read(&mut self, piece: u32, rows: Vec<RecordBatch>, stamps: Arc<Vec<Stamp>>) {
        if let Some(labelled) = self.0.get_mut(piece as usize) {
            labelled.read = Some((rows, stamps));
        }
    }

    /// Returns the labels of the rows of a piece collected so far.
    pub(in crate::changes) fn labels(&self, piece: u32) -> &[RowLabel] {
        let labelled = self.0.get(piece as usize);
        labelled.map_or(&[], |labelled| &labelled.labels)
    }

    pub(in crate::changes) fn push(
        &mut self,
        piece: u32,
        row: u64,
        change: ChangeType,
        stamp: Stamp,
    ) {
        self.push_run(piece, row, 1, change, stamp);
    }

    pub(super) fn push_run(
        &mut self,
        piece: u32,
        row: u64,
        rows: u32,
        change: ChangeType,
        stamp: Stamp,
    ) {
        if let Some(labelled) = self.0.get_mut(piece as usize) {
            let label = RowLabel {
                row,
                rows,
                change,
                stamp,
            };
            extend(&mut labelled.labels, label);
        }
    }

    /// Returns the pieces that have changed rows, restricted to their changed rows.
    pub(in crate::changes) fn finish(self) -> Result<Vec<Piece>> {
        let pieces = self.0.into_iter();
        let changed =
            pieces.filter(|labelled| !labelled.labels.is_empty() || labelled.read.is_some());
        changed.map(Labelled::finish).collect()
    }
}

impl Labelled {
    fn finish(mut self) -> Result<Piece> {
        if let Some((read, stamps)) = self.read {
            return Ok(Piece {
                file: self.piece.file,
                rows: PieceRows::Read(Arc::new(read)),
                labels: Labels::Coded(stamps),
            });
        }
        if !self.labels.is_sorted_by_key(|label| label.row) {
            self.labels.sort_unstable_by_key(|label| label.row);
            let mut labels = Vec::with_capacity(self.labels.len());
            for label in self.labels {
                extend(&mut labels, label);
            }
            self.labels = labels;
        }
        let labels = self.labels;
        let count: u64 = labels.iter().map(|label| u64::from(label.rows)).sum();
        if self.rows == Some(count) {
            let mut kinds = labels.iter().map(|label| (label.change, label.stamp));
            let first = kinds.next();
            let labels = match first {
                Some((change, stamp)) if kinds.all(|kind| Some(kind) == first) => {
                    Labels::All(change, stamp)
                }
                _ => Labels::Each(Arc::new(labels)),
            };
            return Ok(Piece {
                labels,
                ..self.piece
            });
        }
        let rows = labels
            .iter()
            .flat_map(|label| label.row..label.row.saturating_add(u64::from(label.rows)));
        Ok(Piece {
            file: self.piece.file,
            rows: PieceRows::Only(Arc::new(DeletionVector::from_rows(rows)?)),
            labels: Labels::Each(Arc::new(labels)),
        })
    }
}

/// Appends a label, or extends the last one.
fn extend(labels: &mut Vec<RowLabel>, label: RowLabel) {
    if let Some(last) = labels.last_mut()
        && (last.change, last.stamp) == (label.change, label.stamp)
        && last.row.checked_add(u64::from(last.rows)) == Some(label.row)
        && let Some(rows) = last.rows.checked_add(label.rows)
    {
        last.rows = rows;
        return;
    }
    labels.push(label);
}
