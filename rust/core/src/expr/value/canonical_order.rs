//! Converts columns to one of a few forms, whose natural order is Spark's.
//!
//! Integers, dates, timestamps and booleans become 64-bit integers; floating-point numbers become integers
//! of the same order, with one zero and one `NaN`, which is greater than all others; strings become their
//! bytes; decimals remain decimals. Every form preserves the order of values, so that it can be used for
//! bounds, too.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, Decimal128Array, Int64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::error::{Error, Result};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::value::floats::key;
use crate::spec::interval::MICROS_PER_DAY;

/// A form for comparing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Form {
    /// 64-bit integers.
    Integer,
    /// Any number as a `DOUBLE`, represented by the integer of [`key`].
    Float,
    /// Decimals, unchanged.
    Decimal,
    /// Any exact number as a decimal of 76 digits with this scale.
    Wide(u8),
    /// Dates and timestamps in microseconds.
    Micros,
    /// Strings and bytes.
    Bytes,
}

impl Form {
    /// Converts the values of a column to this form.
    pub(in crate::expr) fn of(self, values: &ArrayRef, column: &BoundColumn) -> Result<ArrayRef> {
        self.convert(values, &column.data_type).map_err(|cause| {
            let message = format!(
                "the column {} has values of type {} where the schema has {}: the filter cannot be \
                 applied",
                column.path.join("."),
                values.data_type(),
                column.data_type
            );
            Error::invalid("filter.values", message).because(cause)
        })
    }

    fn convert(self, values: &ArrayRef, expected: &DataType) -> Result<ArrayRef, ArrowError> {
        let values = if values.data_type() == expected {
            Arc::clone(values)
        } else {
            cast(values, expected)?
        };
        Ok(match self {
            Self::Integer => integers(&values)?,
            Self::Float => {
                let values = cast(&values, &DataType::Float64)?;
                Arc::new(
                    values
                        .as_primitive::<Float64Type>()
                        .unary::<_, Int64Type>(key),
                )
            }
            Self::Decimal => values,
            Self::Wide(scale) => {
                let scale = i8::try_from(scale).unwrap_or(i8::MAX);
                cast(&values, &DataType::Decimal256(76, scale))?
            }
            Self::Micros => match values.data_type() {
                DataType::Date32 => {
                    let micros = |days| i64::from(days).saturating_mul(MICROS_PER_DAY);
                    let days = values.as_primitive::<Date32Type>();
                    Arc::new(days.unary::<_, Int64Type>(micros))
                }
                _ => integers(&values)?,
            },
            Self::Bytes => cast(&values, &DataType::Binary)?,
        })
    }
}

fn integers(values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let wide: Int64Array = match values.data_type() {
        DataType::Int64 => return Ok(Arc::clone(values)),
        DataType::Int32 => values.as_primitive::<Int32Type>().unary(i64::from),
        DataType::Int16 => values.as_primitive::<Int16Type>().unary(i64::from),
        DataType::Int8 => values.as_primitive::<Int8Type>().unary(i64::from),
        DataType::Date32 => values.as_primitive::<Date32Type>().unary(i64::from),
        DataType::Timestamp(TimeUnit::Microsecond, _) => values
            .as_primitive::<TimestampMicrosecondType>()
            .reinterpret_cast::<Int64Type>(),
        _ => return cast(values, &DataType::Int64),
    };
    Ok(Arc::new(wide))
}

fn unordered(values: &ArrayRef) -> Error {
    let message = format!(
        "the filter cannot be applied to values of type {}",
        values.data_type()
    );
    Error::invalid("filter.values", message)
}

/// Returns values whose form is 64-bit integers.
pub(in crate::expr) fn as_integers(values: &ArrayRef) -> Result<&Int64Array> {
    values
        .as_primitive_opt::<Int64Type>()
        .ok_or_else(|| unordered(values))
}

/// Returns values whose form is decimals.
pub(in crate::expr) fn as_decimals(values: &ArrayRef) -> Result<&Decimal128Array> {
    values
        .as_primitive_opt::<Decimal128Type>()
        .ok_or_else(|| unordered(values))
}

/// Returns values whose form is bytes.
pub(in crate::expr) fn as_bytes(values: &ArrayRef) -> Result<&BinaryArray> {
    values
        .as_binary_opt::<i32>()
        .ok_or_else(|| unordered(values))
}

/// Returns the error for values of a filter's columns that Arrow cannot process.
pub(in crate::expr) fn failed(cause: ArrowError) -> Error {
    Error::invalid(
        "filter.values",
        "the filter cannot be applied to these values",
    )
    .because(cause)
}
