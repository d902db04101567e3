//! Rows of pieces as runs: ids that follow each other, in rows that follow each other.

use arrow_array::RecordBatch;
use rayon::slice::ParallelSliceMut;

use super::identify::{Share, ShareReader, long, tracked};
use crate::changes::rows::piece::Piece;
use crate::changes::rows::read::read_pieces;
use crate::changes::rows::row_schema::Purpose;
use crate::error::Result;
use crate::storage::pool::pool;
use crate::storage::pool::rows::Rows;

/// Rows of one file. 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The id of the first one.
    pub id: i64,
    /// The position of the first one in the file.
    pub row: u64,
    /// The commit that gave all of them their values.
    pub version: i64,
    /// Its piece.
    pub piece: u32,
    /// The number of rows.
    pub rows: u32,
}

impl Run {
    /// The id after the last one.
    pub(in crate::changes) fn end(&self) -> i64 {
        self.id.saturating_add(i64::from(self.rows))
    }

    /// The rows with ids in `from..to`, which it has.
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

/// Reads the ids of these pieces' rows that are in the share, and gives their runs in the pieces'
/// order, as long as `take` wants more.
pub(super) fn read(
    rows: ShareReader<'_>,
    pieces: Vec<Piece>,
    take: &mut dyn FnMut(Run) -> bool,
) -> Result<()> {
    let share = rows.share;
    let batches = read_pieces(
        rows.source,
        rows.reading,
        pieces,
        |_| Purpose::RowIds,
        move |number, _, batch| {
            let runs = runs(share, u32::try_from(number).unwrap_or(u32::MAX), &batch)?;
            Ok((!runs.is_empty()).then_some(runs))
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

/// Makes runs ascend by their ids.
pub(super) fn sort(runs: &mut [Run]) -> Result<()> {
    if !runs.is_sorted_by_key(|run| run.id) {
        pool()?.install(|| runs.par_sort_by_key(|run| run.id)); // files mostly ascend
    }
    Ok(())
}

/// Returns `true` if two of these runs, which ascend, have an id in common.
pub(super) fn is_twice(runs: &[Run]) -> bool {
    let next = runs.iter().skip(1);
    runs.iter().zip(next).any(|(run, next)| run.end() > next.id)
}

/// Rows by where their ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    Before(Run),
    Now(Run),
    /// The same ids.
    Both(Run, Run),
}

/// Shows all rows of both sides, which ascend and have no id twice, in the order of their ids, as long
/// as `see` gives something.
pub(super) fn join(
    before: &[Run],
    now: &[Run],
    see: &mut dyn FnMut(Joined) -> Option<()>,
) -> Option<()> {
    let (mut olds, mut news) = (before.iter().copied(), now.iter().copied());
    let (mut old, mut new) = (olds.next(), news.next());
    let rest = |run: Run, from: i64| (from < run.end()).then(|| run.cut(from, run.end()));
    loop {
        match (old, new) {
            (None, None) => return Some(()),
            (Some(run), None) => {
                see(Joined::Before(run))?;
                old = olds.next();
            }
            (None, Some(run)) => {
                see(Joined::Now(run))?;
                new = news.next();
            }
            (Some(run), Some(now)) if run.id < now.id => {
                let end = run.end().min(now.id);
                see(Joined::Before(run.cut(run.id, end)))?;
                old = rest(run, end).or_else(|| olds.next());
            }
            (Some(before), Some(run)) if run.id < before.id => {
                let end = run.end().min(before.id);
                see(Joined::Now(run.cut(run.id, end)))?;
                new = rest(run, end).or_else(|| news.next());
            }
            (Some(before), Some(now)) => {
                let end = before.end().min(now.end());
                see(Joined::Both(
                    before.cut(before.id, end),
                    now.cut(now.id, end),
                ))?;
                old = rest(before, end).or_else(|| olds.next());
                new = rest(now, end).or_else(|| news.next());
            }
        }
    }
}

impl Rows for Vec<Run> {
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<Run>()
    }
}

/// The runs of a batch of a piece.
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
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn run(id: i64, rows: u32, piece: u32) -> Run {
        Run {
            id,
            row: 100 * u64::from(piece) + u64::try_from(id).unwrap(),
            version: 7,
            piece,
            rows,
        }
    }

    /// The ids of both sides one by one.
    fn described(joined: Joined) -> Vec<(i64, Option<u64>, Option<u64>)> {
        let rows = |run: Run| (0..i64::from(run.rows)).zip(run.row..);
        match joined {
            Joined::Before(old) => rows(old)
                .map(|(at, row)| (old.id + at, Some(row), None))
                .collect(),
            Joined::Now(new) => rows(new)
                .map(|(at, row)| (new.id + at, None, Some(row)))
                .collect(),
            Joined::Both(old, new) => {
                assert_eq!((old.id, old.rows), (new.id, new.rows));
                rows(old)
                    .zip(rows(new))
                    .map(|((at, before), (_, now))| (old.id + at, Some(before), Some(now)))
                    .collect()
            }
        }
    }

    /// Every set of ids below eight on each side, as runs.
    #[test]
    fn both_sides_are_joined_id_by_id() {
        let runs = |bits: u32, piece: u32| {
            let mut runs: Vec<Run> = Vec::new();
            for id in (0..8).filter(|id| bits >> id & 1 == 1) {
                match runs.last_mut() {
                    Some(last) if last.end() == id => last.rows += 1,
                    _ => runs.push(run(id, 1, piece)),
                }
            }
            runs
        };
        for before in 0..256_u32 {
            for now in 0..256_u32 {
                let mut actual = Vec::new();
                join(&runs(before, 1), &runs(now, 2), &mut |joined| {
                    actual.extend(described(joined));
                    Some(())
                });
                let has = |bits: u32, id: i64, first: u64| {
                    (bits >> id & 1 == 1).then(|| first + u64::try_from(id).unwrap())
                };
                let expected: Vec<_> = (0..8)
                    .map(|id| (id, has(before, id, 100), has(now, id, 200)))
                    .filter(|(_, old, new)| old.is_some() || new.is_some())
                    .collect();
                assert_eq!(actual, expected, "{before:08b} {now:08b}");
            }
        }
    }

    #[test]
    fn who_has_seen_enough_sees_no_more() {
        let mut seen = 0;
        let all = join(&[run(0, 2, 0), run(5, 1, 0)], &[run(1, 1, 1)], &mut |_| {
            seen += 1;
            (seen < 2).then_some(())
        });
        assert_eq!((all, seen), (None, 2));
    }

    #[test]
    fn duplicate_ids_are_detected_once_runs_ascend() {
        let mut runs = vec![run(6, 2, 0), run(0, 3, 1), run(3, 3, 2)];
        sort(&mut runs).unwrap();
        assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [0, 3, 6]);
        assert!(!is_twice(&runs));
        runs[0].rows = 4;
        assert!(is_twice(&runs));
    }

    #[test]
    fn a_part_of_a_run_has_its_own_rows() {
        let part = run(10, 5, 1).cut(12, 14);
        assert_eq!((part.id, part.row, part.rows, part.end()), (12, 112, 2, 14));
    }
}
