//! Descriptors out of the column `deletionVector`, whose fields are what the protocol says.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, Int32Array, Int64Array, StringArray, StructArray};

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
    /// Of a column as `codec::file_actions` gives it.
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns`.
    pub fn new(column: &'a StructArray) -> Result<Self> {
        let field = |name: &str| column.column_by_name(name);
        let text = |name| field(name).and_then(|array| array.as_string_opt::<i32>());
        let int = |name| field(name).and_then(|array| array.as_primitive_opt::<Int32Type>());
        let long = |name| field(name).and_then(|array| array.as_primitive_opt::<Int64Type>());
        let wrong = || {
            Error::corrupt(
                "log.columns",
                "the column deletionVector has not the protocol's fields",
            )
        };
        Ok(Self {
            column,
            storage_type: text("storageType").ok_or_else(wrong)?,
            path_or_inline: text("pathOrInlineDv").ok_or_else(wrong)?,
            offset: int("offset").ok_or_else(wrong)?,
            size_in_bytes: int("sizeInBytes").ok_or_else(wrong)?,
            cardinality: long("cardinality").ok_or_else(wrong)?,
        })
    }

    /// The descriptor of a row; None where the file has no vector, and beyond the last row. A struct
    /// whose every field is null is none, as some checkpoints have it.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.descriptor` for a field that is missing, and those of
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
                "the descriptor of a deletion vector lacks a field; it takes storageType, \
                 pathOrInlineDv, sizeInBytes and cardinality",
            )),
        }
    }
}
