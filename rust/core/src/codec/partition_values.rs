//! Parses partition value strings into typed columns.
//!
//! The log stores partition values as maps of strings, with few distinct values: each distinct string is parsed
//! only once.
//!
//! Protocol: "Partition Value Serialization".

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, MapArray, PrimitiveArray, StringViewArray,
    StructArray, UInt32Array, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, TimeUnit};
use arrow_select::take::take;

use crate::error::{Error, Result};
use crate::spec::schema::{DataType as DeltaType, PrimitiveType, StructField};
use crate::spec::values::{self, ExcessDigits};

/// Parses the partition values of each row into a struct: one nullable field for each of `columns` (the key
/// in the map, and the field to return), in order.
///
/// Null, a missing key, and the empty string are null; in a string column the empty string is a value, as in
/// delta-spark and delta-kernel-rs. Keys that are not in `columns` are ignored; a null map gives a null row.
/// Timestamps are ISO-8601 with an offset, or `yyyy-MM-dd HH:mm:ss` in UTC; binary values are the bytes of
/// the string; decimals are rescaled to the column's scale. Integers may have digits after a decimal point,
/// which are cut off. Other texts of dates and timestamps are read as by Spark's cast of strings, except that
/// the time zone of a region (`Europe/Paris`) is refused.
///
/// # Errors
///
/// - Corrupt: `partition_value.map` if keys or values cannot be converted to strings.
/// - Corrupt: `partition_value.parse`, with column and value, for a string that is not of the column's type:
///   null would assign the rows to another partition.
/// - Unsupported: `partition_value.type` for a column of a type that cannot partition a table.
pub fn parse_partition_values(
    map: &MapArray,
    columns: &[(String, FieldRef)],
) -> Result<StructArray> {
    let keys = cast(map.keys(), &DataType::Utf8View).map_err(not_a_string_map)?;
    let values = cast(map.values(), &DataType::Utf8View).map_err(not_a_string_map)?;
    let (keys, values) = (keys.as_string_view(), values.as_string_view());
    let mut partition_columns: Vec<_> = columns
        .iter()
        .map(|(_, field)| PartitionColumn::new(map.len(), field))
        .collect();
    collect(map, keys, values, columns, &mut partition_columns);

    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for ((_, field), column) in columns.iter().zip(partition_columns) {
        let distinct: ArrayRef = match &column.distinct {
            Some(distinct) => parse_distinct(&distinct.values, field)?,
            None => Arc::new(values.clone()),
        };
        let rows = take(&distinct, &UInt32Array::from(column.indexes), None)
            .and_then(|rows| cast(&rows, field.data_type()))
            .map_err(|cause| unsupported(field).because(cause))?;
        fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
        arrays.push(rows);
    }
    StructArray::try_new_with_length(fields.into(), arrays, map.nulls().cloned(), map.len())
        .map_err(not_a_string_map)
}

pub(crate) fn not_a_string_map(cause: ArrowError) -> Error {
    let message = "partition values are not a map of strings";
    Error::corrupt("partition_value.map", message).because(cause)
}

/// Refuses geospatial columns, which are binary in Arrow but have no serialization in the protocol.
pub fn check_partition_column(field: &StructField) -> Result<()> {
    match &field.data_type {
        DeltaType::Primitive(
            data_type @ (PrimitiveType::Geometry { .. } | PrimitiveType::Geography { .. }),
        ) => Err(cannot_partition(&field.name, data_type)),
        _ => Ok(()),
    }
}

fn unsupported(field: &FieldRef) -> Error {
    cannot_partition(field.name(), field.data_type())
}

fn cannot_partition(name: &str, data_type: &dyn Display) -> Error {
    let message = format!(
        "column `{name}` has type {data_type}, which cannot partition a table: read its partition values \
         as strings",
    );
    Error::unsupported("partition_value.type", message)
}

/// The value of each row of one column.
struct PartitionColumn<'a> {
    indexes: Vec<Option<u32>>,
    /// The distinct strings that `indexes` refers to; `None` if it refers to the values of the map.
    distinct: Option<Distinct<'a>>,
    /// True if the empty string is a value; otherwise it is null.
    empty_is_value: bool,
}

/// The distinct strings of one column, in order of appearance.
#[derive(Default)]
struct Distinct<'a> {
    values: Vec<&'a str>,
    indexes: HashMap<&'a str, u32>,
    last: u32,
}

impl PartitionColumn<'_> {
    fn new(rows: usize, field: &FieldRef) -> Self {
        let is_text = field.data_type().is_string();
        let verbatim = is_text || field.data_type().is_binary();
        Self {
            indexes: vec![None; rows],
            distinct: (!verbatim).then(Distinct::default),
            empty_is_value: is_text,
        }
    }
}

impl<'a> Distinct<'a> {
    /// Returns the index of a string. Adjacent rows usually share it.
    #[inline]
    fn index_of(&mut self, value: &'a str) -> u32 {
        if self.values.get(self.last as usize) == Some(&value) {
            return self.last;
        }
        let Self {
            values, indexes, ..
        } = self;
        self.last = *indexes.entry(value).or_insert_with(|| {
            values.push(value);
            (values.len() - 1) as u32
        });
        self.last
    }
}

/// Collects the value of each row and column. The first value of a duplicate key counts.
fn collect<'a>(
    map: &MapArray,
    keys: &StringViewArray,
    values: &'a StringViewArray,
    columns: &[(String, FieldRef)],
    partition_columns: &mut [PartitionColumn<'a>],
) {
    let by_name: HashMap<&str, usize> = columns
        .iter()
        .enumerate()
        .rev()
        .map(|(at, (name, _))| (name.as_str(), at))
        .collect();
    // The maps of a table usually have the same key order: remember the column at each position.
    let mut guesses: Vec<usize> = (0..columns.len()).collect();
    let entries = |offset: &i32| usize::try_from(*offset).unwrap_or_default();
    let offsets = map.value_offsets().iter().map(entries);
    for (row, (start, end)) in offsets.clone().zip(offsets.skip(1)).enumerate() {
        if map.is_null(row) {
            continue;
        }
        for (slot, entry) in (start..end.min(keys.len())).enumerate() {
            let key = keys.value(entry);
            let guess = guesses.get(slot).copied().unwrap_or(usize::MAX);
            let column = match columns.get(guess) {
                Some((name, _)) if name == key => guess,
                _ => match by_name.get(key) {
                    Some(column) => *column,
                    None => continue,
                },
            };
            if let Some(guess) = guesses.get_mut(slot) {
                *guess = column;
            }
            let Some(column) = partition_columns.get_mut(column) else {
                continue;
            };
            let Some(index @ None) = column.indexes.get_mut(row) else {
                continue;
            };
            if values.is_null(entry) || (!column.empty_is_value && values.value(entry).is_empty()) {
                continue;
            }
            *index = match &mut column.distinct {
                Some(distinct) => Some(distinct.index_of(values.value(entry))),
                None => u32::try_from(entry).ok(),
            };
        }
    }
}

/// Parses the distinct strings of one column.
fn parse_distinct(strings: &[&str], field: &FieldRef) -> Result<ArrayRef> {
    let column = DistinctStrings { strings, field };
    match field.data_type() {
        DataType::Null => Ok(new_null_array(&DataType::Null, strings.len())),
        DataType::Boolean => Ok(Arc::new(BooleanArray::from(column.values(boolean)?))),
        DataType::Int8 => column.primitive::<Int8Type>(parse_integer),
        DataType::Int16 => column.primitive::<Int16Type>(parse_integer),
        DataType::Int32 => column.primitive::<Int32Type>(parse_integer),
        DataType::Int64 => column.primitive::<Int64Type>(parse_integer),
        DataType::Float32 => column.primitive::<Float32Type>(|text| java_float(text).parse().ok()),
        DataType::Float64 => column.primitive::<Float64Type>(|text| java_float(text).parse().ok()),
        DataType::Decimal128(precision, scale) => column.primitive::<Decimal128Type>(|text| {
            values::decimal(text.trim(), *precision, *scale, ExcessDigits::Round)
        }),
        DataType::Date32 => {
            column.primitive::<Date32Type>(|text| values::date(&with_day(text.trim())))
        }
        DataType::Timestamp(unit, zone) => {
            let parse = |text: &str| {
                let text = with_day(text.trim());
                match zone {
                    Some(_) => values::timestamp(&text, *unit, true),
                    None => values::local_timestamp(&text, *unit),
                }
            };
            match unit {
                TimeUnit::Second => column.primitive::<TimestampSecondType>(parse),
                TimeUnit::Millisecond => column.primitive::<TimestampMillisecondType>(parse),
                TimeUnit::Microsecond => column.primitive::<TimestampMicrosecondType>(parse),
                TimeUnit::Nanosecond => column.primitive::<TimestampNanosecondType>(parse),
            }
        }
        _ => Err(unsupported(field)),
    }
}

/// The distinct strings of one column, to be parsed.
struct DistinctStrings<'a> {
    strings: &'a [&'a str],
    field: &'a FieldRef,
}

impl DistinctStrings<'_> {
    fn primitive<T: ArrowPrimitiveType>(
        &self,
        parse: impl Fn(&str) -> Option<T::Native>,
    ) -> Result<ArrayRef> {
        // The column's own type: it carries precision, scale and time zone.
        let array = PrimitiveArray::<T>::from_iter_values(self.values(parse)?);
        Ok(Arc::new(
            array.with_data_type(self.field.data_type().clone()),
        ))
    }

    fn values<V>(&self, parse: impl Fn(&str) -> Option<V>) -> Result<Vec<V>> {
        let parsed = |text: &&str| parse(text).ok_or_else(|| self.parse_error(text));
        self.strings.iter().map(parsed).collect()
    }

    fn parse_error(&self, text: &str) -> Error {
        const MAX_CHARS: usize = 80;
        let excerpt: String = text.chars().take(MAX_CHARS).collect();
        let message = format!(
            "partition column `{}` is {}, but a file has the value `{}`{}: read the other columns, or remove \
             the file in a transaction and append its rows again",
            self.field.name(),
            self.field.data_type(),
            excerpt.escape_debug(),
            if excerpt.len() < text.len() {
                " (truncated)"
            } else {
                ""
            },
        );
        Error::corrupt("partition_value.parse", message)
    }
}

/// Parses the boolean literals that Spark's cast accepts, in any case.
fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Parses an integer. It may have digits after a decimal point, which are cut off, as by Spark's cast: some
/// writers turn the integers of a column with nulls into floats (`1.0`).
pub(crate) fn parse_integer<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    let (number, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = match number {
        "" | "+" | "-" if !fraction.is_empty() => "0",
        number => number,
    };
    let are_digits = fraction.bytes().all(|digit| digit.is_ascii_digit());
    are_digits.then(|| number.parse().ok())?
}

/// Adds the first month and day to a year, or the first day to a month, as Spark's cast does. A number of more
/// than four digits is not a year: its writer may mean days since the epoch.
fn with_day(text: &str) -> Cow<'_, str> {
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    match text.split_once('-') {
        None if text.len() == 4 && digits(text) => format!("{text}-01-01").into(),
        Some((year, month)) if year.len() == 4 && digits(year) && digits(month) => {
            format!("{text}-01").into()
        }
        _ => text.into(),
    }
}

/// Strips the type suffix that Java allows in a number (`1.5d`).
fn java_float(text: &str) -> &str {
    let text = text.trim();
    match text.strip_suffix(['d', 'D', 'f', 'F']) {
        Some(number) if number.ends_with(|last: char| last.is_ascii_digit() || last == '.') => {
            number
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests;
