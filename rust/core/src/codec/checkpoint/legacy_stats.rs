//! Typed statistics of checkpoints that Spark wrote with its legacy (hybrid Julian) calendar.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{ArrowError, Field};
use parquet::schema::types::{Type, TypePtr};

use super::{CheckpointFile, FileAction, arrow_error};
use crate::codec::file_columns::STATS;
use crate::codec::parquet_file::LegacyColumns;
use crate::error::Result;

/// Rebases the typed statistics of one action.
pub(super) struct LegacyStats {
    columns: LegacyColumns,
    stats: TypePtr,
}

impl CheckpointFile {
    /// Returns `None` if the file uses the proleptic Gregorian calendar or has no typed statistics.
    pub(super) fn legacy_stats(&self, action: FileAction) -> Option<LegacyStats> {
        let file = self.metadata().file_metadata();
        let columns = LegacyColumns::of(file)?;
        let action = child(file.schema_descr().root_schema(), action.name())?;
        let stats = Arc::clone(child(action, STATS)?);
        Some(LegacyStats { columns, stats })
    }
}

impl LegacyStats {
    /// Returns the rows of the action with rebased statistics. Bounds that cannot be determined become null.
    pub(super) fn rebase(&self, rows: &StructArray) -> Result<StructArray> {
        let columns = rows.fields().iter().zip(rows.columns());
        let columns = columns.map(|(field, column)| {
            if field.name() == STATS {
                self.rebase_column(column, &self.stats)
            } else {
                Ok(Arc::clone(column))
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>();
        columns
            .and_then(|columns| with_columns(rows, columns))
            .map_err(arrow_error)
    }

    /// Rebases a column of the Parquet type `parquet`. Recurses into structs; the depth is bounded by the footer
    /// decoder.
    fn rebase_column(&self, column: &ArrayRef, parquet: &Type) -> Result<ArrayRef, ArrowError> {
        if parquet.is_primitive() {
            return match self.columns.calendar(parquet.get_physical_type()) {
                Some(calendar) => calendar.rebase_or_null(column),
                None => Ok(Arc::clone(column)),
            };
        }
        let Some(rows) = column.as_struct_opt() else {
            return Ok(Arc::clone(column));
        };
        let fields = rows.fields().iter().zip(rows.columns());
        let columns = fields.map(|(field, column)| match child(parquet, field.name()) {
            Some(parquet) => self.rebase_column(column, parquet),
            None => Ok(Arc::clone(column)),
        });
        Ok(Arc::new(with_columns(
            rows,
            columns.collect::<Result<_, _>>()?,
        )?))
    }
}

fn child<'a>(parent: &'a Type, name: &str) -> Option<&'a TypePtr> {
    let mut children = parent.is_group().then(|| parent.get_fields().iter())?;
    children.find(|child| child.name() == name)
}

/// Returns the struct with other columns; fields whose columns have nulls become nullable.
fn with_columns(rows: &StructArray, columns: Vec<ArrayRef>) -> Result<StructArray, ArrowError> {
    let fields = rows.fields().iter().zip(&columns);
    let fields = fields.map(|(field, column)| {
        let nullable = field.is_nullable() || column.null_count() > 0;
        Field::new(field.name(), column.data_type().clone(), nullable)
            .with_metadata(field.metadata().clone())
    });
    let fields = fields.collect();
    StructArray::try_new_with_length(fields, columns, rows.nulls().cloned(), rows.len())
}
