//! A number for each row that is the same for equal rows, and for no others that anybody will meet.
//!
//! 128 bits, seeded: nobody can prepare rows that collide. Floats are equal as Spark groups them: all
//! NaN are one value, and so are the two zeros.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalYearMonthType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::error::{Error, Result};

/// Hashes the rows of these columns, which have as many rows each.
pub(super) fn hash_rows<'a>(
    columns: impl IntoIterator<Item = &'a ArrayRef>,
    rows: usize,
    seed: u64,
) -> Result<Vec<u128>> {
    let mut hashes = vec![0_u128; rows];
    for column in columns {
        hash_column(&**column, &mut hashes, seed)?;
    }
    Ok(hashes)
}

/// Adds a value to what is known of a row.
fn add(hash: &mut u128, value: &[u8; 16], seed: u64) {
    let mut bytes = [0_u8; 32];
    let (before, after) = bytes.split_at_mut(16);
    before.copy_from_slice(&hash.to_le_bytes());
    after.copy_from_slice(value);
    *hash = xxh3_128_with_seed(&bytes, seed);
}

fn add_null(hash: &mut u128) {
    *hash = hash
        .rotate_left(41)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
        .wrapping_add(1);
}

fn primitive<T: ArrowPrimitiveType>(
    array: &dyn Array,
    hashes: &mut [u128],
    seed: u64,
    bits: impl Fn(T::Native) -> i128,
) -> Result<()> {
    let array = array.as_primitive_opt::<T>().ok_or_else(not_comparable)?;
    if array.null_count() == 0 {
        for (hash, value) in hashes.iter_mut().zip(array.values()) {
            add(hash, &bits(*value).to_le_bytes(), seed);
        }
        return Ok(());
    }
    for (hash, value) in hashes.iter_mut().zip(array) {
        match value {
            Some(value) => add(hash, &bits(value).to_le_bytes(), seed),
            None => add_null(hash),
        }
    }
    Ok(())
}

fn bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, hashes: &mut [u128], seed: u64) {
    for (hash, value) in hashes.iter_mut().zip(values) {
        match value {
            Some(value) => add(hash, &xxh3_128_with_seed(value, seed).to_le_bytes(), seed),
            None => add_null(hash),
        }
    }
}

fn hash_column(array: &dyn Array, hashes: &mut [u128], seed: u64) -> Result<()> {
    match array.data_type() {
        DataType::Null => hashes.iter_mut().for_each(add_null),
        DataType::Boolean => {
            let array = array.as_boolean_opt().ok_or_else(not_comparable)?;
            for (hash, value) in hashes.iter_mut().zip(array) {
                match value {
                    Some(value) => add(hash, &i128::from(value).to_le_bytes(), seed),
                    None => add_null(hash),
                }
            }
        }
        DataType::Int8 => primitive::<Int8Type>(array, hashes, seed, i128::from)?,
        DataType::Int16 => primitive::<Int16Type>(array, hashes, seed, i128::from)?,
        DataType::Int32 => primitive::<Int32Type>(array, hashes, seed, i128::from)?,
        DataType::Int64 => primitive::<Int64Type>(array, hashes, seed, i128::from)?,
        DataType::Date32 => primitive::<Date32Type>(array, hashes, seed, i128::from)?,
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(array, hashes, seed, i128::from)?;
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            primitive::<DurationMicrosecondType>(array, hashes, seed, i128::from)?;
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            primitive::<IntervalYearMonthType>(array, hashes, seed, i128::from)?;
        }
        DataType::Decimal128(..) => {
            primitive::<Decimal128Type>(array, hashes, seed, |value| value)?;
        }
        DataType::Float32 => {
            primitive::<Float32Type>(array, hashes, seed, |value| float(f64::from(value)))?
        }
        DataType::Float64 => primitive::<Float64Type>(array, hashes, seed, float)?,
        DataType::Utf8 => {
            let array = array.as_string_opt::<i32>().ok_or_else(not_comparable)?;
            bytes(
                array.iter().map(|text| text.map(str::as_bytes)),
                hashes,
                seed,
            );
        }
        DataType::Binary => {
            let array = array.as_binary_opt::<i32>().ok_or_else(not_comparable)?;
            bytes(array.iter(), hashes, seed);
        }
        DataType::Struct(_) => {
            let array = array.as_struct_opt().ok_or_else(not_comparable)?;
            let inner = hash_rows(array.columns(), array.len(), seed)?;
            for (row, (hash, inner)) in hashes.iter_mut().zip(&inner).enumerate() {
                if array.is_null(row) {
                    add_null(hash);
                } else {
                    add(hash, &inner.to_le_bytes(), seed);
                }
            }
        }
        DataType::List(_) => {
            let array = array.as_list_opt::<i32>().ok_or_else(not_comparable)?;
            let inner = hash_rows([array.values()], array.values().len(), seed)?;
            nested(array, array.value_offsets(), &inner, hashes, seed);
        }
        DataType::Map(..) => {
            let array = array.as_map_opt().ok_or_else(not_comparable)?;
            let inner = hash_rows([array.keys(), array.values()], array.keys().len(), seed)?;
            nested(array, array.value_offsets(), &inner, hashes, seed);
        }
        _ => return Err(not_comparable()),
    }
    Ok(())
}

/// Lists and maps: their elements in their order, and how many there are.
fn nested(array: &dyn Array, offsets: &[i32], inner: &[u128], hashes: &mut [u128], seed: u64) {
    for (row, (hash, bounds)) in hashes.iter_mut().zip(offsets.windows(2)).enumerate() {
        let [start, end] = bounds else { continue };
        if array.is_null(row) {
            add_null(hash);
            continue;
        }
        let place = |offset: &i32| usize::try_from(*offset).unwrap_or_default();
        let elements = inner.get(place(start)..place(end)).unwrap_or_default();
        add(hash, &(elements.len() as u128).to_le_bytes(), seed);
        for element in elements {
            add(hash, &element.to_le_bytes(), seed);
        }
    }
}

/// All floats that are equal are one number.
pub(super) fn float(value: f64) -> i128 {
    let value = if value.is_nan() {
        f64::NAN
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    i128::from(value.to_bits())
}

fn not_comparable() -> Error {
    Error::corrupt(
        "log.columns",
        "a column has a type that rows cannot be compared by",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::{Float64Array, Int64Array, StringArray, StructArray};
    use arrow_schema::Field;

    use super::*;

    fn of(columns: &[ArrayRef]) -> Vec<u128> {
        hash_rows(columns, columns[0].len(), 7).unwrap()
    }

    #[test]
    fn equal_rows_and_no_others_are_equal() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(1), None, Some(0)]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("a"),
            Some("a"),
            Some("a"),
            None,
        ]));
        let hashes = of(&[numbers, texts]);
        assert_eq!(hashes[0], hashes[1]);
        let distinct: std::collections::HashSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), 3);
    }

    #[test]
    fn values_do_not_run_into_each_other() {
        let texts = |one: &str, two: &str| -> Vec<ArrayRef> {
            vec![
                Arc::new(StringArray::from(vec![one])),
                Arc::new(StringArray::from(vec![two])),
            ]
        };
        assert_ne!(of(&texts("ab", "c")), of(&texts("a", "bc")));
        let lists = |rows: &[&[&str]]| -> ArrayRef {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for row in rows {
                builder.append_value(row.iter().map(Some));
            }
            Arc::new(builder.finish())
        };
        let hashes = of(&[lists(&[&["a", "b"], &["a"], &[], &["a", "b"]])]);
        assert_eq!(hashes[0], hashes[3]);
        assert_ne!(hashes[0], hashes[1]);
        assert_ne!(hashes[1], hashes[2]);
    }

    #[test]
    fn a_slice_is_its_own_rows() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "a", "b"]));
        let field = Arc::new(Field::new("t", DataType::Utf8, true));
        let all: ArrayRef = Arc::new(StructArray::from(vec![(field, texts)]));
        assert_eq!(of(&[all.slice(1, 2)]), of(&[all])[1..]);
    }

    #[test]
    fn floats_are_equal_as_spark_groups_them() {
        let other = f64::from_bits(f64::NAN.to_bits() | 1);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, other, 1.0]));
        let hashes = of(&[floats]);
        assert_eq!(hashes[0], hashes[1]);
        assert_eq!(hashes[2], hashes[3]);
        assert_ne!(hashes[0], hashes[4]);
    }
}
