//! Leaf columns that are filled row by row, with null as the default.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, make_array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::scan::Scalar;
use crate::spec::values::{self, ExcessDigits};

/// A column of a fixed number of rows, all null until set. Rows are set in ascending order.
pub(super) struct Leaf {
    data_type: DataType,
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
        has_zone: bool,
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
                has_zone: zone.is_some(),
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
            data_type: data_type.clone(),
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
        let array = ArrayData::builder(self.data_type)
            .len(rows)
            .nulls(Some(nulls));
        let values = match self.values {
            Values::Bool(mut values) => values.finish().into_inner(),
            Values::Int8(values) => values.into(),
            Values::Int16(values) => values.into(),
            Values::Int32(values) | Values::Date(values) => values.into(),
            Values::Int64(values) | Values::Timestamp { values, .. } => values.into(),
            Values::Float32(values) => values.into(),
            Values::Float64(values) => values.into(),
            Values::Decimal { values, .. } => values.into(),
            Values::Digits(values) => return Ok(Arc::new(LargeStringArray::from(values))),
            Values::Text { bytes, mut offsets } => {
                offsets.resize(rows + 1, bytes.len() as i32);
                let buffers = vec![offsets.into(), bytes.into_bytes().into()];
                return array.buffers(buffers).build().map(make_array);
            }
        };
        array.add_buffer(values).build().map(make_array)
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
            Self::Float32(values) => *values.get_mut(row)? = float(scalar, scratch)?,
            Self::Float64(values) => *values.get_mut(row)? = float(scalar, scratch)?,
            Self::Decimal {
                values,
                precision,
                scale,
            } => {
                let text = number_or_text(scalar, scratch)?;
                let value = values::decimal(text, *precision, *scale, ExcessDigits::Refuse)?;
                *values.get_mut(row)? = value;
            }
            Self::Date(values) => *values.get_mut(row)? = values::date(text(scalar, scratch)?)?,
            Self::Timestamp {
                values,
                unit,
                has_zone,
            } => {
                let text = text(scalar, scratch)?;
                *values.get_mut(row)? = values::timestamp(text, *unit, *has_zone)?;
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

fn number_or_text<'a>(scalar: Scalar<'a>, scratch: &'a mut String) -> Option<&'a str> {
    number(scalar).or_else(|| text(scalar, scratch))
}

/// Parses a finite number; NaN and infinities may be quoted.
fn float<F>(scalar: Scalar<'_>, scratch: &mut String) -> Option<F>
where
    F: FromStr + From<f32> + Into<f64> + Copy,
{
    let is_quoted = matches!(scalar, Scalar::Text(_));
    match number_or_text(scalar, scratch)? {
        "NaN" => Some(f32::NAN.into()),
        "Infinity" | "+Infinity" | "INF" | "+INF" => Some(f32::INFINITY.into()),
        "-Infinity" | "-INF" => Some(f32::NEG_INFINITY.into()),
        digits if !is_quoted => {
            let value: F = digits.parse().ok()?;
            Into::<f64>::into(value).is_finite().then_some(value)
        }
        _ => None,
    }
}
