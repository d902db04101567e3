//! Source rows that match no target row, and the clauses that insert them.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{Field, Fields, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use super::columns_mismatch;
use super::scope::{Scope, empty_batch, empty_rows};
use super::source::{SourceRows, batch};
use crate::error::Result;
use crate::expr::{BoundFormula, Formula};
use crate::spec::arrow::field_index;
use crate::storage::interrupt;

/// A clause that inserts, bound to the columns of the source.
#[derive(Debug)]
pub struct InsertClause {
    condition: Option<BoundFormula>,
    columns: Columns,
    schema: SchemaRef,
}

#[derive(Debug)]
enum Columns {
    /// The indexes of the source's columns that the table has, too.
    OfSource(Vec<usize>),
    Set(Vec<BoundFormula>),
}

impl InsertClause {
    /// Creates a clause; `values`: columns and their expressions; `None` for the source's columns that the
    /// table has.
    pub(super) fn new(
        condition: Option<BoundFormula>,
        values: Option<&[(String, String)]>,
        scope: &Scope,
    ) -> Result<Self> {
        let (columns, fields) = match values {
            Some(values) => {
                let (mut columns, mut fields) = (Vec::new(), Vec::new());
                for (name, text) in values {
                    let value = Formula::parse(text)?.bind(&scope.fields)?;
                    fields.push(Field::new(name, value.data_type().clone(), true));
                    columns.push(value);
                }
                (Columns::Set(columns), Fields::from(fields))
            }
            None => {
                let [table, source] = [0, 1].map(|side| scope.side_fields(side));
                let known = source.iter().enumerate();
                let known = known.filter(|(_, field)| field_index(&table, field.name()).is_some());
                let (indexes, fields): (_, Vec<_>) =
                    known.map(|(at, field)| (at, Arc::clone(field))).unzip();
                (Columns::OfSource(indexes), Fields::from(fields))
            }
        };
        Ok(Self {
            condition,
            columns,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// Returns the schema of the rows that it inserts, for an converter.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the rows for which the condition is true.
    fn chosen(&self, seen: &RecordBatch) -> Result<Vec<u32>> {
        let rows = 0_u32..;
        let Some(condition) = &self.condition else {
            return Ok(rows.take(seen.num_rows()).collect());
        };
        let answers = condition.evaluate_condition(seen)?;
        let answers = rows.zip(answers.iter());
        Ok(answers
            .filter_map(|(row, answer)| (answer == Some(true)).then_some(row))
            .collect())
    }

    /// Returns the new rows for the chosen rows.
    fn values(
        &self,
        rows: &RecordBatch,
        seen: &RecordBatch,
        chosen: &[u32],
    ) -> Result<RecordBatch> {
        match &self.columns {
            Columns::OfSource(indexes) => {
                taken(&rows.project(indexes).map_err(columns_mismatch)?, chosen)
            }
            Columns::Set(values) => {
                let seen = taken(seen, chosen)?;
                let columns = values.iter().map(|value| value.evaluate(&seen));
                batch(&self.schema, columns.collect::<Result<_>>()?, chosen.len())
            }
        }
    }
}

/// Source rows that match no target row and are not inserted yet.
#[derive(Debug)]
pub struct UnmatchedRows {
    source: SourceRows,
    scope: Scope,
    /// Marks the source rows that must not be inserted.
    used: Vec<bool>,
}

impl UnmatchedRows {
    pub(super) fn new(source: SourceRows, scope: Scope, used: Vec<bool>) -> Self {
        Self {
            source,
            scope,
            used,
        }
    }

    /// Passes the rows that a clause inserts to `write`, batch by batch, and marks them as used.
    ///
    /// # Errors
    ///
    /// The errors of formulas and of `write`.
    pub fn insert(
        &mut self,
        clause: &InsertClause,
        write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let no_target = empty_batch(self.scope.side_fields(0));
        let mut end = 0;
        for rows in self.source.batches() {
            interrupt::check()?;
            let start = end;
            end += rows.num_rows();
            let used = self.used.get_mut(start..end).unwrap_or_default();
            let left: Vec<u32> = (0..)
                .zip(&*used)
                .filter_map(|(row, used)| (!used).then_some(row))
                .collect();
            let rows = taken(rows, &left)?;
            let seen = self
                .scope
                .of(&empty_rows(&no_target, rows.num_rows())?, &rows)?;
            let chosen = clause.chosen(&seen)?;
            if chosen.is_empty() {
                continue;
            }
            for row in chosen.iter().filter_map(|at| left.get(*at as usize)) {
                if let Some(used) = used.get_mut(*row as usize) {
                    *used = true;
                }
            }
            write(&clause.values(&rows, &seen, &chosen)?)?;
        }
        Ok(())
    }
}

/// Returns the rows at these indexes, which ascend.
fn taken(rows: &RecordBatch, indexes: &[u32]) -> Result<RecordBatch> {
    if indexes.len() == rows.num_rows() {
        return Ok(rows.clone());
    }
    take_record_batch(rows, &UInt32Array::from(indexes.to_vec())).map_err(columns_mismatch)
}
