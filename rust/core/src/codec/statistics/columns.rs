//! Leaf columns that are filled row by row, with null as the default.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, LargeStringArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::scan::Scalar;
use crate::spec::values::{self, ExcessDigits};

/// A column of a fixed number of rows, all null until set. Rows are set in ascending order.
pub(super) struct Leaf {
    valid: BooleanBufferBuilder,
    values: Values,
}

enum Values {
    Bool(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal {
        values: Vec<i128>,
        precision: u8,
        scale: i8,
    },
    Date(Vec<i32>),
    Timestamp {
        values: Vec<i64>,
        unit: TimeUnit,
        zone: Option<Arc<str>>,
    },
    Text {
        bytes: String,
        offsets: Vec<i32>,
    },
    /// Numbers as written in the JSON.
    Digits(Vec<Option<String>>),
}

/// Returns a validity bitmap for `rows` rows, all null.
pub(super) fn all_null(rows: usize) -> BooleanBufferBuilder {
    let mut bits = BooleanBufferBuilder::new(rows);
    bits.append_n(rows, false);
    bits
}

impl Leaf {
    /// Creates a column; `None` for a type that statistics do not have.
    pub(super) fn new(data_type: &DataType, rows: usize) -> Option<Self> {
        let values = match data_type {
            DataType::Boolean => Values::Bool(all_null(rows)),
            DataType::Int8 => Values::Int8(vec![0; rows]),
            DataType::Int16 => Values::Int16(vec![0; rows]),
            DataType::Int32 => Values::Int32(vec![0; rows]),
            DataType::Int64 => Values::Int64(vec![0; rows]),
            DataType::Float32 => Values::Float32(vec![0.0; rows]),
            DataType::Float64 => Values::Float64(vec![0.0; rows]),
            DataType::Decimal128(precision, scale) => Values::Decimal {
                values: vec![0; rows],
                precision: *precision,
                scale: *scale,
            },
            DataType::Date32 => Values::Date(vec![0; rows]),
            DataType::Timestamp(unit, zone) => Values::Timestamp {
                values: vec![0; rows],
                unit: *unit,
                zone: zone.clone(),
            },
            DataType::Utf8 => {
                let mut offsets = Vec::with_capacity(rows + 1);
                offsets.push(0);
                Values::Text {
                    bytes: String::new(),
                    offsets,
                }
            }
            DataType::LargeUtf8 => Values::Digits(vec![None; rows]),
            _ => return None,
        };
        Some(Self {
            valid: all_null(rows),
            values,
        })
    }

    /// Sets a row, unless it was set before or the scalar is not a value of the column's type.
    #[inline]
    pub(super) fn set(&mut self, row: usize, scalar: Scalar<'_>, scratch: &mut String) {
        if row < self.valid.len()
            && !self.valid.get_bit(row)
            && self.values.set(row, scalar, scratch).is_some()
        {
            self.valid.set_bit(row, true);
        }
    }

    /// Resets a row to null.
    pub(super) fn clear(&mut self, row: usize) {
        if row < self.valid.len() {
            self.valid.set_bit(row, false);
        }
    }

    /// Returns the column as an array.
    pub(super) fn finish(mut self) -> Result<ArrayRef, ArrowError> {
        let rows = self.valid.len();
        let nulls = NullBuffer::new(self.valid.finish());
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        fn primitive<T: ArrowPrimitiveType>(
            values: Vec<T::Native>,
            nulls: Option<NullBuffer>,
        ) -> Result<PrimitiveArray<T>, ArrowError> {
            PrimitiveArray::try_new(ScalarBuffer::from(values), nulls)
        }
        Ok(match self.values {
            Values::Bool(mut values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int8(values) => Arc::new(primitive::<Int8Type>(values, nulls)?),
            Values::Int16(values) => Arc::new(primitive::<Int16Type>(values, nulls)?),
            Values::Int32(values) => Arc::new(primitive::<Int32Type>(values, nulls)?),
            Values::Int64(values) => Arc::new(primitive::<Int64Type>(values, nulls)?),
            Values::Float32(values) => Arc::new(primitive::<Float32Type>(values, nulls)?),
            Values::Float64(values) => Arc::new(primitive::<Float64Type>(values, nulls)?),
            Values::Decimal {
                values,
                precision,
                scale,
            } => {
                let array = primitive::<Decimal128Type>(values, nulls)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            Values::Date(values) => Arc::new(primitive::<Date32Type>(values, nulls)?),
            Values::Timestamp { values, unit, zone } => match unit {
                TimeUnit::Second => Arc::new(
                    primitive::<TimestampSecondType>(values, nulls)?.with_timezone_opt(zone),
                ),
                TimeUnit::Millisecond => Arc::new(
                    primitive::<TimestampMillisecondType>(values, nulls)?.with_timezone_opt(zone),
                ),
                TimeUnit::Microsecond => Arc::new(
                    primitive::<TimestampMicrosecondType>(values, nulls)?.with_timezone_opt(zone),
                ),
                TimeUnit::Nanosecond => Arc::new(
                    primitive::<TimestampNanosecondType>(values, nulls)?.with_timezone_opt(zone),
                ),
            },
            Values::Digits(values) => Arc::new(LargeStringArray::from(values)),
            Values::Text { bytes, mut offsets } => {
                offsets.resize(rows + 1, bytes.len() as i32);
                Arc::new(StringArray::try_new(
                    OffsetBuffer::new(ScalarBuffer::from(offsets)),
                    Buffer::from_vec(bytes.into_bytes()),
                    nulls,
                )?)
            }
        })
    }
}

impl Values {
    #[inline]
    fn set(&mut self, row: usize, scalar: Scalar<'_>, scratch: &mut String) -> Option<()> {
        match self {
            Self::Bool(values) => match scalar {
                Scalar::Bool(value) => values.set_bit(row, value),
                _ => return None,
            },
            Self::Int8(values) => *values.get_mut(row)? = number(scalar)?.parse().ok()?,
            Self::Int16(values) => *values.get_mut(row)? = number(scalar)?.parse().ok()?,
            Self::Int32(values) => *values.get_mut(row)? = number(scalar)?.parse().ok()?,
            Self::Int64(values) => *values.get_mut(row)? = number(scalar)?.parse().ok()?,
            Self::Float32(values) => {
                *values.get_mut(row)? = match special_float(scalar, scratch)? {
                    Ok(special) => special as f32,
                    Err(number) => number
                        .parse()
                        .ok()
                        .filter(|value: &f32| value.is_finite())?,
                }
            }
            Self::Float64(values) => {
                *values.get_mut(row)? = match special_float(scalar, scratch)? {
                    Ok(special) => special,
                    Err(number) => number
                        .parse()
                        .ok()
                        .filter(|value: &f64| value.is_finite())?,
                }
            }
            Self::Decimal {
                values,
                precision,
                scale,
            } => {
                let text = match scalar {
                    Scalar::Number(text) => text,
                    other => text(other, scratch)?,
                };
                let value = values::decimal(text, *precision, *scale, ExcessDigits::Refuse)?;
                *values.get_mut(row)? = value;
            }
            Self::Date(values) => *values.get_mut(row)? = values::date(text(scalar, scratch)?)?,
            Self::Timestamp { values, unit, zone } => {
                let text = text(scalar, scratch)?;
                *values.get_mut(row)? = values::timestamp(text, *unit, zone.is_some())?;
            }
            Self::Text { bytes, offsets } => {
                let text = text(scalar, scratch)?;
                let before = i32::try_from(bytes.len()).ok()?;
                i32::try_from(bytes.len().checked_add(text.len())?).ok()?;
                offsets.resize(row + 1, before);
                bytes.push_str(text);
            }
            Self::Digits(values) => *values.get_mut(row)? = Some(number(scalar)?.to_owned()),
        }
        Some(())
    }
}

fn number<'a>(scalar: Scalar<'a>) -> Option<&'a str> {
    match scalar {
        Scalar::Number(text) => Some(text),
        _ => None,
    }
}

fn text<'a>(scalar: Scalar<'a>, scratch: &'a mut String) -> Option<&'a str> {
    match scalar {
        Scalar::Text(text) => text.strict(scratch),
        _ => None,
    }
}

/// Returns the value of NaN or an infinity as `Ok`, and the digits of any other number as `Err`.
fn special_float<'a>(scalar: Scalar<'a>, scratch: &'a mut String) -> Option<Result<f64, &'a str>> {
    let quoted = matches!(scalar, Scalar::Text(_));
    let text = match scalar {
        Scalar::Number(text) => text,
        other => text(other, scratch)?,
    };
    match text {
        "NaN" => Some(Ok(f64::NAN)),
        "Infinity" | "+Infinity" | "INF" | "+INF" => Some(Ok(f64::INFINITY)),
        "-Infinity" | "-INF" => Some(Ok(f64::NEG_INFINITY)),
        digits if !quoted => Some(Err(digits)),
        _ => None,
    }
}
