//! Which columns of the live files are wanted: fields of `add`, and columns made from them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::codec::file_actions::{ADD_FIELDS, FileField};
use crate::codec::statistics::num_records;
use crate::error::{Error, Result};

/// A column of the live files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Field(FileField),
    NumRecords,
}

/// Columns made from others, by name.
const MADE: [(&str, Column); 1] = [("numRecords", Column::NumRecords)];

/// Columns of the live files, in the order asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumns(Vec<Column>);

impl FileColumns {
    /// The columns of these names; `None` for all fields of `add`.
    ///
    /// # Errors
    ///
    /// `columns.unknown`, `columns.twice`.
    pub fn new(names: Option<&[String]>) -> Result<Self> {
        let Some(names) = names else {
            return Ok(Self(ADD_FIELDS.iter().copied().map(Column::Field).collect()));
        };
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let made = || MADE.iter().find(|(made, _)| made == name).map(|(_, column)| *column);
            let column = FileField::by_name(name, &ADD_FIELDS).map(Column::Field).or_else(made).ok_or_else(|| {
                let known = ADD_FIELDS.iter().map(|field| field.name()).chain(MADE.iter().map(|(made, _)| *made));
                let known = known.collect::<Vec<_>>().join(", ");
                Error::invalid("columns.unknown", format!("files have no column {name:?}; they have {known}"))
            })?;
            if columns.contains(&column) {
                return Err(Error::invalid("columns.twice", format!("the column {name:?} is asked for twice")));
            }
            columns.push(column);
        }
        Ok(Self(columns))
    }

    /// The fields of `add` that have to be decoded, in the protocol's order.
    pub fn fields(&self) -> Vec<FileField> {
        let needed = |column: &Column| match column {
            Column::Field(field) => *field,
            Column::NumRecords => FileField::Stats,
        };
        let needed: Vec<FileField> = self.0.iter().map(needed).collect();
        ADD_FIELDS.into_iter().filter(|field| needed.contains(field)).collect()
    }

    /// The schema of what [`FileColumns::of`] gives.
    pub fn schema(&self) -> SchemaRef {
        let field = |column: &Column| -> FieldRef {
            match column {
                Column::Field(field) => field.arrow(),
                Column::NumRecords => Arc::new(Field::new("numRecords", DataType::Int64, true)),
            }
        };
        Arc::new(Schema::new(self.0.iter().map(field).collect::<Fields>()))
    }

    /// The columns, from a batch that has at least [`FileColumns::fields`].
    pub fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let lacks = |name: &str| Error::corrupt("log.columns", format!("the files were decoded without {name}"));
        let column = |column: &Column| -> Result<ArrayRef> {
            let decoded = |field: FileField| rows.column_by_name(field.name()).ok_or_else(|| lacks(field.name()));
            match column {
                Column::Field(field) => decoded(*field).cloned(),
                Column::NumRecords => {
                    let stats = decoded(FileField::Stats)?;
                    let stats = stats.as_string_opt::<i32>().ok_or_else(|| lacks("stats"))?;
                    Ok(Arc::new(num_records(stats)))
                }
            }
        };
        let columns = self.0.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .map_err(|cause| Error::corrupt("log.columns", "the columns of files do not fit together").because(cause))
    }
}
