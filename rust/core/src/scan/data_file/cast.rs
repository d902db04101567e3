//! Casts from physical to logical types. They preserve values, but nanoseconds are rounded down to
//! microseconds.
//!
//! Only the types decide whether there is a cast, so that a file of the wrong type is refused when it is
//! opened; a value that does not fit (an overflow) is detected when it is read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, new_null_array};
use arrow_schema::{ArrowError, DataType as ArrowType, TimeUnit};

use crate::codec::parquet_file::LegacyCalendar;
use crate::spec::arrow::strict_cast;
use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::schema::PrimitiveType;

/// The conversion of a leaf to its logical type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cast {
    /// Unchanged.
    Keep,
    /// Arrow's cast to this type; a value that does not fit is an error.
    Arrow(ArrowType),
    /// From this unit to microseconds, rounded down, in this type.
    Micros(TimeUnit, ArrowType),
    /// Midnight of each day.
    Midnight(ArrowType),
    /// Only nulls.
    Nulls(ArrowType),
    /// This cast, of values in the legacy calendar.
    Legacy(Box<Cast>, LegacyCalendar),
}

impl Cast {
    /// Returns the cast from `physical` to `logical`; `None` if the types are incompatible.
    pub(super) fn new(physical: &ArrowType, logical: &PrimitiveType) -> Option<Self> {
        use ArrowType as A;
        use PrimitiveType as L;
        let target = logical.arrow_type();
        // one of the types is that of nulls
        if target == A::Null || *physical == A::Null {
            return Some(Self::Nulls(target));
        }
        if *physical == target {
            return Some(Self::Keep);
        }
        let possible = match (logical, physical) {
            // Parquet has no integers below 32 bits: some writers omit the width
            (L::Byte | L::Short, A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16) => true,
            (L::Integer, A::Int8 | A::Int16 | A::UInt8 | A::UInt16 | A::UInt32) => true,
            (L::Long, A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 | A::UInt32) => true,
            (L::Long, A::UInt64) => true,
            (L::Float, A::Float16) => true,
            (L::Double, A::Float16 | A::Float32) => true,
            (L::Double, A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 | A::UInt32) => true,
            // of any precision, which other writers declare too widely; fewer decimal places would round
            (
                L::Decimal { scale, .. },
                A::Decimal128(_, file_scale) | A::Decimal256(_, file_scale),
            ) => i16::from(*scale) >= i16::from(*file_scale),
            (L::Decimal { precision, scale }, integer) => {
                let whole = precision.saturating_sub(*scale);
                match integer {
                    A::Int8 | A::UInt8 => whole >= 3,
                    A::Int16 | A::UInt16 => whole >= 5,
                    A::Int32 | A::UInt32 => whole >= 10,
                    A::Int64 | A::UInt64 => whole >= 20, // as in Spark, although Int64 has 19 digits
                    _ => false,
                }
            }
            (L::String, A::Binary) => true,
            (L::Binary | L::Geometry { .. } | L::Geography { .. }, A::Utf8) => true,
            (L::Binary | L::Geometry { .. } | L::Geography { .. }, A::FixedSizeBinary(_)) => true,
            (L::Date, A::Int32) => true,
            (L::IntervalYearMonth, A::Int32) | (L::IntervalDayTime, A::Int64) => true,
            (L::Timestamp | L::TimestampNtz, A::Timestamp(unit, _)) => {
                return Some(Self::Micros(*unit, target));
            }
            (L::TimestampNtz, A::Date32) => return Some(Self::Midnight(target)),
            _ => false,
        };
        possible.then_some(Self::Arrow(target))
    }

    /// Returns the cast for a leaf in the legacy calendar. As in Spark, it rebases dates, including those
    /// that are read as `timestamp_ntz`, and timestamps.
    pub(super) fn with_legacy_calendar(
        self,
        logical: &PrimitiveType,
        calendar: &LegacyCalendar,
    ) -> Self {
        match (&self, logical) {
            (Self::Nulls(_), _) => self,
            (Self::Midnight(_), _) | (_, PrimitiveType::Date | PrimitiveType::Timestamp) => {
                Self::Legacy(Box::new(self), calendar.clone())
            }
            _ => self,
        }
    }

    /// Casts bounds of values; null if the cast values are not bounded.
    pub(super) fn apply_to_bounds(&self, bounds: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Legacy(cast, calendar) => match &**cast {
                Self::Midnight(_) => cast.apply(&calendar.rebase_bounds(bounds)?),
                _ => calendar.rebase_bounds(&cast.apply(bounds)?),
            },
            _ => self.apply(bounds),
        }
    }

    /// Casts values to the logical type.
    pub(super) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Keep => Ok(Arc::clone(array)),
            Self::Nulls(target) => Ok(new_null_array(target, array.len())),
            Self::Arrow(target) => strict_cast(array, target),
            Self::Micros(unit, target) => micros(array, *unit, target),
            Self::Midnight(target) => {
                let days = array
                    .as_primitive_opt::<Date32Type>()
                    .ok_or_else(unexpected_type)?;
                let micros: PrimitiveArray<TimestampMicrosecondType> =
                    days.try_unary(|day| times(i64::from(day), MICROS_PER_DAY))?;
                Ok(Arc::new(micros.with_data_type(target.clone())))
            }
            Self::Legacy(cast, calendar) => match &**cast {
                Self::Midnight(_) => cast.apply(&calendar.rebase(array)?),
                _ => calendar.rebase(&cast.apply(array)?),
            },
        }
    }

    /// Returns `true` if the file must be rewritten for its column to have the table's type: units of
    /// timestamps and columns of nulls do not count.
    pub(super) fn is_type_change(&self) -> bool {
        match self {
            Self::Arrow(_) | Self::Midnight(_) => true,
            Self::Legacy(cast, _) => cast.is_type_change(),
            Self::Keep | Self::Micros(..) | Self::Nulls(_) => false,
        }
    }
}

fn micros(array: &ArrayRef, unit: TimeUnit, target: &ArrowType) -> Result<ArrayRef, ArrowError> {
    let micros: PrimitiveArray<TimestampMicrosecondType> = match unit {
        TimeUnit::Microsecond => array
            .as_primitive_opt()
            .ok_or_else(unexpected_type)?
            .clone(),
        TimeUnit::Millisecond => array
            .as_primitive_opt::<TimestampMillisecondType>()
            .ok_or_else(unexpected_type)?
            .try_unary(|millis| times(millis, 1000))?,
        TimeUnit::Nanosecond => array
            .as_primitive_opt::<TimestampNanosecondType>()
            .ok_or_else(unexpected_type)?
            .unary(|nanos| nanos.div_euclid(1000)),
        TimeUnit::Second => return Err(unexpected_type()), // Parquet has no such unit
    };
    Ok(Arc::new(micros.with_data_type(target.clone())))
}

fn times(value: i64, factor: i64) -> Result<i64, ArrowError> {
    value.checked_mul(factor).ok_or_else(|| {
        let message = format!("{value} times {factor} does not fit into 64 bits");
        ArrowError::ArithmeticOverflow(message)
    })
}

pub(super) fn unexpected_type() -> ArrowError {
    ArrowError::SchemaError(
        "the Parquet reader returned another type than its schema declares".to_owned(),
    )
}
