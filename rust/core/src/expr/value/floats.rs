//! Floating-point numbers as Spark compares and groups them: all `NaN` are one value, greater than all
//! others, and `-0.0` is `0.0`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType};

/// The key of `NaN`: greater than all others.
pub(in crate::expr) const NAN_KEY: i64 = key(f64::NAN);

/// Returns an integer for each number, in Spark's order.
pub(in crate::expr) const fn key(value: f64) -> i64 {
    let bits = bits(value) as i64;
    // among negative numbers, the larger one has the smaller bits
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Returns the same bits for equal numbers.
pub(crate) const fn bits(value: f64) -> u64 {
    // adding zero turns -0.0 into 0.0, and changes no other number
    canonical_nan(value + 0.0).to_bits()
}

/// Returns the number, with the same bits for all `NaN`. Zeros keep their sign.
pub(super) const fn canonical_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

const fn canonical_nan_f32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

/// Normalizes a column to the same bits for equal numbers, also within lists, maps and structs.
pub(crate) fn normalized(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::Float32 | DataType::Float64 => {
            return Ok(map(
                column,
                |value| canonical_nan_f32(value + 0.0),
                |value| canonical_nan(value + 0.0),
            ));
        }
        other if !has_floats(other) => return Ok(Arc::clone(column)),
        _ => {}
    }
    let data = column.to_data();
    let children = data.child_data().iter();
    let children = children.map(|child| Ok(normalized(&make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<_, ArrowError>>()?;
    let data = data.into_builder().child_data(children).build()?;
    Ok(make_array(data))
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float32 | DataType::Float64 => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(field) | DataType::Map(field, _) => has_floats(field.data_type()),
        _ => false,
    }
}

/// Normalizes a column of numbers to the same bits for all `NaN`, since kernels compare sign and bits.
pub(in crate::expr) fn with_canonical_nan(values: &ArrayRef) -> ArrayRef {
    map(values, canonical_nan_f32, canonical_nan)
}

fn map(values: &ArrayRef, single: fn(f32) -> f32, double: fn(f64) -> f64) -> ArrayRef {
    if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
        return Arc::new(floats.unary::<_, Float32Type>(single));
    }
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(floats.unary::<_, Float64Type>(double));
    }
    Arc::clone(values)
}
