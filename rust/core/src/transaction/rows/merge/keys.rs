//! Values as bytes that are equal where the values are.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::wrong;
use crate::error::Result;

/// The values of one key, and whether its nulls equal nulls.
pub(super) type KeyColumn = (ArrayRef, bool);

/// The bytes of the keys of each row; `None` where one of them is a null that equals nothing.
pub(super) fn keys(columns: &[KeyColumn], rows: usize) -> Result<Vec<Option<Vec<u8>>>> {
    let mut keys: Vec<Option<Vec<u8>>> = vec![Some(Vec::new()); rows];
    for (column, null_safe) in columns {
        let nulls = column.logical_nulls();
        for (row, key) in keys.iter_mut().enumerate() {
            let null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if null && !null_safe {
                *key = None;
            }
            let Some(key) = key else {
                continue;
            };
            if *null_safe {
                key.push(u8::from(null));
            }
            if !null {
                put(key, column, row)?;
            }
        }
    }
    Ok(keys)
}

fn put(key: &mut Vec<u8>, column: &ArrayRef, row: usize) -> Result<()> {
    use DataType as T;
    match column.data_type() {
        T::Boolean => key.push(u8::from(column.as_boolean().value(row))),
        T::Int8 => key.extend(column.as_primitive::<Int8Type>().value(row).to_le_bytes()),
        T::Int16 => key.extend(column.as_primitive::<Int16Type>().value(row).to_le_bytes()),
        T::Int32 => key.extend(column.as_primitive::<Int32Type>().value(row).to_le_bytes()),
        T::Int64 => key.extend(column.as_primitive::<Int64Type>().value(row).to_le_bytes()),
        T::Date32 => key.extend(column.as_primitive::<Date32Type>().value(row).to_le_bytes()),
        T::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row) + 0.0;
            let value = if value.is_nan() { f32::NAN } else { value };
            key.extend(value.to_le_bytes());
        }
        T::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row) + 0.0;
            let value = if value.is_nan() { f64::NAN } else { value };
            key.extend(value.to_le_bytes());
        }
        T::Decimal128(..) => {
            key.extend(
                column
                    .as_primitive::<Decimal128Type>()
                    .value(row)
                    .to_le_bytes(),
            );
        }
        T::Timestamp(..) => {
            let values = column.as_primitive::<TimestampMicrosecondType>();
            key.extend(values.value(row).to_le_bytes());
        }
        T::Utf8 => {
            let text = column.as_string::<i32>().value(row).as_bytes();
            key.extend((text.len() as u64).to_le_bytes());
            key.extend(text);
        }
        T::Binary => {
            let bytes = column.as_binary::<i32>().value(row);
            key.extend((bytes.len() as u64).to_le_bytes());
            key.extend(bytes);
        }
        other => {
            let message = format!("columns of the type {other} cannot be keys of a merge");
            return Err(wrong(&message));
        }
    }
    Ok(())
}
