//! The net outcome of a range: the rows before it and after it are read, matched by id, and compared.

use std::sync::Arc;

use super::deletions::removals;
use super::matcher::RowMatcher;
use super::values::label_changed;
use super::{EndpointFiles, Presence, needs_before};
use crate::changes::net::Net;
use crate::changes::net::compare::{Compared, LabelledPieces};
use crate::changes::net::identify::{Share, ShareReader};
use crate::changes::net::runs::{Run, has_duplicates, read, sort};
use crate::changes::rows::piece::Piece;
use crate::error::Result;

/// Returns the net outcome of a range for one share of the rows; `None` if its endpoints do not suffice.
pub(in crate::changes) fn net(
    reader: ShareReader<'_>,
    kind: Net,
    files: &EndpointFiles,
) -> Result<Option<Compared>> {
    if files.restores_rows(reader.source)? {
        return Ok(None);
    }
    let max_rows = reader.max_rows();
    let (presences, pieces): (Vec<Presence>, Vec<Piece>) = files
        .pieces
        .iter()
        .filter(|(presence, _)| matches!(presence, Presence::After) || needs_before(kind))
        .cloned()
        .unzip();
    let Some((before, after, counts)) = read_runs(reader, &presences, &pieces)? else {
        return Ok(Some(Compared::TooMany));
    };
    if has_duplicates(&before) || has_duplicates(&after) {
        return Ok(None);
    }
    let mut matcher = RowMatcher {
        files,
        kind,
        pieces: &pieces,
        labels: LabelledPieces::new(pieces.clone()),
        removed: Vec::new(),
        pairs: Vec::new(),
    };
    if matcher.match_rows(&before, &after).is_none() {
        return Ok(None);
    }
    drop((before, after));
    if reader.share == Share::ALL {
        for (piece, count) in (0..).zip(counts) {
            matcher.labels.set_num_rows(piece, count);
        }
    }
    let removed = std::mem::take(&mut matcher.removed);
    let Some(within) = removals_within(reader, &files.removed_within, &removed)? else {
        return Ok(Some(Compared::TooMany));
    };
    let Some(removed) = removals(reader.source, &presences, &pieces, removed, max_rows)? else {
        return Ok(Some(Compared::TooMany));
    };
    if matcher.label_removed(&removed, &within).is_none() {
        return Ok(None);
    }
    finish(reader, matcher)
}

/// The runs before and after, ascending by id, and the number of rows of each piece.
type Runs = (Vec<Run>, Vec<Run>, Vec<u64>);

/// Reads the runs of both sides; `None` if they exceed the limit.
fn read_runs(
    reader: ShareReader<'_>,
    presences: &[Presence],
    pieces: &[Piece],
) -> Result<Option<Runs>> {
    let max_rows = reader.max_rows();
    let (mut before, mut after): (Vec<Run>, Vec<Run>) = (Vec::new(), Vec::new());
    let mut counts = vec![0_u64; pieces.len()];
    let mut full = false;
    let mut take = |run: Run| {
        let at = run.piece as usize;
        if let Some(count) = counts.get_mut(at) {
            *count += u64::from(run.rows);
        }
        match presences.get(at) {
            Some(Presence::After) => after.push(run),
            _ => before.push(run),
        }
        full = before.len() + after.len() > max_rows;
        !full
    };
    read(reader, pieces.to_vec(), &mut take)?;
    if full {
        return Ok(None);
    }
    sort(&mut before)?;
    sort(&mut after)?;
    Ok(Some((before, after, counts)))
}

/// Returns the ids of `removed` rows that were also removed from a file added in the range, each with the
/// version of that removal, ascending; `None` if they exceed the limit.
fn removals_within(
    reader: ShareReader<'_>,
    removed_within: &[Piece],
    removed: &[Run],
) -> Result<Option<Vec<(i64, u64)>>> {
    let mut removals: Vec<(i64, u64)> = Vec::new();
    if removed.is_empty() || removed_within.is_empty() {
        return Ok(Some(removals));
    }
    let max_rows = reader.max_rows();
    let mut full = false;
    let mut take = |run: Run| {
        let version = removed_within
            .get(run.piece as usize)
            .and_then(Piece::version);
        let version = version.unwrap_or_default();
        for removed in overlapping(removed, &run) {
            let ids = removed.id.max(run.id)..removed.end().min(run.end());
            let capacity = max_rows.saturating_add(1).saturating_sub(removals.len());
            removals.extend(ids.map(|id| (id, version)).take(capacity));
        }
        full = removals.len() > max_rows;
        !full
    };
    read(reader, removed_within.to_vec(), &mut take)?;
    removals.sort_unstable();
    Ok(if full { None } else { Some(removals) })
}

/// Compares the values of the pairs, and labels those that changed.
fn finish(reader: ShareReader<'_>, mut matcher: RowMatcher<'_>) -> Result<Option<Compared>> {
    let counts = matcher.pairs.iter().map(|pair| pair.count as usize);
    if counts.fold(0, usize::saturating_add) > reader.max_rows() {
        return Ok(Some(Compared::TooMany));
    }
    let stamps = Arc::new(matcher.files.stamps.clone());
    label_changed(
        reader,
        matcher.pieces,
        &matcher.pairs,
        &stamps,
        &mut matcher.labels,
    )?;
    let pieces = matcher.labels.finish()?;
    Ok(Some(Compared::Pieces(pieces)))
}

/// Returns the runs that have an id in common with `other`; `runs` ascend and are disjoint.
fn overlapping<'a>(runs: &'a [Run], other: &Run) -> impl Iterator<Item = &'a Run> {
    let start = runs.partition_point(|run| run.end() <= other.id);
    let end = other.end();
    let runs = runs.get(start..).unwrap_or_default().iter();
    runs.take_while(move |run| run.id < end)
}
