//! Clauses bound to the columns of a merge: selection of the clause for each row, and its effect.

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_select::concat::concat_batches;

use super::inserts::taken;
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
    pub(super) fn formulas(&self) -> impl Iterator<Item = &BoundFormula> {
        let values = match &self.then {
            BoundThen::Update(setter) => Some(setter.formulas()),
            BoundThen::Delete => None,
        };
        self.condition.iter().chain(values.into_iter().flatten())
    }

    /// Splits these rows of `scope`: those for which the condition is true, and the others.
    fn split(&self, scope: &RecordBatch, rows: Vec<u32>) -> Result<(Vec<u32>, Vec<u32>)> {
        let Some(condition) = &self.condition else {
            return Ok((rows, Vec::new()));
        };
        let results = condition.evaluate_condition(&taken(scope, &rows)?)?;
        let mut results = results.iter();
        let is_true = |_: &u32| results.next().flatten() == Some(true);
        Ok(rows.into_iter().partition(is_true))
    }
}

/// The changes of the clauses so far to the rows of one batch of the table.
pub(super) struct MergedRows<'a> {
    rows: &'a RecordBatch,
    removed: Vec<bool>,
    updated: Vec<u32>,
    values: Vec<RecordBatch>,
}

impl<'a> MergedRows<'a> {
    pub(super) fn new(rows: &'a RecordBatch) -> Self {
        Self {
            rows,
            removed: vec![false; rows.num_rows()],
            updated: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Applies to each row of `scope` the first clause whose condition is true; later conditions are not
    /// evaluated for it. `positions`: the rows of the batch that the rows of the scope belong to, ascending.
    pub(super) fn apply(
        &mut self,
        clauses: &mut [BoundClause],
        positions: &[u32],
        scope: &RecordBatch,
    ) -> Result<()> {
        let mut others: Vec<u32> = (0..).take(scope.num_rows()).collect();
        for clause in clauses {
            let scope_rows;
            (scope_rows, others) = clause.split(scope, others)?;
            let batch_rows: Vec<u32> = scope_rows
                .iter()
                .filter_map(|row| positions.get(*row as usize).copied())
                .collect();
            for position in &batch_rows {
                if let Some(removed) = self.removed.get_mut(*position as usize) {
                    *removed = true;
                }
            }
            if let BoundThen::Update(setter) = &mut clause.then
                && !batch_rows.is_empty()
            {
                let old = taken(self.rows, &batch_rows)?;
                self.values
                    .push(setter.set(&old, &taken(scope, &scope_rows)?)?);
                self.updated.extend(batch_rows);
            }
        }
        Ok(())
    }

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
