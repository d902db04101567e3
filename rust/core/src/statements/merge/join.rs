//! The join of target and source rows.
//!
//! Equalities between the sides make it a hash join; the rest of `on` is evaluated on each pair. Without an
//! equality, all pairs are compared, a limited number at a time.

use std::collections::BTreeSet;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take_record_batch;

use super::key_range::KeyRange;
use super::keys::{JoinKeys, RowsByKey};
use super::scope::{Scope, empty_batch, null_rows};
use super::source::SourceRows;
use super::{columns_mismatch, invalid_merge};
use crate::error::Result;
use crate::expr::{BoundFormula, Equality, Formula, cast_value, common_type, equalities};
use crate::storage::interrupt;

/// The number of pairs that are evaluated together.
const PAIRS_AT_ONCE: usize = 1 << 16;

/// The rest of `on`, and the columns that it uses.
#[derive(Debug)]
struct Residual {
    condition: BoundFormula,
    scope: Scope,
    /// The indexes of these columns on both sides.
    columns: [Vec<usize>; 2],
}

/// The expression of a key column, and the type in which its values are compared.
type KeyColumn = (BoundFormula, DataType);

#[derive(Debug)]
pub(super) struct Join {
    /// The source rows by key; `None` if `on` has no equality.
    by_key: Option<RowsByKey>,
    target_keys: Vec<KeyColumn>,
    rest: Option<Residual>,
    pub(super) key_ranges: Vec<KeyRange>,
}

impl Join {
    pub(super) fn new(on: &str, scope: &Scope, source: &SourceRows) -> Result<Self> {
        let on = Formula::parse(on)?;
        on.bind_condition(&scope.fields)?;
        let (pairs, rest) = equalities(&on, &|name| scope.side_of(name));
        let (mut source_keys, mut target_keys) = (Vec::new(), Vec::new());
        let (mut null_safes, mut ranges) = (Vec::new(), Vec::new());
        for pair in pairs {
            let Equality {
                target,
                source,
                column,
                null_safe,
            } = pair;
            let (target, source) = (target.bind(&scope.fields)?, source.bind(&scope.fields)?);
            let key_type = common_type(target.data_type(), source.data_type())
                .ok_or_else(|| invalid_merge("`on` compares columns that have no common type"))?;
            ranges.push(column.and_then(|column| KeyRange::new(column, &key_type, null_safe)));
            null_safes.push(null_safe);
            source_keys.push((source, key_type.clone()));
            target_keys.push((target, key_type));
        }
        let by_key = if source_keys.is_empty() {
            None
        } else {
            let keys = JoinKeys::new(null_safes, source_keys.iter().map(|(_, key_type)| key_type))?;
            Some(source_by_key(
                keys,
                &source_keys,
                &mut ranges,
                scope,
                source,
            )?)
        };
        let rest = match rest {
            Some(rest) => {
                let (scope, columns) = scope.narrowed(&rest.words());
                Some(Residual {
                    condition: rest.bind_condition(&scope.fields)?,
                    scope,
                    columns,
                })
            }
            None => None,
        };
        Ok(Self {
            by_key,
            target_keys,
            rest,
            key_ranges: ranges.into_iter().flatten().collect(),
        })
    }

    /// Returns the indexes of the table's columns that `on` uses.
    pub(super) fn target_columns(&self, scope: &Scope) -> BTreeSet<usize> {
        let keys = self.target_keys.iter();
        let keys = keys.flat_map(|(key, _)| scope.target_columns(key));
        let rest = self.rest.iter().flat_map(|rest| {
            let [target, _] = &rest.columns;
            target.iter().copied()
        });
        keys.chain(rest).collect()
    }

    /// Calls `visit` for each pair of matching rows: indexes in the batch, indexes in the source.
    pub(super) fn each_pair(
        &self,
        scope: &Scope,
        rows: &RecordBatch,
        source: &SourceRows,
        visit: &mut dyn FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let mut pairs = (Vec::new(), Vec::new());
        let no_source = null_rows(&source.empty(), rows.num_rows())?;
        let target_batch = scope.batch(rows, &no_source)?;
        let mut pair = |row: u32, other: u32| {
            pairs.0.push(row);
            pairs.1.push(other);
            if pairs.0.len() < PAIRS_AT_ONCE {
                return Ok(());
            }
            interrupt::check()?;
            self.visit_matches(rows, source, std::mem::take(&mut pairs), visit)
        };
        if let Some(by_key) = &self.by_key {
            let columns = evaluated(&self.target_keys, &target_batch)?;
            for (row, first) in (0_u32..).zip(by_key.find(&columns)?) {
                let mut others = first.into_iter().flat_map(|first| by_key.same_key(first));
                others.try_for_each(|other| pair(row, other))?;
            }
        } else {
            for row in (0_u32..).take(rows.num_rows()) {
                (0..source.num_rows()).try_for_each(|other| pair(row, other))?;
            }
        }
        self.visit_matches(rows, source, pairs, visit)
    }

    /// Calls `visit` for the pairs for which the rest of `on` is true.
    fn visit_matches(
        &self,
        rows: &RecordBatch,
        source: &SourceRows,
        (target_rows, source_rows): (Vec<u32>, Vec<u32>),
        visit: &mut dyn FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let Some(rest) = self.rest.as_ref().filter(|_| !target_rows.is_empty()) else {
            let mut pairs = target_rows.into_iter().zip(source_rows);
            return pairs.try_for_each(|(row, other)| visit(row, other));
        };
        let (target_rows, source_rows) = (
            UInt32Array::from(target_rows),
            UInt32Array::from(source_rows),
        );
        let [target_columns, source_columns] = &rest.columns;
        let target = rows.project(target_columns);
        let target = target.and_then(|target| take_record_batch(&target, &target_rows));
        let target = target.map_err(columns_mismatch)?;
        let source = source.project(source_columns)?.take(&source_rows)?;
        let results = rest
            .condition
            .evaluate_condition(&rest.scope.batch(&target, &source)?)?;
        let pairs = target_rows.values().iter().zip(source_rows.values());
        for ((row, other), result) in pairs.zip(results.iter()) {
            if result == Some(true) {
                visit(*row, *other)?;
            }
        }
        Ok(())
    }
}

/// Builds the hash table of the source rows, and extends the ranges by their keys.
fn source_by_key(
    mut keys: JoinKeys,
    columns: &[KeyColumn],
    ranges: &mut [Option<KeyRange>],
    scope: &Scope,
    source: &SourceRows,
) -> Result<RowsByKey> {
    let no_target = empty_batch(scope.side_fields(0));
    for rows in source.batches() {
        interrupt::check()?;
        let batch = scope.batch(&null_rows(&no_target, rows.num_rows())?, rows)?;
        let values = evaluated(columns, &batch)?;
        for (range, values) in ranges.iter_mut().zip(&values) {
            if let Some(range) = range {
                range.extend(values)?;
            }
        }
        keys.push(&values, rows.num_rows())?;
    }
    Ok(keys.rows_by_key())
}

fn evaluated(keys: &[KeyColumn], rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let columns = keys.iter();
    let columns = columns.map(|(formula, key_type)| cast_value(&formula.evaluate(rows)?, key_type));
    columns.collect()
}
