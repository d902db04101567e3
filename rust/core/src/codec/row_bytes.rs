//! Rows as bytes that are equal where the rows are.
//!
//! Arrow's row format, with floats as Spark groups them: all NaN are one value, and so are the two zeros.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType};

/// Rows that are encoded together.
const ROWS: usize = 4096;

/// Gives the bytes of each row of these columns, which have as many rows each.
///
/// # Errors
///
/// A column has a type without a row format.
pub(crate) fn each_row<'a>(
    columns: impl IntoIterator<Item = &'a ArrayRef>,
    rows: usize,
    mut each: impl FnMut(usize, &[u8]),
) -> Result<(), ArrowError> {
    let columns = columns.into_iter().map(normalised);
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
    if columns.is_empty() {
        (0..rows).for_each(|row| each(row, &[]));
        return Ok(());
    }
    let fields = columns.iter().map(|column| column.data_type().clone());
    let converter = RowConverter::new(fields.map(SortField::new).collect())?;
    let mut encoded = converter.empty_rows(rows.min(ROWS), 0);
    for start in (0..rows).step_by(ROWS) {
        let length = ROWS.min(rows - start);
        let columns: Vec<ArrayRef> = columns.iter().map(|one| one.slice(start, length)).collect();
        encoded.clear();
        converter.append(&mut encoded, &columns)?;
        for (row, bytes) in (start..).zip(&encoded) {
            each(row, bytes.as_ref());
        }
    }
    Ok(())
}

/// The column with equal floats as the same bits.
///
/// # Errors
///
/// A type that cannot be built anew.
pub(crate) fn normalised(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if !has_floats(column.data_type()) {
        return Ok(Arc::clone(column));
    }
    if let Some(floats) = column.as_primitive_opt::<Float32Type>() {
        let normal = |value: f32| {
            if value.is_nan() {
                f32::NAN
            } else {
                value + 0.0
            }
        };
        return Ok(Arc::new(floats.unary::<_, Float32Type>(normal)));
    }
    if let Some(floats) = column.as_primitive_opt::<Float64Type>() {
        let normal = |value: f64| {
            if value.is_nan() {
                f64::NAN
            } else {
                value + 0.0
            }
        };
        return Ok(Arc::new(floats.unary::<_, Float64Type>(normal)));
    }
    let data = column.to_data();
    let children = data.child_data().iter();
    let children = children.map(|child| Ok(normalised(&make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<_, ArrowError>>()?;
    let whole = data.into_builder().child_data(children).build()?;
    Ok(make_array(whole))
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float32 | DataType::Float64 => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(field) | DataType::Map(field, _) => has_floats(field.data_type()),
        _ => false,
    }
}
