//! Which clause takes which row, and what it makes of it.

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;

use super::{Setter, misfit};
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

/// Which clause takes each row.
pub(super) fn chosen(clauses: &[BoundClause], scope: &RecordBatch) -> Result<Vec<Option<usize>>> {
    let mut chosen = vec![None; scope.num_rows()];
    for (number, clause) in clauses.iter().enumerate() {
        let answers = match &clause.condition {
            Some(condition) => Some(condition.answers(scope)?),
            None => None,
        };
        for (row, chosen) in chosen.iter_mut().enumerate() {
            let takes = answers
                .as_ref()
                .is_none_or(|answers| answers.is_valid(row) && answers.value(row));
            if chosen.is_none() && takes {
                *chosen = Some(number);
            }
        }
    }
    Ok(chosen)
}

#[allow(clippy::too_many_arguments, reason = "the parts of one fate")]
pub(super) fn apply(
    clauses: &mut [BoundClause],
    chosen: &[Option<usize>],
    rows_of: &[u32],
    rows: &RecordBatch,
    scope: &RecordBatch,
    leaves: &mut [bool],
    places: &mut Vec<u32>,
    values: &mut Vec<RecordBatch>,
) -> Result<()> {
    for (number, clause) in clauses.iter_mut().enumerate() {
        let taken: Vec<u32> = (0_u32..)
            .zip(chosen)
            .filter_map(|(at, chosen)| (*chosen == Some(number)).then_some(at))
            .collect();
        if taken.is_empty() {
            continue;
        }
        let ours: Vec<u32> = taken
            .iter()
            .filter_map(|at| rows_of.get(*at as usize).copied())
            .collect();
        for row in &ours {
            if let Some(leaves) = leaves.get_mut(*row as usize) {
                *leaves = true;
            }
        }
        if let BoundThen::Update(setter) = &mut clause.then {
            let old = take_record_batch(rows, &UInt32Array::from(ours.clone())).map_err(misfit)?;
            let scope = take_record_batch(scope, &UInt32Array::from(taken)).map_err(misfit)?;
            values.push(setter.set(&old, &scope)?);
            places.extend(ours);
        }
    }
    Ok(())
}
