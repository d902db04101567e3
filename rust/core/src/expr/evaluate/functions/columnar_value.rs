//! The values of an expression: an array, or a constant.

use arrow_array::{Array, ArrayRef, BooleanArray, Datum, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;

use super::cast::cast_value;
use super::failed;
use crate::error::Result;

#[derive(Clone, Debug)]
pub(in crate::expr) enum ColumnarValue {
    Array(ArrayRef),
    /// A constant, as an array of one value.
    Scalar(ArrayRef),
}

impl Datum for ColumnarValue {
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Array(values) => (values, false),
            Self::Scalar(value) => (value, true),
        }
    }
}

impl ColumnarValue {
    pub(super) fn array(&self) -> &ArrayRef {
        match self {
            Self::Array(values) | Self::Scalar(values) => values,
        }
    }

    pub(super) fn data_type(&self) -> &DataType {
        self.array().data_type()
    }

    pub(super) fn map(&self, change: impl FnOnce(&ArrayRef) -> Result<ArrayRef>) -> Result<Self> {
        Ok(match self {
            Self::Array(values) => Self::Array(change(values)?),
            Self::Scalar(value) => Self::Scalar(change(value)?),
        })
    }

    pub(super) fn cast(&self, target: &DataType) -> Result<Self> {
        self.map(|values| cast_value(values, target))
    }

    /// Returns the index of a row's value in the array.
    pub(super) fn index_of(&self, row: usize) -> usize {
        match self {
            Self::Array(_) => row,
            Self::Scalar(_) => 0,
        }
    }

    /// Returns an array with a value for each row.
    pub(in crate::expr) fn into_array(self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Array(values) => Ok(values),
            Self::Scalar(value) => {
                take(&value, &UInt32Array::from(vec![0; rows]), None).map_err(failed)
            }
        }
    }

    /// Marks the rows whose value is not null.
    pub(in crate::expr) fn valid(&self, rows: usize) -> BooleanArray {
        let valid = match (self, self.array().logical_nulls()) {
            (Self::Array(_), Some(nulls)) => nulls.into_inner(),
            (Self::Scalar(_), Some(nulls)) if nulls.null_count() > 0 => {
                BooleanBuffer::new_unset(rows)
            }
            _ => BooleanBuffer::new_set(rows),
        };
        BooleanArray::new(valid, None)
    }
}
