//! Functions of numbers (negation, `abs`, `isnan`, `floor` and `ceil`), and `greatest` and `least`.

use std::sync::Arc;

use arrow_arith::boolean::{not, or};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, Int32Array};
use arrow_schema::DataType;

use super::cast::{cast_value, sql_name};
use super::columnar_value::ColumnarValue;
use super::operators::{agreed_type_of, compared, if_else, is_true};
use super::{failed, type_error, unsupported};
use crate::error::Result;
use crate::expr::value::comparison::Op;
use crate::expr::value::floats::{normalized, with_canonical_nan};

pub(super) fn negate(values: &ArrayRef) -> Result<ArrayRef> {
    if !values.data_type().is_numeric() {
        return Err(unsupported(&format!(
            "the operator - on values of the type {}",
            sql_name(values.data_type())
        )));
    }
    let negated = arrow_arith::numeric::neg(values).map_err(failed)?;
    Ok(with_canonical_nan(&negated))
}

pub(super) fn abs(values: &ArrayRef) -> Result<ArrayRef> {
    if !values.data_type().is_numeric() {
        return Err(type_error("abs takes a number"));
    }
    let zero = ColumnarValue::Scalar(Arc::new(Int32Array::from(vec![0])));
    let rows = ColumnarValue::Array(Arc::clone(values));
    let negative = compared(Op::Lt, &rows, &zero)?;
    let negated = arrow_arith::numeric::neg(values).map_err(failed)?;
    let absolute = if_else(&negative, &ColumnarValue::Array(negated), &rows)?;
    // zeros and NaN become positive
    normalized(&absolute).map_err(failed)
}

/// `isnan`: false for null.
pub(super) fn isnan(values: &ArrayRef) -> Result<ArrayRef> {
    let data_type = values.data_type();
    if !data_type.is_numeric() && !matches!(data_type, DataType::Null | DataType::Utf8) {
        return Err(type_error(&format!(
            "isnan takes a number, not a {}",
            sql_name(data_type)
        )));
    }
    let numbers = cast_value(values, &DataType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>().iter();
    let is_nan = numbers.map(|number| Some(number.is_some_and(f64::is_nan)));
    Ok(Arc::new(is_nan.collect::<BooleanArray>()))
}

/// Returns the greatest or the least value of each row, as selected by `op`. Nulls are ignored.
pub(super) fn extreme(columns: &[ArrayRef], op: Op) -> Result<ArrayRef> {
    let common = agreed_type_of(columns.iter().map(|column| column.data_type()))?;
    let mut columns = columns
        .iter()
        .map(|column| cast_value(column, &common).map(ColumnarValue::Array));
    let mut best = columns
        .next()
        .ok_or_else(|| type_error("there are no values"))??;
    for column in columns {
        let column = column?;
        let better = is_true(&compared(op, &column, &best)?);
        let missing = not(&best.valid(better.len())).map_err(failed)?;
        let better = or(&better, &missing).map_err(failed)?;
        best = ColumnarValue::Array(if_else(&better, &column, &best)?);
    }
    Ok(Arc::clone(best.array()))
}

/// Rounds to integers. Numbers out of range become the nearest `BIGINT`, and NaN becomes 0.
pub(super) fn floor_or_ceil(values: &ArrayRef, rounding: fn(f64) -> f64) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::Float32 | DataType::Float64 => {
            let numbers = cast_value(values, &DataType::Float64)?;
            let rounded = numbers
                .as_primitive::<Float64Type>()
                .unary::<_, Int64Type>(|number| rounding(number) as i64);
            Ok(Arc::new(rounded))
        }
        integer if integer.is_integer() => cast_value(values, &DataType::Int64),
        other => Err(unsupported(&format!(
            "rounding values of the type {}",
            sql_name(other)
        ))),
    }
}
