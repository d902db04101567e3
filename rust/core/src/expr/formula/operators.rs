//! Arithmetic and comparison: both sides in one type first.

use std::sync::Arc;

use arrow_arith::numeric;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use sqlparser::ast::BinaryOperator;

use super::cast::sql_name;
use super::{cast_value, failed, mistyped, unsupported};
use crate::error::{Error, Result};
use crate::expr::floats::{all_one_nan, comparable};

/// The type in which values of both types are compared, and put together.
pub(crate) fn common(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType as T;
    if left == right {
        return Some(left.clone());
    }
    let time = |one: &T| matches!(one, T::Date32 | T::Timestamp(..));
    Some(match (left, right) {
        (T::Null, other) | (other, T::Null) => other.clone(),
        // texts become the other's type, numbers the widest of their kind
        (T::Utf8, other) | (other, T::Utf8) => match other {
            whole if whole.is_integer() => T::Int64,
            number if number.is_numeric() => T::Float64,
            other => other.clone(),
        },
        (T::Decimal128(p, s), T::Decimal128(q, t)) => {
            let scale = *s.max(t);
            let whole = |p: u8, s: i8| i16::from(p) - i16::from(s);
            let whole = whole(*p, *s).max(whole(*q, *t));
            let precision = u8::try_from(whole + i16::from(scale)).ok()?.min(38);
            T::Decimal128(precision, scale)
        }
        (T::Decimal128(..), T::Float32 | T::Float64)
        | (T::Float32 | T::Float64, T::Decimal128(..)) => T::Float64,
        (decimal @ T::Decimal128(..), other) | (other, decimal @ T::Decimal128(..)) => {
            return common(decimal, &T::Decimal128(digits(other)?, 0));
        }
        // a FLOAT has not the digits of whole numbers
        (T::Float32, whole) | (whole, T::Float32) if whole.is_integer() => T::Float64,
        (one, other) if one.is_numeric() && other.is_numeric() => {
            if rank(one)? > rank(other)? {
                one.clone()
            } else {
                other.clone()
            }
        }
        (one, other) if time(one) && time(other) => {
            let zone = [one, other].into_iter().find_map(|one| match one {
                T::Timestamp(_, zone) => zone.clone(),
                _ => None,
            });
            T::Timestamp(TimeUnit::Microsecond, zone)
        }
        _ => return None,
    })
}

fn digits(whole: &DataType) -> Option<u8> {
    Some(match whole {
        DataType::Int8 => 3,
        DataType::Int16 => 5,
        DataType::Int32 => 10,
        DataType::Int64 => 20,
        _ => return None,
    })
}

fn rank(number: &DataType) -> Option<u8> {
    Some(match number {
        DataType::Int8 => 0,
        DataType::Int16 => 1,
        DataType::Int32 => 2,
        DataType::Int64 => 3,
        DataType::Float32 => 4,
        DataType::Float64 => 5,
        _ => return None,
    })
}

pub(super) fn agreed(left: &ArrayRef, right: &ArrayRef) -> Result<(ArrayRef, ArrayRef)> {
    let (one, other) = (left.data_type(), right.data_type());
    let both = common(one, other).ok_or_else(|| strangers(one, other))?;
    Ok((cast_value(left, &both)?, cast_value(right, &both)?))
}

pub(super) fn strangers(one: &DataType, other: &DataType) -> Error {
    let (one, other) = (sql_name(one), sql_name(other));
    mistyped(&format!("{one} and {other} have no type in common"))
}

/// `=`, `<` and the like; null where a side is.
pub(super) fn compared(
    op: &BinaryOperator,
    left: &ArrayRef,
    right: &ArrayRef,
) -> Result<BooleanArray> {
    let (left, right) = agreed(left, right)?;
    if *left.data_type() == DataType::Null {
        return Ok(BooleanArray::new_null(left.len()));
    }
    let (left, right) = (comparable(&left), comparable(&right));
    let compare = match op {
        BinaryOperator::Eq => cmp::eq,
        BinaryOperator::NotEq => cmp::neq,
        BinaryOperator::Lt => cmp::lt,
        BinaryOperator::LtEq => cmp::lt_eq,
        BinaryOperator::Gt => cmp::gt,
        BinaryOperator::GtEq => cmp::gt_eq,
        BinaryOperator::Spaceship => cmp::not_distinct,
        other => return Err(unsupported(&format!("the operator {other}"))),
    };
    compare(&left, &right).map_err(failed)
}

/// `+`, `-`, `*`, `/`, `%`, `DIV`.
pub(super) fn calculated(
    op: &BinaryOperator,
    left: &ArrayRef,
    right: &ArrayRef,
) -> Result<ArrayRef> {
    for side in [left, right] {
        let kind = side.data_type();
        if !kind.is_numeric() && !matches!(kind, DataType::Null | DataType::Utf8) {
            return Err(unsupported(&format!("{op} of values of the type {kind}")));
        }
    }
    let whole = [left, right]
        .iter()
        .any(|side| side.data_type().is_integer());
    let number = |one: &ArrayRef| match one.data_type() {
        DataType::Utf8 if whole => cast_value(one, &DataType::Int64),
        DataType::Utf8 => cast_value(one, &DataType::Float64),
        DataType::Null => cast_value(one, &DataType::Int32),
        _ => Ok(Arc::clone(one)),
    };
    let (left, right) = (number(left)?, number(right)?);
    let decimal = |one: &ArrayRef| matches!(one.data_type(), DataType::Decimal128(..));
    let (mut left, mut right) = agreed(&left, &right)?;
    let calculate = match op {
        BinaryOperator::Plus => numeric::add,
        BinaryOperator::Minus => numeric::sub,
        BinaryOperator::Multiply => numeric::mul,
        BinaryOperator::Modulo => numeric::rem,
        BinaryOperator::Divide => {
            if decimal(&left) {
                return Err(unsupported("the division of decimals: cast them to DOUBLE"));
            }
            left = cast_value(&left, &DataType::Float64)?;
            right = cast_value(&right, &DataType::Float64)?;
            numeric::div
        }
        BinaryOperator::MyIntegerDivide | BinaryOperator::DuckIntegerDivide => {
            left = cast_value(&left, &DataType::Int64)?;
            right = cast_value(&right, &DataType::Int64)?;
            numeric::div
        }
        other => return Err(unsupported(&format!("the operator {other}"))),
    };
    if matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo) {
        refuse_zeros(&left, &right)?;
    }
    Ok(all_one_nan(&calculate(&left, &right).map_err(failed)?))
}

/// The kernels see to whole numbers; nothing is divided where the left side is null.
fn refuse_zeros(left: &ArrayRef, right: &ArrayRef) -> Result<()> {
    let zero = match right.data_type() {
        DataType::Float32 | DataType::Float64 => {
            let right = cast_value(right, &DataType::Float64)?;
            let numbers = right.as_primitive::<Float64Type>().iter().enumerate();
            let mut zeros = numbers.filter(|(_, number)| *number == Some(0.0));
            zeros.any(|(row, _)| left.is_valid(row))
        }
        _ => false,
    };
    if zero {
        return Err(failed(ArrowError::DivideByZero));
    }
    Ok(())
}
