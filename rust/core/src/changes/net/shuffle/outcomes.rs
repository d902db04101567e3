//! Resolves the outcomes of rows from all events on each row.

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
use crate::error::Result;

const EVENTS_AT_ONCE: usize = 1 << 17;

/// Outcomes, batch by batch; events are read on demand.
pub struct OutcomeBatches {
    shuffle: Shuffle,
    schema: SchemaRef,
    events: Option<Shuffled>,
    pending: Vec<RowEvent>,
}

#[derive(Clone, Copy)]
struct RowEvent {
    row: IdentifiedRow,
    values: u128,
    commit: u32,
}

impl RowEvent {
    fn is_added(&self) -> bool {
        matches!(
            self.row.change,
            ChangeType::Insert | ChangeType::UpdatePostimage
        )
    }
}

impl OutcomeBatches {
    pub(super) fn new(shuffle: &Shuffle, events: Shuffled) -> Self {
        Self {
            shuffle: shuffle.clone(),
            schema: schema_of(&OUTCOMES),
            events: Some(events),
            pending: Vec::new(),
        }
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

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
                event.is_added(),
                event.row.piece,
                event.row.row,
            )
        });
        for events in events.chunk_by(|left, right| left.commit == right.commit) {
            let Some(commit) = events.first().map(|event| event.commit) else {
                continue;
            };
            let rows = |is_added: bool| -> Vec<IdentifiedRow> {
                let events = events.iter().filter(|event| event.is_added() == is_added);
                events.map(|event| event.row).collect()
            };
            let (removed, new) = (rows(false), rows(true));
            let differences = if self.shuffle.compares(commit) {
                differences_in_memory(removed, new)
            } else {
                Differences { removed, new }
            };
            outcomes.step(&differences, 0, commit).map_err(|error| {
                let version = plan.commits.get(commit as usize);
                error.at_version(version.map_or(0, |(stamp, _)| stamp.version))
            })?;
        }
        if plan.kind == Net::MinDelta {
            self.drop_unchanged(&mut outcomes, &events);
        }
        self.reported_rows(&outcomes)
    }

    /// Drops rows with the same values at the end as before.
    fn drop_unchanged(&self, outcomes: &mut Outcomes, events: &[RowEvent]) {
        let value: fn(&RowEvent) -> u128 = match self.shuffle.plan.way {
            MatchBy::Rows => return,
            MatchBy::RowTracking => |event| event.values,
            MatchBy::Key => |event| event.row.value_hash,
            // a row at its original position is unchanged
            _ => |_| 0,
        };
        let position = |event: &RowEvent| (event.row.piece, event.row.row);
        let values: HashMap<(u32, u64), u128> = events
            .iter()
            .map(|event| (position(event), value(event)))
            .collect();
        outcomes.drop_equal(|before, after| values.get(&before) == values.get(&after));
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
        RecordBatch::try_new(self.schema(), columns)
            .map_err(|cause| shuffle_error("columns do not fit").because(cause))
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
    let (identities, hashes, values) = (wide_numbers(0)?, wide_numbers(2)?, wide_numbers(4)?);
    let commits = numbers::<Int32Type>(batch, 6)?.values().iter();
    let pieces = numbers::<Int32Type>(batch, 7)?.values().iter();
    let rows = numbers::<Int64Type>(batch, 8)?.values().iter();
    let changes = numbers::<Int8Type>(batch, 9)?.values().iter();
    let numbers = identities.into_iter().zip(hashes).zip(values);
    let positions = commits.zip(pieces).zip(rows).zip(changes);
    for (((identity, value_hash), values), (((commit, piece), row), change)) in
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
            values,
            commit: commit.cast_unsigned(),
        };
        if let Some(last) = pending.last()
            && halves(last.row.identity) > halves(identity)
        {
            return Err(shuffle_error("its events are not sorted by row"));
        }
        pending.push(event);
    }
    Ok(())
}

impl Iterator for OutcomeBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_outcomes().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.events = None;
        }
        next
    }
}
