//! Which rows of the table and of the source belong together.
//!
//! Equalities between the sides make it a hash join; what else `on` says is asked of each pair. Without an
//! equality every pair is looked at, some at a time.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Schema};
use arrow_select::take::take_record_batch;

use super::keys::KeyedRows;
use super::scope::{Scope, empty_rows};
use super::{misfit, wrong};
use crate::error::Result;
use crate::expr::formula::{Equality, cast_value, common_type, equalities};
use crate::expr::{BoundFormula, Formula};
use crate::storage::interrupt;

/// Pairs that are looked at together.
const PAIRS: usize = 1 << 16;

/// What else `on` says, and the columns that it sees.
#[derive(Debug)]
struct Rest {
    condition: BoundFormula,
    scope: Scope,
    /// The places of these columns on both sides.
    columns: [Vec<usize>; 2],
}

#[derive(Debug)]
pub(super) struct Join {
    /// The rows of the source by their key; `None` if `on` has no equality.
    by_key: Option<KeyedRows>,
    /// Of the table.
    target_keys: Vec<(BoundFormula, DataType)>,
    rest: Option<Rest>,
    /// The source's key of each plain column of the table.
    pub(super) plain_keys: Vec<(String, ArrayRef)>,
}

impl Join {
    /// Puts the source's keys into a hash table.
    pub(super) fn new(on: &str, scope: &Scope, source: &RecordBatch) -> Result<Self> {
        let on = Formula::parse(on)?;
        on.bind_condition(&scope.fields)?;
        let (pairs, rest) = equalities(&on, &|name| scope.side_of(name));
        let rows = source.num_rows();
        let empty = RecordBatch::new_empty(Arc::new(Schema::new(scope.side_fields(0))));
        let seen = scope.of(&empty_rows(&empty, rows)?, source)?;
        let mut join = Self {
            by_key: None,
            target_keys: Vec::with_capacity(pairs.len()),
            rest: None,
            plain_keys: Vec::new(),
        };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(pairs.len());
        let mut null_safes = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let Equality {
                target,
                source,
                column,
                null_safe,
            } = pair;
            let (target, source) = (target.bind(&scope.fields)?, source.bind(&scope.fields)?);
            let both = common_type(target.data_type(), source.data_type())
                .ok_or_else(|| wrong("the columns that `on` compares have no type in common"))?;
            let values = cast_value(&source.evaluate(&seen)?, &both)?;
            if let Some(name) = column
                && !(null_safe && values.logical_null_count() > 0)
            {
                join.plain_keys.push((name, Arc::clone(&values)));
            }
            columns.push(values);
            join.target_keys.push((target, both));
            null_safes.push(null_safe);
        }
        if !columns.is_empty() {
            join.by_key = Some(KeyedRows::new(null_safes, &columns, rows)?);
        }
        if let Some(rest) = rest {
            let (scope, columns) = scope.narrowed(&rest.words());
            join.rest = Some(Rest {
                condition: rest.bind_condition(&scope.fields)?,
                scope,
                columns,
            });
        }
        Ok(join)
    }

    /// Calls `found` for each pair of rows that belong together: places in the batch, places in the source.
    pub(super) fn each_pair(
        &self,
        scope: &Scope,
        rows: &RecordBatch,
        source: &RecordBatch,
        found: &mut dyn FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let mut pairs = (Vec::new(), Vec::new());
        let nothing = empty_rows(&source.slice(0, 0), rows.num_rows())?;
        let seen = scope.of(rows, &nothing)?;
        let mut pair = |row: u32, other: u32| {
            pairs.0.push(row);
            pairs.1.push(other);
            if pairs.0.len() < PAIRS {
                return Ok(());
            }
            interrupt::check()?;
            self.keep(rows, source, std::mem::take(&mut pairs), found)
        };
        if let Some(by_key) = &self.by_key {
            let columns = self.target_keys.iter();
            let columns =
                columns.map(|(formula, both)| cast_value(&formula.evaluate(&seen)?, both));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            for (row, first) in (0_u32..).zip(by_key.find(&columns)?) {
                let mut others = first.into_iter().flat_map(|first| by_key.same_key(first));
                others.try_for_each(|other| pair(row, other))?;
            }
        } else {
            for row in (0_u32..).take(rows.num_rows()) {
                let mut others = (0_u32..).take(source.num_rows());
                others.try_for_each(|other| pair(row, other))?;
            }
        }
        self.keep(rows, source, pairs, found)
    }

    /// Of pairs with equal keys, those of which the rest is true.
    fn keep(
        &self,
        rows: &RecordBatch,
        source: &RecordBatch,
        (ours, theirs): (Vec<u32>, Vec<u32>),
        found: &mut dyn FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let Some(rest) = self.rest.as_ref().filter(|_| !ours.is_empty()) else {
            let mut pairs = ours.into_iter().zip(theirs);
            return pairs.try_for_each(|(row, other)| found(row, other));
        };
        let (ours, theirs) = (UInt32Array::from(ours), UInt32Array::from(theirs));
        let [target_columns, source_columns] = &rest.columns;
        let taken = |side: &RecordBatch, columns: &[usize], places: &UInt32Array| {
            let side = side.project(columns)?;
            take_record_batch(&side, places)
        };
        let target = taken(rows, target_columns, &ours).map_err(misfit)?;
        let source = taken(source, source_columns, &theirs).map_err(misfit)?;
        let answers = rest.condition.answers(&rest.scope.of(&target, &source)?)?;
        let pairs = ours.values().iter().zip(theirs.values());
        for ((row, other), answer) in pairs.zip(answers.iter()) {
            if answer == Some(true) {
                found(*row, *other)?;
            }
        }
        Ok(())
    }
}
