//! The rows of pieces as runs: consecutive ids in consecutive rows.

use arrow_array::RecordBatch;
use rayon::slice::ParallelSliceMut;

use super::identify::{Share, ShareReader, long, tracked};
use crate::changes::rows::piece::Piece;
use crate::changes::rows::read::read_pieces;
use crate::changes::rows::row_schema::Purpose;
use crate::error::Result;
use crate::storage::pool::pool;
use crate::storage::pool::rows::Rows;

/// Consecutive rows of one file with consecutive ids. 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The id of the first row.
    pub id: i64,
    /// The position of the first row in the file.
    pub row: u64,
    /// The commit that last changed all of them.
    pub version: i64,
    /// The index of the piece.
    pub piece: u32,
    /// The number of rows.
    pub rows: u32,
}

impl Run {
    /// Returns the id after the last one.
    pub(in crate::changes) fn end(&self) -> i64 {
        self.id.saturating_add(i64::from(self.rows))
    }

    /// Returns the rows with the ids `from..to`, which must be part of the run.
    pub(in crate::changes) fn cut(&self, from: i64, to: i64) -> Self {
        let skipped = from.saturating_sub(self.id);
        Self {
            id: from,
            row: self.row.saturating_add(u64::try_from(skipped).unwrap_or(0)),
            rows: u32::try_from(to.saturating_sub(from)).unwrap_or(0),
            ..*self
        }
    }

    fn is_followed_by(&self, piece: u32, row: u64, id: i64, version: i64) -> bool {
        piece == self.piece
            && version == self.version
            && self.row.checked_add(u64::from(self.rows)) == Some(row)
            && self.id.checked_add(i64::from(self.rows)) == Some(id)
            && self.rows < u32::MAX
    }
}

/// Reads the ids of the pieces' rows that are in the share, and passes their runs to `take`, in the order
/// of the pieces, until it returns `false`.
pub(super) fn read(
    reader: ShareReader<'_>,
    pieces: Vec<Piece>,
    take: &mut dyn FnMut(Run) -> bool,
) -> Result<()> {
    let share = reader.share;
    let batches = read_pieces(
        reader.source,
        reader.resolved,
        pieces,
        |_| Purpose::RowIds,
        move |index, _, batch| {
            let runs = runs(share, u32::try_from(index).unwrap_or(u32::MAX), &batch)?;
            Ok(Some(runs).filter(|runs| !runs.is_empty()))
        },
    );
    for batch in batches {
        for run in batch? {
            if !take(run) {
                return Ok(());
            }
        }
    }
    Ok(())
}

pub(super) fn sort(runs: &mut [Run]) -> Result<()> {
    if !runs.is_sorted_by_key(|run| run.id) {
        pool()?.install(|| runs.par_sort_by_key(|run| run.id)); // files mostly ascend
    }
    Ok(())
}

/// Returns `true` if two of the runs, which ascend, have an id in common.
pub(super) fn has_duplicates(runs: &[Run]) -> bool {
    let next = runs.iter().skip(1);
    runs.iter().zip(next).any(|(run, next)| run.end() > next.id)
}

/// The rows of one id range: on one side or on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    Before(Run),
    After(Run),
    Both(Run, Run),
}

/// Calls `visit` with the rows of both sides in the order of their ids, until it returns `None`; each side
/// ascends and has no duplicate ids.
pub(super) fn join(
    before: &[Run],
    after: &[Run],
    visit: &mut dyn FnMut(Joined) -> Option<()>,
) -> Option<()> {
    let (mut olds, mut news) = (before.iter().copied(), after.iter().copied());
    let (mut old, mut new) = (olds.next(), news.next());
    let rest = |run: Run, from: i64| (from < run.end()).then(|| run.cut(from, run.end()));
    loop {
        match (old, new) {
            (None, None) => return Some(()),
            (Some(run), None) => {
                visit(Joined::Before(run))?;
                old = olds.next();
            }
            (None, Some(run)) => {
                visit(Joined::After(run))?;
                new = news.next();
            }
            (Some(run), Some(after)) if run.id < after.id => {
                let end = run.end().min(after.id);
                visit(Joined::Before(run.cut(run.id, end)))?;
                old = rest(run, end).or_else(|| olds.next());
            }
            (Some(before), Some(run)) if run.id < before.id => {
                let end = run.end().min(before.id);
                visit(Joined::After(run.cut(run.id, end)))?;
                new = rest(run, end).or_else(|| news.next());
            }
            (Some(before), Some(after)) => {
                let end = before.end().min(after.end());
                visit(Joined::Both(
                    before.cut(before.id, end),
                    after.cut(after.id, end),
                ))?;
                old = rest(before, end).or_else(|| olds.next());
                new = rest(after, end).or_else(|| news.next());
            }
        }
    }
}

impl Rows for Vec<Run> {
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<Run>()
    }
}

fn runs(share: Share, piece: u32, batch: &RecordBatch) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let rows = long(batch.columns().first())?.values().iter();
    let ids = tracked(batch.columns().get(1))?.values().iter();
    let versions = tracked(batch.columns().get(2))?;
    for ((row, id), version) in rows.zip(ids).zip(versions.values()) {
        if !share.has_id(*id) {
            continue;
        }
        let row = row.cast_unsigned();
        match runs.last_mut() {
            Some(last) if last.is_followed_by(piece, row, *id, *version) => last.rows += 1,
            _ => runs.push(Run {
                id: *id,
                row,
                version: *version,
                piece,
                rows: 1,
            }),
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests;
