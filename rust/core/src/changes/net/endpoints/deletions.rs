//! The versions in which rows were removed from the files that existed before the range.

use std::sync::Arc;

use super::Presence;
use crate::changes::net::runs::Run;
use crate::changes::rows::piece::Piece;
use crate::changes::rows::read::locate_error;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::replay::Source;
use crate::scan::deletion_vectors::load;

/// Rows and the version in which they were removed; `None` if they were moved.
pub(super) type Removal = (Run, Option<u64>);

/// Returns the versions in which rows were removed from files that existed before the range, by row id.
/// `None` if there are more than `max_rows` runs.
pub(super) fn removals(
    source: &Source,
    presences: &[Presence],
    pieces: &[Piece],
    mut removed: Vec<Run>,
    max_rows: usize,
) -> Result<Option<Vec<Removal>>> {
    // by file, so that the deletion vectors of only one file are held at a time
    removed.sort_unstable_by_key(|run| (run.piece, run.row));
    let mut removals: Vec<Removal> = Vec::with_capacity(removed.len());
    for runs in removed.chunk_by(|previous, next| previous.piece == next.piece) {
        let at = runs.first().map_or(0, |run| run.piece as usize);
        let (Some(Presence::Before(steps)), Some(piece)) = (presences.get(at), pieces.get(at))
        else {
            continue;
        };
        let version = |step: usize| {
            let step = steps.get(step).filter(|step| !step.moved)?;
            Some(step.version)
        };
        if steps.len() == 1 {
            removals.extend(runs.iter().map(|run| (*run, version(0))));
            continue;
        }
        let vectors = steps.iter().filter_map(|step| step.vector.clone());
        let vectors: Vec<_> = vectors.collect();
        let vectors = load(&source.storage, &source.resolver, &vectors).into_iter();
        let vectors: Result<Vec<Arc<DeletionVector>>> = vectors.collect();
        let vectors = vectors.map_err(|error| locate_error(error, piece))?;
        // a row in one of the vectors is in all later ones
        let step = |row: u64| vectors.partition_point(|vector| !vector.contains(row));
        for run in runs {
            let mut from = run.id;
            while from < run.end() {
                let rest = run.cut(from, run.end());
                let first = step(rest.row);
                let same = (1..rest.rows).take_while(|at| step(rest.row + u64::from(*at)) == first);
                let to = from.saturating_add(1 + i64::try_from(same.count()).unwrap_or(0));
                removals.push((run.cut(from, to), version(first)));
                if removals.len() > max_rows {
                    return Ok(None);
                }
                from = to;
            }
        }
    }
    removals.sort_unstable_by_key(|(run, _)| run.id);
    Ok(Some(removals))
}
