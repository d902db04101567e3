//! Families of types that are compared alike.

use std::fmt;

use arrow_schema::{DataType as ArrowType, TimeUnit};

use crate::expr::value::literal::Literal;
use crate::spec::schema::{DataType, PrimitiveType};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Family {
    Integer,
    Decimal {
        scale: u8,
    },
    Float,
    Double,
    String,
    Binary,
    Boolean,
    Date,
    Timestamp,
    TimestampNtz,
    /// Only nulls.
    Void,
    /// Types without an order, by name.
    Other(&'static str),
}

impl Family {
    pub(in crate::expr) fn of(data_type: &DataType) -> Self {
        let primitive = match data_type {
            DataType::Primitive(primitive) => primitive,
            DataType::Array(_) => return Self::Other("array"),
            DataType::Map(_) => return Self::Other("map"),
            DataType::Struct(_) => return Self::Other("struct"),
        };
        match primitive {
            PrimitiveType::Byte
            | PrimitiveType::Short
            | PrimitiveType::Integer
            | PrimitiveType::Long => Self::Integer,
            PrimitiveType::Decimal { scale, .. } => Self::Decimal { scale: *scale },
            PrimitiveType::Float => Self::Float,
            PrimitiveType::Double => Self::Double,
            PrimitiveType::String => Self::String,
            PrimitiveType::Binary => Self::Binary,
            PrimitiveType::Boolean => Self::Boolean,
            PrimitiveType::Date => Self::Date,
            PrimitiveType::Timestamp => Self::Timestamp,
            PrimitiveType::TimestampNtz => Self::TimestampNtz,
            PrimitiveType::Void => Self::Void,
            PrimitiveType::Variant => Self::Other("variant"),
            PrimitiveType::IntervalYearMonth | PrimitiveType::IntervalDayTime => {
                Self::Other("interval")
            }
            PrimitiveType::Geometry { .. } => Self::Other("geometry"),
            PrimitiveType::Geography { .. } => Self::Other("geography"),
        }
    }

    /// Returns the family of an Arrow type that is not from a table's schema.
    pub(in crate::expr) fn of_arrow(data_type: &ArrowType) -> Self {
        match data_type {
            ArrowType::Int8 | ArrowType::Int16 | ArrowType::Int32 | ArrowType::Int64 => {
                Self::Integer
            }
            ArrowType::Decimal128(_, scale) => match u8::try_from(*scale) {
                Ok(scale) => Self::Decimal { scale },
                Err(_) => Self::Other("decimal"),
            },
            ArrowType::Float32 => Self::Float,
            ArrowType::Float64 => Self::Double,
            ArrowType::Utf8 => Self::String,
            ArrowType::Binary => Self::Binary,
            ArrowType::Boolean => Self::Boolean,
            ArrowType::Date32 => Self::Date,
            ArrowType::Timestamp(TimeUnit::Microsecond, Some(_)) => Self::Timestamp,
            ArrowType::Timestamp(TimeUnit::Microsecond, None) => Self::TimestampNtz,
            ArrowType::Null => Self::Void,
            ArrowType::Struct(_) => Self::Other("struct"),
            _ => Self::Other("other"),
        }
    }

    /// Returns `true` for strings that are cast row by row for a comparison with this literal.
    pub(in crate::expr) fn casts_for(&self, literal: &Literal) -> bool {
        let text = matches!(
            literal,
            Literal::Null | Literal::String(_) | Literal::Binary(_) | Literal::List(_)
        );
        *self == Self::String && !text
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Integer => "integer",
            Self::Decimal { .. } => "decimal",
            Self::Float => "float",
            Self::Double => "double",
            Self::String => "string",
            Self::Binary => "binary",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampNtz => "timestamp_ntz",
            Self::Void => "void",
            Self::Other(name) => name,
        })
    }
}
