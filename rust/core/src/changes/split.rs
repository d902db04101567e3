//! A part of the changes as a plain value: another process reads it without the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::Changes;
use super::definition::Definition;
use super::derive::Item;
use super::identify::Share;
use super::piece::Piece;
use super::plan::{DerivedCommits, NetPlan, Task, Teller};
use super::stream::ChangeRows;
use crate::error::{Error, Result};
use crate::replay::Source;

/// So many shares of net changes at most: each reads the numbers of all rows.
const MOST_SHARES: u64 = 64;

/// Some commits of a range, or some rows of what they come to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Split {
    definition: Definition,
    teller: Teller,
    tasks: Vec<Task>,
    bytes: u64,
}

impl Changes {
    /// The changes in parts of about `target_size` bytes of files. Together they are the changes; of
    /// full changes the parts come in their order. The commits of the range are read.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn splits(&self, target_size: u64) -> Result<Vec<Split>> {
        if target_size == 0 {
            return Err(Error::invalid(
                "split.size",
                "splits need a target size of at least 1 byte",
            ));
        }
        if self.net().is_some() {
            let plan = Arc::new(NetPlan::new(self)?);
            return Ok(self.shares(plan, target_size));
        }
        let mut splits: Vec<Split> = Vec::new();
        let mut current: Vec<Task> = Vec::new();
        let mut bytes = 0_u64;
        for derived in DerivedCommits::new(self)? {
            for (task, size) in pieces_of(derived?.work) {
                if !current.is_empty() && bytes.saturating_add(size) > target_size {
                    splits.push(self.split(std::mem::take(&mut current), bytes));
                    bytes = 0;
                }
                bytes = bytes.saturating_add(size);
                match (current.last_mut(), task) {
                    (Some(Task::Pieces(before)), Task::Pieces(more)) => before.extend(more),
                    (_, task) => current.push(task),
                }
            }
        }
        if !current.is_empty() {
            splits.push(self.split(current, bytes));
        }
        Ok(splits)
    }

    fn shares(&self, plan: Arc<NetPlan>, target_size: u64) -> Vec<Split> {
        let pieces = plan.commits.iter().flat_map(|(_, item)| item.pieces());
        let total = pieces.map(Piece::bytes).fold(0, u64::saturating_add);
        if total == 0 {
            return Vec::new();
        }
        let shares = total
            .div_ceil(target_size)
            .min(MOST_SHARES)
            .next_power_of_two();
        (0..shares)
            .map(|number| {
                let share = Share { number, of: shares };
                let task = Task::Net(Arc::clone(&plan), share);
                self.split(vec![task], total.div_ceil(shares))
            })
            .collect()
    }

    fn split(&self, tasks: Vec<Task>, bytes: u64) -> Split {
        Split::new(self.definition.clone(), self.teller.clone(), tasks, bytes)
    }
}

/// The steps of one commit that may be taken apart, with the bytes that each reads.
fn pieces_of(item: Item) -> Vec<(Task, u64)> {
    match item {
        Item::Pieces(pieces) => pieces
            .into_iter()
            .map(|piece| {
                let bytes = piece.bytes();
                (Task::Pieces(vec![piece]), bytes)
            })
            .collect(),
        compare => {
            let bytes = compare.pieces().map(Piece::bytes);
            let bytes = bytes.fold(0, u64::saturating_add);
            vec![(Task::of(compare), bytes)]
        }
    }
}

impl Split {
    pub(super) fn new(
        definition: Definition,
        teller: Teller,
        tasks: Vec<Task>,
        bytes: u64,
    ) -> Self {
        Self {
            definition,
            teller,
            tasks,
            bytes,
        }
    }

    /// The split as JSON; [`Split::from_json`] takes it in any process.
    ///
    /// # Errors
    ///
    /// None that can be brought about from outside.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|cause| {
            Error::invalid("split.json", "the split does not serialise").because(cause)
        })
    }

    /// The split that [`Split::to_json`] wrote.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.json`.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|cause| {
            let message = "this is no split of this version of the library: make the splits anew";
            Error::invalid("split.json", message).because(cause)
        })
    }

    /// The files as the log has them, each once, sorted.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = BTreeSet::new();
        let mut add = |piece: &Piece| {
            paths.insert(piece.file.path.clone());
        };
        for task in &self.tasks {
            match task {
                Task::Pieces(pieces) => pieces.iter().for_each(&mut add),
                Task::Compare(item, _) => item.pieces().for_each(&mut add),
                Task::Net(plan, _) => plan
                    .commits
                    .iter()
                    .flat_map(|(_, item)| item.pieces())
                    .for_each(&mut add),
            }
        }
        paths.into_iter().collect()
    }

    /// About how many bytes of files it covers.
    pub fn size_in_bytes(&self) -> u64 {
        self.bytes
    }

    /// The schema of its rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.definition.reading().map(|reading| reading.schema())
    }

    /// Its rows; `source` is the table's.
    pub fn rows(&self, source: &Source) -> Result<ChangeRows> {
        let reading = Arc::new(self.definition.reading()?);
        let tasks = Box::new(self.tasks.clone().into_iter().map(Ok));
        Ok(ChangeRows::new(
            source,
            &reading,
            self.teller.clone(),
            tasks,
        ))
    }
}
