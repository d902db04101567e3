//! Net changes by a shuffle, for more rows than a single process can compare.
//!
//! Other processes can run each of the three steps. [`Shuffle::row_events`] returns the identity of each row
//! of some files and the change to it. After a shuffle by row, [`Shuffle::outcomes`] resolves the outcome of
//! each row. After a shuffle by file, [`Shuffle::rows`] reads the reported rows. A step holds about 130,000
//! events or a million outcomes, but at least all events of one row or all outcomes of one file.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, PrimitiveArray, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::changes::net::identify::Share;
use crate::changes::plan::{IdentityOptions, NetPlan, Task, shared};
use crate::changes::range::derive::CommitRows;
use crate::changes::rows::piece::Piece;
use crate::changes::rows::row_schema::ChangesDefinition;
use crate::changes::rows::split::{Split, check_size};
use crate::changes::{Changes, Kind};
use crate::codec::batches::Batches;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::snapshot::plain_value::PlainValue;
use crate::spec::file_size::group_by_size;

mod outcomes;
mod row_events;
mod rows;

/// The input of a step: the output of the one before it.
pub type Shuffled = Box<dyn RecordBatchReader + Send>;

/// The columns of events: identity and value hash in halves, position, change.
const ROW_EVENTS: [(&str, DataType); 10] = [
    ("identity", DataType::Int64),
    ("identity_low", DataType::Int64),
    ("value_hash", DataType::Int64),
    ("value_hash_low", DataType::Int64),
    ("values", DataType::Int64),
    ("values_low", DataType::Int64),
    ("commit", DataType::Int32),
    ("piece", DataType::Int32),
    ("row", DataType::Int64),
    ("change", DataType::Int8),
];

const OUTCOMES: [(&str, DataType); 4] = [
    ("piece", DataType::Int32),
    ("row", DataType::Int64),
    ("change", DataType::Int8),
    ("commit", DataType::Int32),
];

/// A plan of net changes that many processes execute: a plain value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shuffle {
    definition: ChangesDefinition,
    identity_options: IdentityOptions,
    #[serde(with = "shared")]
    plan: Arc<NetPlan>,
}

impl Changes {
    /// Returns the steps of net changes; `None` for full changes. Reads the commits of the range.
    ///
    /// # Errors
    ///
    /// As [`Changes::explain`].
    pub fn shuffle(&self) -> Result<Option<Shuffle>> {
        if self.options.kind == Kind::Full {
            return Ok(None);
        }
        Ok(Some(Shuffle {
            definition: self.definition.clone(),
            identity_options: self.identity_options.clone(),
            plan: Arc::new(NetPlan::new(self)?),
        }))
    }
}

impl PlainValue for Shuffle {
    const CODE: &'static str = "changes.shuffle";
    const NAME: &'static str = "a shuffle of changes";
}

impl Shuffle {
    /// Returns all pieces of files, each with the index of its commit.
    fn pieces(&self) -> impl Iterator<Item = (usize, &Piece)> {
        let commits = self.plan.commits.iter().enumerate();
        commits.flat_map(|(number, (_, commit_rows))| {
            commit_rows.pieces().map(move |piece| (number, piece))
        })
    }

    /// Returns ranges of pieces of about `target_size` bytes of files, each for one task.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn parts(&self, target_size: u64) -> Result<Vec<(u32, u32)>> {
        check_size(target_size)?;
        let pieces = (0_u32..).zip(self.pieces());
        let parts = group_by_size(pieces, target_size, |(_, (_, piece))| piece.bytes()).into_iter();
        let bounds = |part: Vec<(u32, _)>| Some((part.first()?.0, part.last()?.0 + 1));
        Ok(parts.filter_map(bounds).collect())
    }

    /// Returns the same changes without a shuffle: as shares of about `target_size` bytes of files.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn splits(&self, target_size: u64) -> Result<Vec<Split>> {
        check_size(target_size)?;
        let (definition, options) = (&self.definition, &self.identity_options);
        let tasks = vec![Task::Net(Arc::clone(&self.plan), Share::ALL)];
        Ok(Split::of_tasks(definition, options, tasks, target_size))
    }

    /// Returns `true` if rows are followed through all commits; otherwise the endpoints of the range
    /// probably suffice, and shares of the rows cost less than a shuffle.
    pub fn follows_commits(&self) -> bool {
        self.plan.moves.is_none()
    }

    /// Returns the events on the rows of these pieces; files are read as events are pulled.
    pub fn row_events(&self, source: &Source, part: (u32, u32)) -> Result<Batches> {
        row_events::row_events(self, source, part)
    }

    /// Returns the outcomes of the rows of these events, which must be complete for each row and sorted by
    /// `identity` and `identity_low`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `changes.shuffle` when the columns are not those of events.
    pub fn outcomes(&self, events: Shuffled) -> Result<Batches> {
        check_columns(&events.schema(), &ROW_EVENTS)?;
        Ok(outcomes::outcomes(self, events))
    }

    /// Returns the rows of these outcomes. Those of one piece must be adjacent.
    ///
    /// # Errors
    ///
    /// Invalid argument: `changes.shuffle` when the columns are not those of outcomes.
    pub fn rows(&self, source: &Source, outcomes: Shuffled) -> Result<Batches> {
        check_columns(&outcomes.schema(), &OUTCOMES)?;
        rows::rows(self, source, outcomes)
    }

    /// Returns `true` if rows of a commit may have been carried over.
    fn compares(&self, commit: u32) -> bool {
        let commit_rows = self.plan.commits.get(commit as usize);
        matches!(commit_rows, Some((_, CommitRows::Compare { .. })))
    }
}

fn shuffle_error(reason: &str) -> Error {
    let message = format!("the shuffle of changes failed: {reason}");
    Error::invalid("changes.shuffle", message)
}

fn schema_of(columns: &[(&str, DataType)]) -> SchemaRef {
    let fields = columns
        .iter()
        .map(|(name, data_type)| Field::new(*name, data_type.clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn check_columns(schema: &Schema, expected: &[(&str, DataType)]) -> Result<()> {
    let fields = schema.fields().iter();
    let columns = fields.map(|field| (field.name().as_str(), field.data_type()));
    if columns.eq(expected.iter().map(|(name, data_type)| (*name, data_type))) {
        return Ok(());
    }
    Err(shuffle_error(
        "the columns are not those of the step before",
    ))
}

/// Splits a number into two halves that every engine can sort by.
fn halves(number: u128) -> (i64, i64) {
    let low = number & u128::from(u64::MAX);
    let half = |half: u128| u64::try_from(half).unwrap_or_default().cast_signed();
    (half(number >> 64), half(low))
}

/// Takes all items except those with the key of the last one, which may continue in the next batch; `None`
/// if all have that key.
fn take_complete<T, K: PartialEq>(pending: &mut Vec<T>, key: impl Fn(&T) -> K) -> Option<Vec<T>> {
    let last = pending.last().map(&key)?;
    let index = pending.iter().rposition(|item| key(item) != last)?;
    let rest = pending.split_off(index + 1);
    Some(std::mem::replace(pending, rest))
}

/// Returns a column of numbers without nulls.
fn numbers<T: ArrowPrimitiveType>(batch: &RecordBatch, at: usize) -> Result<&PrimitiveArray<T>> {
    let column = batch.columns().get(at);
    let column = column.and_then(|column| column.as_primitive_opt::<T>());
    let column = column.filter(|column| column.null_count() == 0);
    column.ok_or_else(|| shuffle_error("a column is not that of the step before"))
}
