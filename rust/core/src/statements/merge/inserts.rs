//! Source rows that match no target row, and the clauses that insert them.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{Field, Fields, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use super::columns_mismatch;
use super::scope::{Scope, empty_batch, null_rows};
use super::source::SourceRows;
use crate::error::Result;
use crate::expr::{BoundFormula, Formula};
use crate::spec::arrow::field_index;
use crate::storage::interrupt;
use crate::write::columns::batch;

/// A clause that inserts, bound to the columns of the source.
#[derive(Debug)]
pub(crate) struct InsertClause {
    condition: Option<BoundFormula>,
    columns: Columns,
    schema: SchemaRef,
}

#[derive(Debug)]
enum Columns {
    /// The indexes of the source's columns that the table has, too.
    Source(Vec<usize>),
    Assigned(Vec<BoundFormula>),
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
                    scope.check_side(&value)?;
                    fields.push(Field::new(name, value.data_type().clone(), true));
                    columns.push(value);
                }
                (Columns::Assigned(columns), Fields::from(fields))
            }
            None => {
                let [table, source] = [0, 1].map(|side| scope.side_fields(side));
                let shared = source.iter().enumerate();
                let shared =
                    shared.filter(|(_, field)| field_index(&table, field.name()).is_some());
                let (indexes, fields): (_, Vec<_>) = shared
                    .map(|(index, field)| (index, Arc::clone(field)))
                    .unzip();
                (Columns::Source(indexes), Fields::from(fields))
            }
        };
        Ok(Self {
            condition,
            columns,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// Returns the schema of the rows that it inserts, before their conversion to the table's columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the rows for which the condition is true.
    fn applicable(&self, scope: &RecordBatch) -> Result<Vec<u32>> {
        let rows = 0_u32..;
        let Some(condition) = &self.condition else {
            return Ok(rows.take(scope.num_rows()).collect());
        };
        let results = condition.evaluate_condition(scope)?;
        let rows = rows.zip(results.iter());
        let selected = rows.filter(|(_, result)| *result == Some(true));
        Ok(selected.map(|(row, _)| row).collect())
    }

    /// Returns the rows to insert for the source rows at these indexes.
    fn values(
        &self,
        rows: &RecordBatch,
        scope: &RecordBatch,
        indexes: &[u32],
    ) -> Result<RecordBatch> {
        match &self.columns {
            Columns::Source(columns) => {
                taken(&rows.project(columns).map_err(columns_mismatch)?, indexes)
            }
            Columns::Assigned(values) => {
                let scope = taken(scope, indexes)?;
                let columns = values.iter().map(|value| value.evaluate(&scope));
                batch(&self.schema, columns.collect::<Result<_>>()?, indexes.len())
            }
        }
    }
}

/// Source rows that match no target row and are not inserted yet.
#[derive(Debug)]
pub(crate) struct UnmatchedRows {
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
    pub(crate) fn insert(
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
            let unused: Vec<u32> = (0..)
                .zip(&*used)
                .filter(|(_, used)| !**used)
                .map(|(row, _)| row)
                .collect();
            let rows = taken(rows, &unused)?;
            let no_target = null_rows(&no_target, rows.num_rows())?;
            let scope = self.scope.batch(&no_target, &rows)?;
            let inserted = clause.applicable(&scope)?;
            if inserted.is_empty() {
                continue;
            }
            for row in inserted.iter().filter_map(|row| unused.get(*row as usize)) {
                if let Some(used) = used.get_mut(*row as usize) {
                    *used = true;
                }
            }
            write(&clause.values(&rows, &scope, &inserted)?)?;
        }
        Ok(())
    }
}

/// Returns the rows at these indexes, which ascend.
pub(super) fn taken(rows: &RecordBatch, indexes: &[u32]) -> Result<RecordBatch> {
    if indexes.len() == rows.num_rows() {
        return Ok(rows.clone());
    }
    take_record_batch(rows, &UInt32Array::from(indexes.to_vec())).map_err(columns_mismatch)
}
