//! Rows before and rows now, joined by their ids.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::slice::ParallelSliceMut;

use super::runs::{Run, read};
use super::values::values;
use super::{Ends, Side, needs_before};
use crate::changes::commits::Stamp;
use crate::changes::compare::{Compared, LabelledPieces};
use crate::changes::definition::Reading;
use crate::changes::identify::{Share, Telling};
use crate::changes::net::Net;
use crate::changes::piece::{ChangeType, Piece};
use crate::error::Result;
use crate::replay::Source;
use crate::storage::pool::pool;

/// Rows that are both before and now, and were changed in between; each in the first piece of its file.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub before: Run,
    pub now: Run,
    stamp: Stamp,
}

/// What a range comes to, for one share of the rows; `None` when the ends do not tell.
pub(in crate::changes) fn net(
    source: &Source,
    reading: &Arc<Reading>,
    telling: &Telling,
    share: Share,
    kind: Net,
    ends: &Ends,
) -> Result<Option<Compared>> {
    if ends.brings_rows_back(source)? {
        return Ok(None);
    }
    let most = telling.most_rows_of(share);
    let (sides, pieces): (Vec<Side>, Vec<Piece>) = ends
        .ends
        .iter()
        .filter(|(side, _)| *side == Side::Now || needs_before(kind))
        .cloned()
        .unzip();
    let (mut before, mut now): (Vec<Run>, Vec<Run>) = (Vec::new(), Vec::new());
    let mut counts = vec![0_u64; pieces.len()];
    let mut full = false;
    let mut take = |run: Run| {
        let at = run.piece as usize;
        if let Some(count) = counts.get_mut(at) {
            *count += u64::from(run.rows);
        }
        match sides.get(at) {
            Some(Side::Now) => now.push(run),
            _ => before.push(run),
        }
        full = before.len() + now.len() > most;
        !full
    };
    read(source, reading, share, pieces.clone(), &mut take)?;
    if full {
        return Ok(Some(Compared::TooMany));
    }
    pool()?.install(|| {
        for runs in [&mut before, &mut now] {
            if !runs.is_sorted_by_key(|run| run.id) {
                runs.par_sort_unstable_by_key(|run| run.id);
            }
        }
    });
    if is_twice(&before) || is_twice(&now) {
        return Ok(None);
    }
    let homes = homes(&pieces);
    let mut join = Join {
        ends,
        kind,
        pieces: &pieces,
        homes: &homes,
        labels: LabelledPieces::new(pieces.clone()),
        gone: Vec::new(),
        pairs: Vec::new(),
    };
    if join.sweep(&before, &now).is_none() {
        return Ok(None);
    }
    drop((before, now));
    if share == Share::ALL {
        let mut parts = vec![0_u32; pieces.len()];
        for home in &homes {
            if let Some(parts) = parts.get_mut(*home as usize) {
                *parts += 1;
            }
        }
        for (piece, (count, parts)) in (0..).zip(counts.into_iter().zip(parts)) {
            if parts == 1 {
                join.labels.set_rows(piece, count);
            }
        }
    }
    let gone = std::mem::take(&mut join.gone);
    let mut last: Vec<(i64, u64)> = Vec::new();
    if !gone.is_empty() && !ends.passed.is_empty() {
        let mut take = |run: Run| {
            let version = ends.passed.get(run.piece as usize).and_then(Piece::version);
            let version = version.unwrap_or_default();
            for gone in overlapping(&gone, &run) {
                let ids = gone.id.max(run.id)..gone.end().min(run.end());
                let room = most.saturating_add(1).saturating_sub(last.len());
                last.extend(ids.map(|id| (id, version)).take(room));
            }
            full = last.len() > most;
            !full
        };
        read(source, reading, share, ends.passed.clone(), &mut take)?;
        if full {
            return Ok(Some(Compared::TooMany));
        }
        last.sort_unstable();
    }
    if join.show_gone(&sides, &gone, &last).is_none() {
        return Ok(None);
    }
    let pairs = std::mem::take(&mut join.pairs);
    let rows = pairs.iter().map(|pair| pair.now.rows as usize);
    if rows.fold(0, usize::saturating_add) > most {
        return Ok(Some(Compared::TooMany));
    }
    let seed = telling.seed;
    let labels = &join.labels;
    let found = values(
        source,
        reading,
        seed,
        &pieces,
        &pairs,
        labels,
        telling.most_rows,
    )?;
    join.show_pairs(&pairs, &found.changed);
    for (piece, rows) in found.read {
        join.labels.set_read(piece, rows);
    }
    join.labels
        .finish()
        .map(|pieces| Some(Compared::Pieces(pieces)))
}

/// For each piece the first one of its file: rows of one file are read together, whenever they left it.
fn homes(pieces: &[Piece]) -> Vec<u32> {
    let mut first: HashMap<&str, u32> = HashMap::with_capacity(pieces.len());
    let pieces = pieces.iter().map(|piece| piece.file.path.as_str());
    let homes = (0..).zip(pieces);
    homes
        .map(|(number, path)| *first.entry(path).or_insert(number))
        .collect()
}

/// Whether two of these runs, which ascend, have an id in common.
fn is_twice(runs: &[Run]) -> bool {
    let next = runs.iter().skip(1);
    runs.iter().zip(next).any(|(run, next)| run.end() > next.id)
}

/// Those of the runs, which ascend and are apart, that have an id in common with this one.
fn overlapping<'a>(runs: &'a [Run], with: &Run) -> impl Iterator<Item = &'a Run> {
    let start = runs.partition_point(|run| run.end() <= with.id);
    let end = with.end();
    let runs = runs.get(start..).unwrap_or_default().iter();
    runs.take_while(move |run| run.id < end)
}

struct Join<'a> {
    ends: &'a Ends,
    kind: Net,
    pieces: &'a [Piece],
    homes: &'a [u32],
    labels: LabelledPieces,
    /// Rows before that are not now, ascending.
    gone: Vec<Run>,
    /// Pairs whose values are still to be compared.
    pairs: Vec<Pair>,
}

impl Join<'_> {
    /// Goes through both sides, which ascend. `None` when the ends do not tell.
    fn sweep(&mut self, before: &[Run], now: &[Run]) -> Option<()> {
        let (mut olds, mut news) = (before.iter().copied(), now.iter().copied());
        let (mut old, mut new) = (olds.next(), news.next());
        let rest = |run: Run, from: i64| (from < run.end()).then(|| run.cut(from, run.end()));
        loop {
            match (old, new) {
                (None, None) => return Some(()),
                (Some(one), None) => {
                    self.only_before(one);
                    old = olds.next();
                }
                (None, Some(one)) => {
                    self.only_now(one)?;
                    new = news.next();
                }
                (Some(one), Some(other)) if one.id < other.id => {
                    let end = one.end().min(other.id);
                    self.only_before(one.cut(one.id, end));
                    old = rest(one, end).or_else(|| olds.next());
                }
                (Some(other), Some(one)) if one.id < other.id => {
                    let end = one.end().min(other.id);
                    self.only_now(one.cut(one.id, end))?;
                    new = rest(one, end).or_else(|| news.next());
                }
                (Some(one), Some(other)) => {
                    let end = one.end().min(other.end());
                    self.both(one.cut(one.id, end), other.cut(other.id, end))?;
                    old = rest(one, end).or_else(|| olds.next());
                    new = rest(other, end).or_else(|| news.next());
                }
            }
        }
    }

    fn only_before(&mut self, run: Run) {
        self.gone.push(run);
    }

    fn only_now(&mut self, run: Run) -> Option<()> {
        let fresh = self.ends.fresh;
        if run.id < fresh && fresh < run.end() {
            self.only_now(run.cut(run.id, fresh))?;
            return self.only_now(run.cut(fresh, run.end()));
        }
        let known = run.id < fresh;
        let stamp = self.stamp(&run)?;
        if known && needs_before(self.kind) {
            return None;
        }
        let Some(stamp) = stamp else {
            return known.then_some(()); // moved, as rows that came cannot be
        };
        let change = match (self.kind, known) {
            (Net::AppendOnly { .. }, true) => return Some(()),
            (_, true) => ChangeType::UpdatePostimage,
            (_, false) => ChangeType::Insert,
        };
        self.label(run, change, stamp)
    }

    /// Says of rows what happened to them.
    fn label(&mut self, run: Run, change: ChangeType, stamp: Stamp) -> Option<()> {
        let home = *self.homes.get(run.piece as usize)?;
        self.labels.push_run(home, run.row, run.rows, change, stamp);
        Some(())
    }

    fn both(&mut self, before: Run, now: Run) -> Option<()> {
        if before.end() > self.ends.fresh {
            return None;
        }
        let Some(stamp) = self.stamp(&now)? else {
            return Some(()); // moved
        };
        if self.kind != Net::MinDelta {
            return self.label(now, ChangeType::UpdatePostimage, stamp);
        }
        let home = |run: Run| {
            let piece = *self.homes.get(run.piece as usize)?;
            Some(Run { piece, ..run })
        };
        let (before, now) = (home(before)?, home(now)?);
        self.pairs.push(Pair { before, now, stamp });
        Some(())
    }

    /// When rows that are now got their values; the inner `None` before the range, the outer one when
    /// that cannot be.
    fn stamp(&self, run: &Run) -> Option<Option<Stamp>> {
        let version = u64::try_from(run.version).ok()?;
        if version < self.ends.first {
            return Some(None);
        }
        let came = self.pieces.get(run.piece as usize)?.version()?;
        let stamp = self.ends.stamp(run.version)?;
        (stamp.version <= came).then_some(Some(stamp))
    }

    /// Shows rows that are gone; `last` are the versions in which rows left files that came in the
    /// range, ascending.
    fn show_gone(&mut self, sides: &[Side], gone: &[Run], last: &[(i64, u64)]) -> Option<()> {
        let mut last = last.iter().copied().peekable();
        for run in gone {
            let at = run.piece as usize;
            let moved = matches!(sides.get(at)?, Side::Before { moved: true });
            let left = self.pieces.get(at)?.version()?;
            let mut from = run.id;
            while let Some((id, mut version)) = last.next_if(|(id, _)| *id < run.end()) {
                while let Some((_, later)) = last.next_if(|(same, _)| *same == id) {
                    version = later;
                }
                if !moved {
                    self.show_left(run.cut(from, id), left)?;
                    version = version.max(left);
                }
                from = id.saturating_add(1);
                self.show_left(run.cut(id, from), version)?;
            }
            if !moved {
                self.show_left(run.cut(from, run.end()), left)?;
            }
        }
        Some(())
    }

    fn show_left(&mut self, run: Run, version: u64) -> Option<()> {
        let stamp = self.ends.stamp(i64::try_from(version).ok()?)?;
        if run.rows == 0 {
            return Some(());
        }
        self.label(run, ChangeType::Delete, stamp)
    }

    /// Shows both images of the rows that changed: one flag for each row of the pairs.
    fn show_pairs(&mut self, pairs: &[Pair], changed: &[bool]) {
        let mut changed = changed.iter();
        for pair in pairs {
            let both = [
                (pair.before, ChangeType::UpdatePreimage),
                (pair.now, ChangeType::UpdatePostimage),
            ];
            for at in 0..pair.now.rows {
                if changed.next() != Some(&true) {
                    continue;
                }
                for (run, change) in both {
                    let row = run.row.saturating_add(u64::from(at));
                    self.labels.push(run.piece, row, change, pair.stamp);
                }
            }
        }
    }
}
