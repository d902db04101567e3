//! Which columns each live file is kept with.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::codec::columns::{misfit, project};
use crate::codec::file_actions::{ADD_FIELDS, FileField, schema_of};
use crate::codec::parsed_columns::ParsedColumns;
use crate::error::Result;

/// Fields of the file action, and columns parsed from them for filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowColumns {
    /// Fields of the file action.
    pub fields: Vec<FileField>,
    /// Typed partition values and statistics.
    pub parsed: Option<ParsedColumns>,
}

impl RowColumns {
    /// Fields only.
    pub fn fields(fields: &[FileField]) -> Self {
        Self {
            fields: fields.to_vec(),
            parsed: None,
        }
    }

    /// Whether all that `other` asks for is here too.
    pub fn covers(&self, other: &Self) -> bool {
        let parsed = match (&self.parsed, &other.parsed) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => mine.covers(theirs),
        };
        parsed && other.fields.iter().all(|field| self.fields.contains(field))
    }

    /// What either asks for, in the protocol's order of fields.
    pub fn merged(&self, other: &Self) -> Self {
        let either =
            |field: &FileField| self.fields.contains(field) || other.fields.contains(field);
        Self {
            fields: ADD_FIELDS.into_iter().filter(either).collect(),
            parsed: match (&self.parsed, &other.parsed) {
                (Some(mine), Some(theirs)) => Some(mine.merged(theirs)),
                (mine, theirs) => mine.as_ref().or(theirs.as_ref()).cloned(),
            },
        }
    }

    /// The fields that have to be decoded.
    pub fn decoded(&self) -> Vec<FileField> {
        let parsed = self
            .parsed
            .as_ref()
            .map(ParsedColumns::fields)
            .unwrap_or_default();
        let beyond = parsed
            .into_iter()
            .filter(|field| !self.fields.contains(field));
        self.fields.iter().copied().chain(beyond).collect()
    }

    /// The schema of what [`RowColumns::of`] gives.
    pub fn schema(&self) -> SchemaRef {
        let plain = schema_of(&self.fields);
        let Some(parsed) = &self.parsed else {
            return plain;
        };
        let parsed = parsed.schema();
        let fields = plain.fields().iter().chain(parsed.fields()).cloned();
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The columns, from rows that have at least [`RowColumns::decoded`].
    pub fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let plain = project(rows, &self.fields)?;
        let Some(parsed) = &self.parsed else {
            return Ok(plain);
        };
        let parsed = parsed.of(rows)?;
        let columns = plain
            .columns()
            .iter()
            .chain(parsed.columns())
            .cloned()
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options).map_err(misfit)
    }
}
