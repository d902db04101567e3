//! Clauses bound to the columns of a merge: selection of the clause for each row, and its effect.

use arrow_array::{Array, BooleanArray, RecordBatch, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::{RowPlan, Setter, columns_mismatch};
use crate::error::Result;
use crate::expr::BoundFormula;

#[derive(Debug)]
pub(super) struct BoundClause {
    pub(super) condition: Option<BoundFormula>,
    pub(super) then: BoundThen,
}

#[derive(Debug)]
pub(super) enum BoundThen {
    Update(Box<Setter>),
    Delete,
}

impl BoundClause {
    /// Returns its condition, and the values that it sets.
    pub(super) fn formulas(&self) -> impl Iterator<Item = &BoundFormula> {
        let values = match &self.then {
            BoundThen::Update(setter) => Some(setter.formulas()),
            BoundThen::Delete => None,
        };
        self.condition.iter().chain(values.into_iter().flatten())
    }
}

/// Returns the index of the first clause that applies to each row.
fn first_applicable(clauses: &[BoundClause], scope: &RecordBatch) -> Result<Vec<Option<usize>>> {
    let mut applicable = vec![None; scope.num_rows()];
    for (number, clause) in clauses.iter().enumerate() {
        let answers = match &clause.condition {
            Some(condition) => Some(condition.evaluate_condition(scope)?),
            None => None,
        };
        for (row, clause) in applicable.iter_mut().enumerate() {
            let applies = answers
                .as_ref()
                .is_none_or(|answers| answers.is_valid(row) && answers.value(row));
            if clause.is_none() && applies {
                *clause = Some(number);
            }
        }
    }
    Ok(applicable)
}

/// The changes of the clauses so far to the rows of one batch of the table.
pub(super) struct MergedRows<'a> {
    rows: &'a RecordBatch,
    removed: Vec<bool>,
    updated: Vec<u32>,
    values: Vec<RecordBatch>,
}

impl<'a> MergedRows<'a> {
    /// Creates a value without changes.
    pub(super) fn new(rows: &'a RecordBatch) -> Self {
        Self {
            rows,
            removed: vec![false; rows.num_rows()],
            updated: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Applies to each row of `scope` the first clause whose condition is true. `positions`: the rows of
    /// the batch that the rows of the scope belong to.
    pub(super) fn apply(
        &mut self,
        clauses: &mut [BoundClause],
        positions: &[u32],
        scope: &RecordBatch,
    ) -> Result<()> {
        let applicable = first_applicable(clauses, scope)?;
        for (number, clause) in clauses.iter_mut().enumerate() {
            let scope_rows: Vec<u32> = (0_u32..)
                .zip(&applicable)
                .filter(|(_, clause)| **clause == Some(number))
                .map(|(row, _)| row)
                .collect();
            if scope_rows.is_empty() {
                continue;
            }
            let batch_rows: Vec<u32> = scope_rows
                .iter()
                .filter_map(|row| positions.get(*row as usize).copied())
                .collect();
            for position in &batch_rows {
                if let Some(removed) = self.removed.get_mut(*position as usize) {
                    *removed = true;
                }
            }
            if let BoundThen::Update(setter) = &mut clause.then {
                let old = UInt32Array::from(batch_rows.clone());
                let old = take_record_batch(self.rows, &old).map_err(columns_mismatch)?;
                let scope = take_record_batch(scope, &UInt32Array::from(scope_rows))
                    .map_err(columns_mismatch)?;
                self.values.push(setter.set(&old, &scope)?);
                self.updated.extend(batch_rows);
            }
        }
        Ok(())
    }

    /// Returns the plan of the batch.
    pub(super) fn into_plan(self) -> Result<RowPlan> {
        let updated = match self.values.first().map(RecordBatch::schema) {
            Some(schema) => {
                let values = concat_batches(&schema, &self.values).map_err(columns_mismatch)?;
                Some((UInt32Array::from(self.updated), values))
            }
            None => None,
        };
        Ok(RowPlan {
            removed: BooleanArray::from(self.removed),
            updated,
        })
    }
}
