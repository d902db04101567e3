//! Which columns each live file is kept with.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::codec::file_actions::{ADD_FIELDS, FileField, schema_of};
use crate::codec::judged::JudgedColumns;
use crate::error::{Error, Result};

/// Fields of the file action, and columns made from them for filters to judge by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowColumns {
    /// Fields of the file action.
    pub fields: Vec<FileField>,
    /// Typed partition values and statistics.
    pub judged: Option<JudgedColumns>,
}

impl RowColumns {
    /// Fields only.
    pub fn fields(fields: &[FileField]) -> Self {
        Self {
            fields: fields.to_vec(),
            judged: None,
        }
    }

    /// Whether all that `other` asks for is here too.
    pub fn covers(&self, other: &Self) -> bool {
        let judged = match (&self.judged, &other.judged) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => mine.covers(theirs),
        };
        judged && other.fields.iter().all(|field| self.fields.contains(field))
    }

    /// What either asks for, in the protocol's order of fields.
    pub fn merged(&self, other: &Self) -> Self {
        let either =
            |field: &FileField| self.fields.contains(field) || other.fields.contains(field);
        Self {
            fields: ADD_FIELDS.into_iter().filter(either).collect(),
            judged: match (&self.judged, &other.judged) {
                (Some(mine), Some(theirs)) => Some(mine.merged(theirs)),
                (mine, theirs) => mine.as_ref().or(theirs.as_ref()).cloned(),
            },
        }
    }

    /// The fields that have to be decoded.
    pub fn decoded(&self) -> Vec<FileField> {
        let judged = self
            .judged
            .as_ref()
            .map(JudgedColumns::fields)
            .unwrap_or_default();
        let beyond = judged
            .into_iter()
            .filter(|field| !self.fields.contains(field));
        self.fields.iter().copied().chain(beyond).collect()
    }

    /// The schema of what [`RowColumns::of`] gives.
    pub fn schema(&self) -> SchemaRef {
        let plain = schema_of(&self.fields);
        let Some(judged) = &self.judged else {
            return plain;
        };
        let judged = judged.schema();
        let fields = plain.fields().iter().chain(judged.fields()).cloned();
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The columns, from rows that have at least [`RowColumns::decoded`].
    pub fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let odd =
            |cause| Error::corrupt("log.columns", "a file action lacks a column").because(cause);
        let index = |field: &FileField| rows.schema_ref().index_of(field.name());
        let index = self
            .fields
            .iter()
            .map(index)
            .collect::<Result<Vec<_>, _>>()
            .map_err(odd)?;
        let plain = rows.project(&index).map_err(odd)?;
        let Some(judged) = &self.judged else {
            return Ok(plain);
        };
        let judged = judged.of(rows)?;
        let columns = plain
            .columns()
            .iter()
            .chain(judged.columns())
            .cloned()
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options).map_err(odd)
    }
}
