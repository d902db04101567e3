//! The descriptors in the column `deletionVector` of file actions.

use arrow_array::{Array, Int32Array, Int64Array, StringArray, StructArray};

use crate::codec::columns::TypedColumns;
use crate::error::{Error, Result};
use crate::spec::DeletionVectorDescriptor;

/// The column `deletionVector` of file actions, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Descriptors<'a> {
    column: &'a StructArray,
    storage_type: &'a StringArray,
    path_or_inline: &'a StringArray,
    offset: &'a Int32Array,
    size_in_bytes: &'a Int32Array,
    cardinality: &'a Int64Array,
}

impl<'a> Descriptors<'a> {
    /// Wraps a column returned by `codec::file_actions`.
    pub fn new(column: &'a StructArray) -> Result<Self> {
        Ok(Self {
            column,
            storage_type: column.typed("storageType")?,
            path_or_inline: column.typed("pathOrInlineDv")?,
            offset: column.typed("offset")?,
            size_in_bytes: column.typed("sizeInBytes")?,
            cardinality: column.typed("cardinality")?,
        })
    }

    /// Returns `true` if all rows are null, so that [`get`](Self::get) returns `None` for each.
    pub fn is_all_null(&self) -> bool {
        self.column.null_count() == self.column.len()
    }

    /// Returns the descriptor of a row; `None` if the file has no deletion vector, or beyond the last row. A
    /// struct whose fields are all null, as in some checkpoints, means no deletion vector.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.descriptor` for a required field that is null, and the errors of
    /// [`DeletionVectorDescriptor::new`].
    pub fn get(&self, row: usize) -> Result<Option<DeletionVectorDescriptor>> {
        if row >= self.column.len() || self.column.is_null(row) {
            return Ok(None);
        }
        let text = |array: &'a StringArray| array.is_valid(row).then(|| array.value(row));
        let int = |array: &Int32Array| array.is_valid(row).then(|| array.value(row));
        let fields = (
            text(self.storage_type),
            text(self.path_or_inline),
            int(self.offset),
            int(self.size_in_bytes),
            self.cardinality
                .is_valid(row)
                .then(|| self.cardinality.value(row)),
        );
        match fields {
            (None, None, None, None, None) => Ok(None),
            (Some(storage_type), Some(path), offset, Some(size), Some(cardinality)) => {
                DeletionVectorDescriptor::new(storage_type, path, offset, size, cardinality)
                    .map(Some)
            }
            _ => Err(Error::corrupt(
                "dv.descriptor",
                "the descriptor of a deletion vector lacks a field: storageType, pathOrInlineDv, sizeInBytes \
                 and cardinality are required",
            )),
        }
    }
}
