//! Reconciles the file actions of a tail: the newest action on each file counts.
//!
//! Takes [`ActionBatch`]es newest first; returns the live adds and tombstones of each. The resulting key
//! set is all that is needed to filter the checkpoint.
//!
//! Protocol: "Action Reconciliation".

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBufferBuilder;

use super::key::{FileActionKey, KeySet, Keys};
use crate::codec::columns::filter_rows;
use crate::codec::commit::{ActionBatch, FileActions};
use crate::error::Result;

/// Decides between actions on the same file.
#[derive(Debug)]
pub struct Reconciler {
    keys: Keys,
    seen: KeySet,
}

/// The live rows of one batch, in log order.
#[derive(Clone, Debug, Default)]
pub struct LiveActions {
    /// Live `add` rows.
    pub adds: Option<RecordBatch>,
    /// The key of each live `add`.
    pub add_keys: Vec<FileActionKey>,
    /// Live `remove` rows: tombstones.
    pub removes: Option<RecordBatch>,
}

impl Reconciler {
    /// Creates a reconciler without any actions.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            seen: KeySet::default(),
        }
    }

    /// Adds a batch that is older than all previous ones.
    pub fn add_older(&mut self, batch: &ActionBatch) -> Result<LiveActions> {
        let mut adds = ActionStack::new(batch.adds.as_ref(), &self.keys)?;
        let mut removes = ActionStack::new(batch.removes.as_ref(), &self.keys)?;
        loop {
            let stack = if adds.position() > removes.position() {
                &mut adds
            } else {
                &mut removes
            };
            let Some(key) = stack.pop() else { break };
            let unseen = self.seen.insert(key);
            stack.live.set_bit(stack.left, unseen);
        }
        Ok(LiveActions {
            add_keys: adds.live_keys(),
            adds: adds.finish()?,
            removes: removes.finish()?,
        })
    }

    /// Returns the keys of all files in the actions.
    pub fn into_seen(self) -> KeySet {
        self.seen
    }
}

/// The rows of one kind of action, consumed from the end.
struct ActionStack<'a> {
    rows: Option<&'a RecordBatch>,
    sequence: &'a [u32],
    keys: Vec<FileActionKey>,
    live: BooleanBufferBuilder,
    left: usize,
}

impl<'a> ActionStack<'a> {
    fn new(actions: Option<&'a FileActions>, keys: &Keys) -> Result<Self> {
        let count = actions.map_or(0, |actions| actions.rows.num_rows());
        let mut live = BooleanBufferBuilder::new(count);
        live.append_n(count, false);
        Ok(Self {
            rows: actions.map(|actions| &actions.rows),
            sequence: actions.map_or(&[], |actions| &actions.sequence),
            keys: actions
                .map(|actions| keys.of_batch(&actions.rows))
                .transpose()?
                .unwrap_or_default(),
            live,
            left: count,
        })
    }

    /// Returns the position of the newest remaining action, or `None`, which sorts before all positions.
    fn position(&self) -> Option<u32> {
        self.sequence.get(self.left.checked_sub(1)?).copied()
    }

    fn pop(&mut self) -> Option<FileActionKey> {
        self.left = self.left.checked_sub(1)?;
        self.keys.get(self.left).copied()
    }

    fn live_keys(&self) -> Vec<FileActionKey> {
        let keys = self.keys.iter().enumerate();
        let live = keys.filter(|(row, _)| self.live.get_bit(*row));
        live.map(|(_, key)| *key).collect()
    }

    fn finish(mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = self.rows else {
            return Ok(None);
        };
        let mask = BooleanArray::new(self.live.finish(), None);
        if mask.true_count() == rows.num_rows() {
            return Ok(Some(rows.clone()));
        }
        filter_rows(rows, &mask).map(Some)
    }
}
