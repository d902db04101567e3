//! Net changes by a shuffle, where too many rows changed for one machine.
//!
//! Other processes take three steps. [`Shuffle::events`] says of every row of some files which row it is
//! and what happened to it. After a shuffle by row, [`Shuffle::outcomes`] resolves the outcome of each. After
//! a shuffle by file, [`Shuffle::rows`] reads those that are shown. What one step holds is what belongs
//! to some thousand rows, or the outcomes of the rows of one file.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, PrimitiveArray, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::changes::Changes;
use crate::changes::plan::{IdentityOptions, NetPlan, shared};
use crate::changes::range::derive::Item;
use crate::changes::rows::piece::Piece;
use crate::changes::rows::row_schema::ChangesDefinition;
use crate::changes::rows::split::{Split, check_size};
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::snapshot::plain_value::PlainValue;
use crate::spec::file_size::runs;

mod outcomes;
mod row_events;
mod rows;

pub use outcomes::OutcomeBatches;
pub use row_events::RowEvents;
pub use rows::ShownRows;

/// The input of a step: the output of the one before it.
pub type Shuffled = Box<dyn RecordBatchReader + Send>;

/// The columns of events: which row it is and what it holds, as halves of numbers; where it is; what
/// happened to it.
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

/// The columns of outcomes: which row of which piece is shown as what, and by which commit.
const OUTCOMES: [(&str, DataType); 4] = [
    ("piece", DataType::Int32),
    ("row", DataType::Int64),
    ("change", DataType::Int8),
    ("commit", DataType::Int32),
];

/// Net changes to be worked out by many processes: a plain value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shuffle {
    definition: ChangesDefinition,
    identity_options: IdentityOptions,
    #[serde(with = "shared")]
    plan: Arc<NetPlan>,
}

impl Changes {
    /// The steps of net changes; `None` for full ones. The commits of the range are read.
    ///
    /// # Errors
    ///
    /// Invalid argument: `changes.identity`; errors of the log.
    pub fn shuffle(&self) -> Result<Option<Shuffle>> {
        if self.net().is_none() {
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
    const WHAT: &'static str = "a shuffle of changes";
}

impl Shuffle {
    /// All pieces of files, each with the number of its commit.
    fn pieces(&self) -> impl Iterator<Item = (usize, &Piece)> {
        let commits = self.plan.commits.iter().enumerate();
        commits.flat_map(|(number, (_, item))| item.pieces().map(move |piece| (number, piece)))
    }

    /// Pieces of about `target_size` bytes of files, first and after the last: for a task each.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn parts(&self, target_size: u64) -> Result<Vec<(u32, u32)>> {
        check_size(target_size)?;
        let pieces = (0_u32..).zip(self.pieces());
        let parts = runs(pieces, target_size, |(_, (_, piece))| piece.bytes()).into_iter();
        let bounds = |part: Vec<(u32, _)>| Some((part.first()?.0, part.last()?.0 + 1));
        Ok(parts.filter_map(bounds).collect())
    }

    /// The same rows without a shuffle: shares of them, of about `target_size` bytes of files.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn splits(&self, target_size: u64) -> Result<Vec<Split>> {
        check_size(target_size)?;
        let plan = Arc::clone(&self.plan);
        let (definition, identity_options) =
            (self.definition.clone(), self.identity_options.clone());
        Ok(Split::of_net(
            definition,
            identity_options,
            plan,
            target_size,
        ))
    }

    /// Returns `true` if rows are followed through all commits: else the ends of the range are
    /// likely to decide everything, and shares of the rows take less work than a shuffle.
    pub fn follows_commits(&self) -> bool {
        self.plan.moves.is_none()
    }

    /// Events on the rows of these pieces.
    ///
    /// # Errors
    ///
    /// The errors of the definition; files are read as events are pulled.
    pub fn row_events(&self, source: &Source, part: (u32, u32)) -> Result<RowEvents> {
        RowEvents::new(self, source, part)
    }

    /// Returns the outcomes of the rows of these events: all events on a row are there, and rows
    /// ascend by `who` and `who_low`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `changes.shuffle` when these are no events.
    pub fn outcomes(&self, events: Shuffled) -> Result<OutcomeBatches> {
        check_columns(&events.schema(), &ROW_EVENTS)?;
        Ok(OutcomeBatches::new(self, events))
    }

    /// The rows of these outcomes. Those of one piece come one after another.
    ///
    /// # Errors
    ///
    /// Invalid argument: `changes.shuffle` when these are no outcomes; those of the definition.
    pub fn rows(&self, source: &Source, outcomes: Shuffled) -> Result<ShownRows> {
        check_columns(&outcomes.schema(), &OUTCOMES)?;
        ShownRows::new(self, source, outcomes)
    }

    /// Returns `true` if rows of a commit may have been carried over.
    fn compares(&self, commit: u32) -> bool {
        let item = self.plan.commits.get(commit as usize);
        matches!(item, Some((_, Item::Compare { .. })))
    }
}

fn cannot_continue(why: &str) -> Error {
    let message = format!("the shuffle of changes failed: {why}");
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
    let own = fields.map(|field| (field.name().as_str(), field.data_type()));
    if own.eq(expected.iter().map(|(name, data_type)| (*name, data_type))) {
        return Ok(());
    }
    Err(cannot_continue(
        "the columns are not those of the step before",
    ))
}

/// A number as two that every engine sorts by.
fn halves(number: u128) -> (i64, i64) {
    let low = number & u128::from(u64::MAX);
    let half = |half: u128| u64::try_from(half).unwrap_or_default().cast_signed();
    (half(number >> 64), half(low))
}

/// A column of numbers without nulls.
fn numbers<T: ArrowPrimitiveType>(batch: &RecordBatch, at: usize) -> Result<&PrimitiveArray<T>> {
    let column = batch.columns().get(at);
    let column = column.and_then(|column| column.as_primitive_opt::<T>());
    let plain = column.filter(|column| column.null_count() == 0);
    plain.ok_or_else(|| cannot_continue("a column is not that of the step before"))
}
