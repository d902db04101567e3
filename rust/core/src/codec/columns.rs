//! Columns of decoded actions: found by name as typed arrays, filtered, projected.
//!
//! One error for all that a column can lack: `log.columns`.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StructArray};
use arrow_schema::ArrowError;

use super::file_actions::FileField;
use crate::error::{Error, Result};

/// A batch or a struct: anything that has columns with names.
pub trait TypedColumns {
    /// The column of this name, if there is one.
    fn find(&self, name: &str) -> Option<&ArrayRef>;

    /// The column of this name, of any type.
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns`, when it is missing.
    fn array(&self, name: &str) -> Result<&ArrayRef> {
        self.find(name).ok_or_else(|| missing(name))
    }

    /// The column of this name and type.
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns`, when it is missing or has another type.
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

/// The rows of a mask that are true.
///
/// # Errors
///
/// Corrupt: `log.columns`.
pub fn filter_rows(rows: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch> {
    arrow_select::filter::filter_record_batch(rows, mask).map_err(misfit)
}

/// These fields of the rows, in this order.
///
/// # Errors
///
/// Corrupt: `log.columns`, when one is missing.
pub fn project(rows: &RecordBatch, fields: &[FileField]) -> Result<RecordBatch> {
    let index = |field: &FileField| rows.schema_ref().index_of(field.name());
    let columns = fields.iter().map(index).collect::<Result<Vec<_>, _>>();
    columns
        .and_then(|columns| rows.project(&columns))
        .map_err(misfit)
}

/// The error for a column that is missing or has another type.
pub fn missing(name: &str) -> Error {
    let message = format!("the column {name} is missing or not of the protocol's type");
    Error::corrupt("log.columns", message)
}

/// The error for columns that arrow cannot bring together.
pub fn misfit(cause: ArrowError) -> Error {
    Error::corrupt("log.columns", "the columns of actions do not fit together").because(cause)
}
