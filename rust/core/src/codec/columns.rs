//! Columns of decoded actions: lookup by name as typed arrays, filtering, projection.
//!
//! All errors have the code `log.columns`.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StructArray};
use arrow_schema::ArrowError;

use super::file_actions::FileField;
use crate::error::{Error, Result};

/// A batch or a struct: anything with named columns.
pub trait TypedColumns {
    /// Returns the column of this name, if it exists.
    fn find(&self, name: &str) -> Option<&ArrayRef>;

    /// Returns the column of this name, of any type.
    fn array(&self, name: &str) -> Result<&ArrayRef> {
        self.find(name).ok_or_else(|| missing(name))
    }

    /// Returns the column of this name and type.
    fn typed<A: Array + 'static>(&self, name: &str) -> Result<&A> {
        self.find(name)
            .and_then(|column| column.as_any().downcast_ref())
            .ok_or_else(|| missing(name))
    }
}

impl TypedColumns for RecordBatch {
    fn find(&self, name: &str) -> Option<&ArrayRef> {
        self.column_by_name(name)
    }
}

impl TypedColumns for StructArray {
    fn find(&self, name: &str) -> Option<&ArrayRef> {
        self.column_by_name(name)
    }
}

/// Returns the rows for which the mask is true.
pub fn filter_rows(rows: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch> {
    arrow_select::filter::filter_record_batch(rows, mask).map_err(columns_mismatch)
}

/// Returns these fields of the rows, in this order.
pub fn project(rows: &RecordBatch, fields: &[FileField]) -> Result<RecordBatch> {
    let index = |field: &FileField| rows.schema_ref().index_of(field.name());
    let columns = fields.iter().map(index).collect::<Result<Vec<_>, _>>();
    columns
        .and_then(|columns| rows.project(&columns))
        .map_err(columns_mismatch)
}

/// Returns the error for a column that is missing or has another type.
pub fn missing(name: &str) -> Error {
    let message = format!("the column {name} is missing or not of the protocol's type");
    Error::corrupt("log.columns", message)
}

/// Returns the error for columns that Arrow cannot combine.
pub fn columns_mismatch(cause: ArrowError) -> Error {
    Error::corrupt("log.columns", "the columns of actions do not fit together").because(cause)
}
