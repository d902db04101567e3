//! Resolves the outcome of each row from all events on it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;

use super::{
    OUTCOMES, Shuffle, Shuffled, halves, numbers, schema_of, shuffle_error, take_complete,
};
use crate::changes::net::compare::{Differences, differences_in_memory};
use crate::changes::net::identify::IdentifiedRow;
use crate::changes::net::{Net, Outcomes};
use crate::changes::range::derive::MatchBy;
use crate::changes::rows::piece::ChangeType;
use crate::codec::batches::Batches;
use crate::error::Result;

const EVENTS_AT_ONCE: usize = 1 << 17;

/// Outcomes, batch by batch; events are read on demand.
struct OutcomeBatches {
    shuffle: Shuffle,
    schema: SchemaRef,
    events: Option<Shuffled>,
    pending: Vec<RowEvent>,
}

#[derive(Clone, Copy)]
struct RowEvent {
    row: IdentifiedRow,
    /// A hash of all values, if `drop_unchanged` needs it; otherwise 0.
    full_hash: u128,
    commit: u32,
}

impl RowEvent {
    fn adds_row(&self) -> bool {
        matches!(
            self.row.change,
            ChangeType::Insert | ChangeType::UpdatePostimage
        )
    }
}

/// Returns the outcomes of these events.
pub(super) fn outcomes(shuffle: &Shuffle, events: Shuffled) -> Batches {
    let schema = schema_of(&OUTCOMES);
    let mut batches = OutcomeBatches {
        shuffle: shuffle.clone(),
        schema: Arc::clone(&schema),
        events: Some(events),
        pending: Vec::new(),
    };
    Batches::from_fn(schema, move || batches.next_outcomes())
}

impl OutcomeBatches {
    fn next_outcomes(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(events) = &mut self.events else {
                return Ok(None);
            };
            match events.next() {
                Some(batch) => {
                    let batch = batch.map_err(|cause| {
                        shuffle_error("the events could not be read").because(cause)
                    })?;
                    append(&mut self.pending, &batch)?;
                }
                None => {
                    self.events = None;
                    let pending = std::mem::take(&mut self.pending);
                    return self.resolve(pending).map(Some);
                }
            }
            if self.pending.len() < EVENTS_AT_ONCE {
                continue;
            }
            if let Some(events) = take_complete(&mut self.pending, |event| event.row.identity) {
                return self.resolve(events).map(Some);
            }
        }
    }

    fn resolve(&self, mut events: Vec<RowEvent>) -> Result<RecordBatch> {
        let plan = &self.shuffle.plan;
        let mut outcomes = Outcomes::new(plan.way);
        events.sort_unstable_by_key(|event| {
            (
                event.commit,
                event.adds_row(),
                event.row.piece,
                event.row.row,
            )
        });
        for events in events.chunk_by(|left, right| left.commit == right.commit) {
            let Some(commit) = events.first().map(|event| event.commit) else {
                continue;
            };
            let rows = |added: bool| -> Vec<IdentifiedRow> {
                let events = events.iter().filter(|event| event.adds_row() == added);
                events.map(|event| event.row).collect()
            };
            let (removed, added) = (rows(false), rows(true));
            let differences = if self.shuffle.compares(commit) {
                differences_in_memory(removed, added)
            } else {
                Differences { removed, added }
            };
            outcomes.step(&differences, 0, commit).map_err(|error| {
                let commit = plan.commits.get(commit as usize);
                error.at_version(commit.map_or(0, |(stamp, _)| stamp.version))
            })?;
        }
        if plan.kind == Net::MinDelta {
            self.drop_unchanged(&mut outcomes, &events);
        }
        self.reported_rows(&outcomes)
    }

    /// Drops rows with the same values at the end as before.
    fn drop_unchanged(&self, outcomes: &mut Outcomes, events: &[RowEvent]) {
        let hash: fn(&RowEvent) -> u128 = match self.shuffle.plan.way {
            MatchBy::Rows => return,
            MatchBy::RowTracking => |event| event.full_hash,
            MatchBy::Key => |event| event.row.value_hash,
            // a row at its original position is unchanged
            _ => |_| 0,
        };
        let position = |event: &RowEvent| (event.row.piece, event.row.row);
        let hashes: HashMap<(u32, u64), u128> = events
            .iter()
            .map(|event| (position(event), hash(event)))
            .collect();
        outcomes.drop_equal(|before, after| hashes.get(&before) == hashes.get(&after));
    }

    fn reported_rows(&self, outcomes: &Outcomes) -> Result<RecordBatch> {
        let (mut pieces, mut rows) = (Vec::new(), Vec::new());
        let (mut changes, mut commits) = (Vec::new(), Vec::new());
        outcomes.visit_reported(self.shuffle.plan.kind, |(piece, row), change, commit| {
            pieces.push(piece.cast_signed());
            rows.push(row.cast_signed());
            changes.push(change.number().cast_signed());
            commits.push(commit.cast_signed());
        });
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(pieces)),
            Arc::new(Int64Array::from(rows)),
            Arc::new(Int8Array::from(changes)),
            Arc::new(Int32Array::from(commits)),
        ];
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|cause| shuffle_error("the columns do not fit the schema").because(cause))
    }
}

fn append(pending: &mut Vec<RowEvent>, batch: &RecordBatch) -> Result<()> {
    let wide_numbers = |at: usize| -> Result<Vec<u128>> {
        let high = numbers::<Int64Type>(batch, at)?.values().iter();
        let low = numbers::<Int64Type>(batch, at + 1)?.values().iter();
        let join = |(high, low): (&i64, &i64)| {
            u128::from(high.cast_unsigned()) << 64 | u128::from(low.cast_unsigned())
        };
        Ok(high.zip(low).map(join).collect())
    };
    let (identities, value_hashes, full_hashes) =
        (wide_numbers(0)?, wide_numbers(2)?, wide_numbers(4)?);
    let commits = numbers::<Int32Type>(batch, 6)?.values().iter();
    let pieces = numbers::<Int32Type>(batch, 7)?.values().iter();
    let rows = numbers::<Int64Type>(batch, 8)?.values().iter();
    let changes = numbers::<Int8Type>(batch, 9)?.values().iter();
    let numbers = identities.into_iter().zip(value_hashes).zip(full_hashes);
    let positions = commits.zip(pieces).zip(rows).zip(changes);
    for (((identity, value_hash), full_hash), (((commit, piece), row), change)) in
        numbers.zip(positions)
    {
        let event = RowEvent {
            row: IdentifiedRow {
                piece: piece.cast_unsigned(),
                row: row.cast_unsigned(),
                identity,
                value_hash,
                change: ChangeType::from_number(change.cast_unsigned()),
            },
            full_hash,
            commit: commit.cast_unsigned(),
        };
        if let Some(last) = pending.last()
            && halves(last.row.identity) > halves(identity)
        {
            return Err(shuffle_error(
                "its events are not sorted by `identity` and `identity_low`",
            ));
        }
        pending.push(event);
    }
    Ok(())
}
