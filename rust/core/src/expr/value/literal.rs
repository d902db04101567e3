//! Literals of a predicate.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array,
    Int32Array, Int64Array, NullArray, StringArray, TimestampMicrosecondArray,
};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};

use crate::error::{Error, Result};
use crate::expr::value::floats::canonical_nan;
use crate::spec::json::clipped;
use crate::spec::values::{self, ExcessDigits};

/// A literal, as it was written: it is converted to the column's type when it is bound.
#[derive(Clone, Debug)]
pub enum Literal {
    /// `NULL` in SQL, `None` in Python.
    Null,
    /// True or false.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// An exact number, including integers beyond 64 bits.
    Decimal(Decimal),
    /// A binary floating-point number.
    Double(f64),
    /// A string.
    String(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00 UTC.
    Timestamp(i64),
    /// Microseconds since 1970-01-01T00:00:00, without time zone.
    TimestampNtz(i64),
    /// A `TIMESTAMP` without a zone: microseconds since 1970-01-01T00:00:00 in UTC.
    /// [`Predicate::with_timestamps`] replaces it for other time zones.
    ///
    /// [`Predicate::with_timestamps`]: crate::expr::Predicate::with_timestamps
    LocalTimestamp(i64),
    /// Several values, for `in` and `not in`.
    List(Vec<Literal>),
}

/// An exact number of at most 38 digits, with the scale that it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    value: i128,
    scale: u8,
}

impl Decimal {
    /// The number of digits of the largest decimal.
    pub(super) const DIGITS: u8 = 38;

    /// Parses `-12.50`, `1E+3` and so on; `None` if it is not a number, or has too many digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len());
        let scale = i64::try_from(fraction).ok()? - i64::from(exponent);
        let scale = u8::try_from(scale.max(0)).ok()?;
        Self::parse_with_scale(text, scale, ExcessDigits::Refuse)
    }

    /// Parses a number, and converts it to this scale.
    pub(super) fn parse_with_scale(text: &str, scale: u8, excess: ExcessDigits) -> Option<Self> {
        if scale > Self::DIGITS {
            return None;
        }
        let value = values::decimal(text, Self::DIGITS, i8::try_from(scale).ok()?, excess)?;
        Some(Self { value, scale })
    }

    /// Creates a number from its unscaled value.
    pub(in crate::expr) fn new(value: i128, scale: u8) -> Self {
        Self { value, scale }
    }

    /// Returns the precision of the smallest type that holds it.
    pub(in crate::expr) fn precision(self) -> u8 {
        let digits = self.value.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
        u8::try_from(digits).unwrap_or(u8::MAX).max(self.scale)
    }

    /// Returns an array of this value, of the smallest type that holds it.
    pub(in crate::expr) fn array(self) -> Decimal128Array {
        let scale = i8::try_from(self.scale).unwrap_or(i8::MAX);
        let data_type = DataType::Decimal128(self.precision(), scale);
        Decimal128Array::from(vec![self.value]).with_data_type(data_type)
    }

    /// Returns the unscaled value: `1250` for `12.50`.
    pub fn unscaled(self) -> i128 {
        self.value
    }

    /// Returns the number of digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }

    pub(in crate::expr) fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

/// Returns ten to a power of at most 38.
pub(in crate::expr) fn power_of_ten(exponent: u8) -> i128 {
    10i128.checked_pow(u32::from(exponent)).unwrap_or(i128::MAX)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.value < 0 { "-" } else { "" };
        let digits = self.value.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let unit = power_of_ten(self.scale).unsigned_abs();
        let width = usize::from(self.scale);
        write!(f, "{sign}{}.{:0width$}", digits / unit, digits % unit)
    }
}

impl Literal {
    /// Parses an integer or a decimal number.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.literal` if the text is not a number, or has more than 38 digits.
    pub fn number(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Ok(value) = text.parse() {
            return Ok(Self::Integer(value));
        }
        Self::decimal(text)
    }

    /// Parses a decimal number.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.literal` if the text is not a number, or has more than 38 digits.
    pub fn decimal(text: &str) -> Result<Self> {
        Decimal::parse(text.trim())
            .map(Self::Decimal)
            .ok_or_else(|| {
                let excerpt = clipped(text);
                let message = format!(
                    "{excerpt} is not a decimal number of at most 38 digits: write fewer digits, or a \
                 floating-point number"
                );
                Error::invalid("filter.literal", message)
            })
    }

    /// Returns an array of this value, of its type in SQL; `None` for lists.
    pub(in crate::expr) fn array(&self) -> Option<ArrayRef> {
        Some(match self {
            Self::Null => Arc::new(NullArray::new(1)),
            Self::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
            Self::Integer(value) => match i32::try_from(*value) {
                Ok(value) => Arc::new(Int32Array::from(vec![value])),
                Err(_) => Arc::new(Int64Array::from(vec![*value])),
            },
            Self::Decimal(value) => Arc::new(value.array()),
            Self::Double(value) => Arc::new(Float64Array::from(vec![*value])),
            Self::String(value) => Arc::new(StringArray::from(vec![value.as_str()])),
            Self::Binary(value) => Arc::new(BinaryArray::from(vec![value.as_slice()])),
            Self::Date(days) => Arc::new(Date32Array::from(vec![*days])),
            Self::Timestamp(micros) | Self::LocalTimestamp(micros) => {
                Arc::new(TimestampMicrosecondArray::from(vec![*micros]).with_timezone("UTC"))
            }
            Self::TimestampNtz(micros) => Arc::new(TimestampMicrosecondArray::from(vec![*micros])),
            Self::List(_) => return None,
        })
    }

    /// Returns the literal for an array of one value; `None` for types without literals.
    pub(in crate::expr) fn of(value: &ArrayRef) -> Option<Self> {
        if value.len() != 1 {
            return None;
        }
        if value.is_null(0) || *value.data_type() == DataType::Null {
            return Some(Self::Null);
        }
        Some(match value.data_type() {
            DataType::Boolean => Self::Boolean(value.as_boolean().value(0)),
            DataType::Utf8 => Self::String(value.as_string::<i32>().value(0).to_owned()),
            DataType::Binary => Self::Binary(value.as_binary::<i32>().value(0).to_vec()),
            DataType::Float32 => Self::Double(value.as_primitive::<Float32Type>().value(0).into()),
            DataType::Float64 => Self::Double(value.as_primitive::<Float64Type>().value(0)),
            DataType::Decimal128(_, scale) => Self::Decimal(Decimal::new(
                value.as_primitive::<Decimal128Type>().value(0),
                u8::try_from(*scale).ok()?,
            )),
            DataType::Date32 => Self::Date(value.as_primitive::<Date32Type>().value(0)),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let micros = value.as_primitive::<TimestampMicrosecondType>().value(0);
                match zone {
                    Some(_) => Self::Timestamp(micros),
                    None => Self::TimestampNtz(micros),
                }
            }
            integer if integer.is_integer() => {
                let integer = cast(value, &DataType::Int64).ok()?;
                Self::Integer(integer.as_primitive::<Int64Type>().value(0))
            }
            _ => return None,
        })
    }

    /// Returns the kind of the value, for messages.
    pub(in crate::expr) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) | Self::Decimal(_) | Self::Double(_) => "a number",
            Self::String(_) => "a string",
            Self::Binary(_) => "bytes",
            Self::Date(_) => "a date",
            Self::Timestamp(_) | Self::TimestampNtz(_) | Self::LocalTimestamp(_) => "a timestamp",
            Self::List(_) => "a list",
        }
    }
}

pub(in crate::expr) fn list_compared() -> Error {
    Error::invalid("filter.literal", "a list cannot be compared")
}

/// Floating-point numbers are equal if their bits are, or if both are `NaN`.
impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Boolean(left), Self::Boolean(right)) => left == right,
            (Self::Integer(left), Self::Integer(right))
            | (Self::Timestamp(left), Self::Timestamp(right))
            | (Self::TimestampNtz(left), Self::TimestampNtz(right))
            | (Self::LocalTimestamp(left), Self::LocalTimestamp(right)) => left == right,
            (Self::Decimal(left), Self::Decimal(right)) => left == right,
            (Self::Double(left), Self::Double(right)) => {
                canonical_nan(*left).to_bits() == canonical_nan(*right).to_bits()
            }
            (Self::String(left), Self::String(right)) => left == right,
            (Self::Binary(left), Self::Binary(right)) => left == right,
            (Self::Date(left), Self::Date(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Literal {}
