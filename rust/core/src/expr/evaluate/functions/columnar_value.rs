//! The result of an expression: an array, or a constant.

use arrow_array::{Array, ArrayRef, BooleanArray, Datum, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;

use super::cast::cast_value;
use super::failed;
use crate::error::Result;

/// The values of an expression.
#[derive(Clone, Debug)]
pub(in crate::expr) enum Computed {
    Rows(ArrayRef),
    /// A constant, as an array of one value.
    One(ArrayRef),
}

impl Datum for Computed {
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Rows(values) => (values, false),
            Self::One(value) => (value, true),
        }
    }
}

impl Computed {
    pub(super) fn array(&self) -> &ArrayRef {
        match self {
            Self::Rows(values) | Self::One(values) => values,
        }
    }

    pub(super) fn data_type(&self) -> &DataType {
        self.array().data_type()
    }

    pub(super) fn map(&self, change: impl FnOnce(&ArrayRef) -> Result<ArrayRef>) -> Result<Self> {
        Ok(match self {
            Self::Rows(values) => Self::Rows(change(values)?),
            Self::One(value) => Self::One(change(value)?),
        })
    }

    pub(super) fn cast(&self, target: &DataType) -> Result<Self> {
        self.map(|values| cast_value(values, target))
    }

    /// Returns the index of the value of a row.
    pub(super) fn index_of(&self, row: usize) -> usize {
        match self {
            Self::Rows(_) => row,
            Self::One(_) => 0,
        }
    }

    /// Returns an array with a value for each row.
    pub(in crate::expr) fn into_rows(self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Rows(values) => Ok(values),
            Self::One(value) => {
                take(&value, &UInt32Array::from(vec![0; rows]), None).map_err(failed)
            }
        }
    }

    /// Marks the rows whose value is not null.
    pub(in crate::expr) fn known(&self, rows: usize) -> BooleanArray {
        let known = match (self, self.array().logical_nulls()) {
            (Self::Rows(_), Some(nulls)) => nulls.into_inner(),
            (Self::One(_), Some(nulls)) if nulls.null_count() > 0 => BooleanBuffer::new_unset(rows),
            _ => BooleanBuffer::new_set(rows),
        };
        BooleanArray::new(known, None)
    }
}
