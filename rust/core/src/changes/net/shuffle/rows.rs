//! Reads the reported rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};

use super::{Shuffle, Shuffled, numbers, shuffle_error, take_complete};
use crate::changes::net::compare::LabelledPieces;
use crate::changes::rows::piece::{ChangeType, Piece};
use crate::changes::rows::read::{PieceBatches, changed_rows};
use crate::changes::rows::row_schema::ResolvedDefinition;
use crate::codec::batches::Batches;
use crate::error::Result;
use crate::replay::Source;

/// The number of outcomes collected before files are read; those of a piece are never separated.
const OUTCOMES_AT_ONCE: usize = 1 << 20;

/// Reported rows, batch by batch; outcomes are read on demand.
struct ReportedRows {
    shuffle: Shuffle,
    source: Source,
    resolved: Arc<ResolvedDefinition>,
    outcomes: Option<Shuffled>,
    pending: Vec<Outcome>,
    current: Option<PieceBatches<RecordBatch>>,
}

#[derive(Clone, Copy)]
struct Outcome {
    piece: u32,
    row: u64,
    change: ChangeType,
    commit: u32,
}

/// Returns the rows of these outcomes.
pub(super) fn rows(shuffle: &Shuffle, source: &Source, outcomes: Shuffled) -> Result<Batches> {
    let mut rows = ReportedRows {
        resolved: Arc::new(shuffle.definition.resolve()?),
        shuffle: shuffle.clone(),
        source: source.clone(),
        outcomes: Some(outcomes),
        pending: Vec::new(),
        current: None,
    };
    let schema = rows.resolved.schema();
    Ok(Batches::from_fn(schema, move || rows.next_rows()))
}

impl ReportedRows {
    /// Returns the next pieces with their labels; none at the end.
    fn next_pieces(&mut self) -> Result<Vec<Piece>> {
        while let Some(outcomes) = &mut self.outcomes {
            let Some(batch) = outcomes.next() else {
                self.outcomes = None;
                break;
            };
            let batch = batch
                .map_err(|cause| shuffle_error("the outcomes could not be read").because(cause))?;
            append(&mut self.pending, &batch)?;
            if self.pending.len() < OUTCOMES_AT_ONCE {
                continue;
            }
            if let Some(outcomes) = take_complete(&mut self.pending, |outcome| outcome.piece) {
                return self.labelled(&outcomes);
            }
        }
        let pending = std::mem::take(&mut self.pending);
        self.labelled(&pending)
    }

    fn labelled(&self, outcomes: &[Outcome]) -> Result<Vec<Piece>> {
        let mut indexes: BTreeMap<u32, u32> =
            outcomes.iter().map(|outcome| (outcome.piece, 0)).collect();
        let mut pieces = Vec::with_capacity(indexes.len());
        let mut all = self.shuffle.pieces();
        let mut next = 0_usize;
        for (number, index) in &mut indexes {
            let skipped = (*number as usize).saturating_sub(next);
            let Some((_, piece)) = all.nth(skipped) else {
                return Err(shuffle_error(
                    "an outcome refers to a file that is not in the range",
                ));
            };
            next += skipped + 1;
            *index = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
            pieces.push(piece.clone());
        }
        let mut labels = LabelledPieces::new(pieces);
        for outcome in outcomes {
            let commit = self.shuffle.plan.commits.get(outcome.commit as usize);
            let (Some(index), Some((stamp, _))) = (indexes.get(&outcome.piece), commit) else {
                return Err(shuffle_error(
                    "an outcome refers to a commit that is not in the range",
                ));
            };
            labels.push(*index, outcome.row, outcome.change, *stamp);
        }
        labels.finish()
    }

    fn next_rows(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(batch) = current.next() {
                    return batch.map(Some);
                }
                self.current = None;
            }
            let pieces = self.next_pieces()?;
            if pieces.is_empty() {
                return Ok(None);
            }
            self.current = Some(changed_rows(&self.source, &self.resolved, pieces));
        }
    }
}

fn append(pending: &mut Vec<Outcome>, batch: &RecordBatch) -> Result<()> {
    let pieces = numbers::<Int32Type>(batch, 0)?.values().iter();
    let rows = numbers::<Int64Type>(batch, 1)?.values().iter();
    let changes = numbers::<Int8Type>(batch, 2)?.values().iter();
    let commits = numbers::<Int32Type>(batch, 3)?.values().iter();
    for (((piece, row), change), commit) in pieces.zip(rows).zip(changes).zip(commits) {
        pending.push(Outcome {
            piece: piece.cast_unsigned(),
            row: row.cast_unsigned(),
            change: ChangeType::from_number(change.cast_unsigned()),
            commit: commit.cast_unsigned(),
        });
    }
    Ok(())
}
