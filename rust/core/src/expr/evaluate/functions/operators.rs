//! Arithmetic and comparison, after conversion of both sides to one type.

use std::sync::Arc;

use arrow_arith::numeric;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use arrow_select::zip::zip;
use sqlparser::ast::BinaryOperator;

use super::cast::sql_name;
use super::columnar_value::ColumnarValue;
use super::{failed, type_error, unsupported};
use crate::error::Result;
use crate::expr::value::comparison::Op;
use crate::expr::value::floats::{normalized, with_canonical_nan};

/// Returns the common type of two types, for comparisons and alternatives.
pub(crate) fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType as T;
    if left == right {
        return Some(left.clone());
    }
    let time = |data_type: &T| matches!(data_type, T::Date32 | T::Timestamp(..));
    Some(match (left, right) {
        (T::Null, other) | (other, T::Null) => other.clone(),
        // strings are cast to the other's type, numbers to the widest of their kind
        (T::Utf8, other) | (other, T::Utf8) => match other {
            integer if integer.is_integer() => T::Int64,
            number if number.is_numeric() => T::Float64,
            other => other.clone(),
        },
        (T::Decimal128(p, s), T::Decimal128(q, t)) => {
            let scale = *s.max(t);
            let whole_digits = |p: u8, s: i8| i16::from(p) - i16::from(s);
            let whole_digits = whole_digits(*p, *s).max(whole_digits(*q, *t));
            let precision = u8::try_from(whole_digits + i16::from(scale)).ok()?.min(38);
            T::Decimal128(precision, scale)
        }
        (T::Decimal128(..), T::Float32 | T::Float64)
        | (T::Float32 | T::Float64, T::Decimal128(..)) => T::Float64,
        (decimal @ T::Decimal128(..), other) | (other, decimal @ T::Decimal128(..)) => {
            return common_type(decimal, &T::Decimal128(digits(other)?, 0));
        }
        // a FLOAT cannot represent all digits of integers
        (T::Float32, integer) | (integer, T::Float32) if integer.is_integer() => T::Float64,
        (left, right) if left.is_numeric() && right.is_numeric() => {
            if rank(left)? > rank(right)? {
                left.clone()
            } else {
                right.clone()
            }
        }
        (left, right) if time(left) && time(right) => {
            let zone = [left, right].into_iter().find_map(|side| match side {
                T::Timestamp(_, zone) => zone.clone(),
                _ => None,
            });
            T::Timestamp(TimeUnit::Microsecond, zone)
        }
        (T::List(left), T::List(right)) => {
            let element = common_type(left.data_type(), right.data_type())?;
            let nullable = left.is_nullable() || right.is_nullable();
            let field = Field::clone(left).with_data_type(element);
            T::List(Arc::new(field.with_nullable(nullable)))
        }
        _ => return None,
    })
}

fn digits(integer: &DataType) -> Option<u8> {
    Some(match integer {
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

fn has_fractions(number: &DataType) -> bool {
    match number {
        DataType::Decimal128(_, scale) => *scale > 0,
        other => other.is_floating(),
    }
}

/// Returns the type of [`common_type`], or an error.
pub(in crate::expr) fn agreed_type(left: &DataType, right: &DataType) -> Result<DataType> {
    common_type(left, right).ok_or_else(|| {
        let (left, right) = (sql_name(left), sql_name(right));
        type_error(&format!("{left} and {right} have no type in common"))
    })
}

/// Returns the common type of all of these types. Each value is cast to it once, since a cast to the common
/// type of only some of them could fail.
pub(in crate::expr) fn agreed_type_of<'a>(
    types: impl IntoIterator<Item = &'a DataType>,
) -> Result<DataType> {
    types
        .into_iter()
        .try_fold(DataType::Null, |common, next| agreed_type(&common, next))
}

/// Returns `true` if a cast from one type to the other cannot fail.
pub(in crate::expr) fn always_fits(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Null, _) => true,
        (from, T::Utf8) => from.is_numeric() || from.is_temporal() || matches!(from, T::Boolean),
        (T::Decimal128(..), T::Float64) => true,
        (from, to) => matches!((rank(from), rank(to)), (Some(from), Some(to)) if from <= to),
    }
}

/// Compares values: `=`, `<` and so on; null if a side is null, except for `<=>`.
pub(in crate::expr) fn compared(
    op: Op,
    left: &ColumnarValue,
    right: &ColumnarValue,
) -> Result<BooleanArray> {
    let common = match agreed_type(left.data_type(), right.data_type())? {
        DataType::Null => DataType::Boolean,
        nested if nested.is_nested() => {
            let message = format!(
                "values of the type {} cannot be compared",
                sql_name(&nested)
            );
            return Err(type_error(&message));
        }
        common => common,
    };
    let side = |side: &ColumnarValue| {
        let values = side.cast(&common)?;
        values.map(|values| normalized(values).map_err(failed))
    };
    op.kernel()(&side(left)?, &side(right)?).map_err(failed)
}

/// Selects the first value where the condition is true, and the other elsewhere.
pub(in crate::expr) fn if_else(
    condition: &BooleanArray,
    yes: &ColumnarValue,
    no: &ColumnarValue,
) -> Result<ArrayRef> {
    let common = agreed_type(yes.data_type(), no.data_type())?;
    if common == DataType::Null {
        return Ok(new_null_array(&common, condition.len()));
    }
    let (yes, no) = (yes.cast(&common)?, no.cast(&common)?);
    zip(&is_true(condition), &yes, &no).map_err(failed)
}

/// Replaces null by false.
pub(in crate::expr) fn is_true(booleans: &BooleanArray) -> BooleanArray {
    match booleans.nulls() {
        Some(nulls) => BooleanArray::new(booleans.values() & nulls.inner(), None),
        None => booleans.clone(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `DIV`
    IntegerDivide,
    Modulo,
}

impl Arithmetic {
    pub(in crate::expr) fn of(op: &BinaryOperator) -> Result<Self> {
        Ok(match op {
            BinaryOperator::Plus => Self::Add,
            BinaryOperator::Minus => Self::Subtract,
            BinaryOperator::Multiply => Self::Multiply,
            BinaryOperator::Divide => Self::Divide,
            BinaryOperator::MyIntegerDivide => Self::IntegerDivide,
            BinaryOperator::Modulo => Self::Modulo,
            other => return Err(unsupported(&format!("the operator {other}"))),
        })
    }

    /// Returns `true` for divisions, whose right side is evaluated first.
    pub(in crate::expr) fn divides(self) -> bool {
        matches!(self, Self::Divide | Self::IntegerDivide | Self::Modulo)
    }

    /// Returns the type to which both sides are cast.
    pub(in crate::expr) fn operand_type(
        self,
        left: &DataType,
        right: &DataType,
    ) -> Result<DataType> {
        Ok(match (self, agreed_type(left, right)?) {
            (Self::Divide, DataType::Decimal128(..)) => {
                return Err(unsupported("the division of decimals: cast them to DOUBLE"));
            }
            (Self::Divide, _) => DataType::Float64,
            // cutting the fraction off the left side does not change the quotient, off the right side it does
            (Self::IntegerDivide, _) if has_fractions(right) => {
                let construct = format!("DIV by values of the type {}", sql_name(right));
                return Err(unsupported(&construct));
            }
            (Self::IntegerDivide, _) => DataType::Int64,
            (_, common) => common,
        })
    }

    /// Computes the operation on numbers of one type.
    pub(in crate::expr) fn evaluate(
        self,
        left: &ColumnarValue,
        right: &ColumnarValue,
    ) -> Result<ArrayRef> {
        let calculate = match self {
            Self::Add => numeric::add,
            Self::Subtract => numeric::sub,
            Self::Multiply => numeric::mul,
            Self::Divide | Self::IntegerDivide => numeric::div,
            Self::Modulo => numeric::rem,
        };
        if self.divides() && right.data_type().is_floating() && divides_by_zero(left, right)? {
            return Err(failed(ArrowError::DivideByZero));
        }
        let result = calculate(left, right).map_err(failed)?;
        if let DataType::Decimal128(precision, _) = result.data_type() {
            // kernels limit the precision of the type, not that of the values
            let decimals = result.as_primitive::<Decimal128Type>();
            decimals
                .validate_decimal_precision(*precision)
                .map_err(failed)?;
        }
        Ok(with_canonical_nan(&result))
    }
}

/// Returns `true` if a floating-point number is divided by zero; kernels check integers. Nothing is divided
/// if the left side is null.
fn divides_by_zero(left: &ColumnarValue, right: &ColumnarValue) -> Result<bool> {
    let divisors = right.cast(&DataType::Float64)?;
    let divisors = divisors.array().as_primitive::<Float64Type>();
    if !divisors.iter().any(|divisor| divisor == Some(0.0)) {
        return Ok(false);
    }
    let is_zero = |row| divisors.is_valid(row) && divisors.value(row) == 0.0;
    let rows = match left {
        ColumnarValue::Array(values) => values.len(),
        ColumnarValue::Scalar(_) => divisors.len(),
    };
    Ok((0..rows)
        .any(|row| is_zero(right.index_of(row)) && left.array().is_valid(left.index_of(row))))
}
