//! What came of rows, once all notes on each are together.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;

use super::{FATES, Shuffle, Shuffled, halves, numbers, odd, schema_of};
use crate::changes::compare::{Differences, cancel};
use crate::changes::derive::Way;
use crate::changes::identify::{Seen, change_of, number_of};
use crate::changes::net::{Fates, Net};
use crate::changes::piece::ChangeType;
use crate::error::{Error, Result};

/// So many notes are judged at once.
const NOTES_AT_ONCE: usize = 1 << 17;

/// Fates, batch by batch, as notes are pulled.
pub struct Judged {
    shuffle: Shuffle,
    schema: SchemaRef,
    notes: Option<Shuffled>,
    held: Vec<Note>,
}

#[derive(Clone, Copy)]
struct Note {
    seen: Seen,
    values: u128,
    commit: u32,
}

impl Note {
    fn came(&self) -> bool {
        matches!(
            self.seen.change,
            ChangeType::Insert | ChangeType::UpdatePostimage
        )
    }
}

impl Judged {
    pub(super) fn new(shuffle: &Shuffle, notes: Shuffled) -> Self {
        Self {
            shuffle: shuffle.clone(),
            schema: schema_of(&FATES),
            notes: Some(notes),
            held: Vec::new(),
        }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(notes) = &mut self.notes else {
                return Ok(None);
            };
            match notes.next() {
                Some(batch) => {
                    let batch = batch.map_err(|cause| odd("notes do not come").because(cause))?;
                    hold(&mut self.held, &batch)?;
                }
                None => {
                    self.notes = None;
                    let held = std::mem::take(&mut self.held);
                    return self.judge(held).map(Some);
                }
            }
            if self.held.len() < NOTES_AT_ONCE {
                continue;
            }
            // the last row may have more notes
            let last = self.held.last().map(|note| note.seen.who);
            let known = self
                .held
                .iter()
                .rposition(|note| Some(note.seen.who) != last);
            if let Some(known) = known {
                let rest = self.held.split_off(known + 1);
                let held = std::mem::replace(&mut self.held, rest);
                return self.judge(held).map(Some);
            }
        }
    }

    fn judge(&self, mut notes: Vec<Note>) -> Result<RecordBatch> {
        let plan = &self.shuffle.plan;
        let mut fates = Fates::new(plan.way);
        notes.sort_unstable_by_key(|note| {
            (note.commit, note.came(), note.seen.piece, note.seen.row)
        });
        for notes in notes.chunk_by(|one, other| one.commit == other.commit) {
            let Some(commit) = notes.first().map(|note| note.commit) else {
                continue;
            };
            let (gone, new): (Vec<&Note>, Vec<&Note>) = notes.iter().partition(|note| !note.came());
            let seen = |notes: Vec<&Note>| -> Vec<Seen> {
                notes.into_iter().map(|note| note.seen).collect()
            };
            let (gone, new) = (seen(gone), seen(new));
            let Differences { gone, new } = if self.shuffle.compares(commit) {
                cancel(gone, new)
            } else {
                Differences { gone, new }
            };
            fates.step(&gone, &new, commit).map_err(|error: Error| {
                let stamp = plan.commits.get(commit as usize).map(|(stamp, _)| *stamp);
                error.at_version(stamp.map_or(0, |stamp| stamp.version))
            })?;
        }
        if plan.kind == Net::MinDelta {
            self.drop_unchanged(&mut fates, &notes);
        }
        self.shown(&fates)
    }

    /// Forgets rows that hold at the end what they held before.
    fn drop_unchanged(&self, fates: &mut Fates, notes: &[Note]) {
        let value: fn(&Note) -> u128 = match self.shuffle.plan.way {
            Way::Rows => return,
            Way::RowTracking => |note| note.values,
            Way::Key => |note| note.seen.what,
            // a row that is in its place again is what it was
            _ => |_| 0,
        };
        let place = |note: &Note| (note.seen.piece, note.seen.row);
        let values: HashMap<(u32, u64), u128> = notes
            .iter()
            .map(|note| (place(note), value(note)))
            .collect();
        fates.drop_equal(|before, now| values.get(&before) == values.get(&now));
    }

    fn shown(&self, fates: &Fates) -> Result<RecordBatch> {
        let (mut pieces, mut rows) = (Vec::new(), Vec::new());
        let (mut changes, mut commits) = (Vec::new(), Vec::new());
        fates.marks(self.shuffle.plan.kind, |(piece, row), change, commit| {
            pieces.push(piece.cast_signed());
            rows.push(row.cast_signed());
            changes.push(number_of(change).cast_signed());
            commits.push(commit.cast_signed());
        });
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(pieces)),
            Arc::new(Int64Array::from(rows)),
            Arc::new(Int8Array::from(changes)),
            Arc::new(Int32Array::from(commits)),
        ];
        RecordBatch::try_new(self.schema(), columns)
            .map_err(|cause| odd("columns do not fit").because(cause))
    }
}

/// Puts notes behind the others.
fn hold(held: &mut Vec<Note>, batch: &RecordBatch) -> Result<()> {
    let whole = |at: usize| -> Result<Vec<u128>> {
        let high = numbers::<Int64Type>(batch, at)?.values().iter();
        let low = numbers::<Int64Type>(batch, at + 1)?.values().iter();
        let whole = |(high, low): (&i64, &i64)| {
            u128::from(high.cast_unsigned()) << 64 | u128::from(low.cast_unsigned())
        };
        Ok(high.zip(low).map(whole).collect())
    };
    let (owners, contents, values) = (whole(0)?, whole(2)?, whole(4)?);
    let commits = numbers::<Int32Type>(batch, 6)?.values().iter();
    let pieces = numbers::<Int32Type>(batch, 7)?.values().iter();
    let rows = numbers::<Int64Type>(batch, 8)?.values().iter();
    let changes = numbers::<Int8Type>(batch, 9)?.values().iter();
    let numbers = owners.into_iter().zip(contents).zip(values);
    let places = commits.zip(pieces).zip(rows).zip(changes);
    for (((who, what), values), (((commit, piece), row), change)) in numbers.zip(places) {
        let note = Note {
            seen: Seen {
                piece: piece.cast_unsigned(),
                row: row.cast_unsigned(),
                who,
                what,
                change: change_of(change.cast_unsigned()),
            },
            values,
            commit: commit.cast_unsigned(),
        };
        if held
            .last()
            .is_some_and(|last| halves(last.seen.who) > halves(who))
        {
            return Err(odd("its notes are not sorted by row"));
        }
        held.push(note);
    }
    Ok(())
}

impl Iterator for Judged {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.pull().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.notes = None;
        }
        next
    }
}
