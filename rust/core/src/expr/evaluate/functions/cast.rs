//! Casts between types, as Spark's `CAST` in ANSI mode.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, PrimitiveArray, StringArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::{DataType, TimeUnit};

use super::float_text::format_float;
use super::{failed, type_error, unsupported};
use crate::error::{Error, Result};
use crate::expr::value::casts;
use crate::expr::value::literal::{Decimal, power_of_ten};
use crate::spec::arrow::strict_cast;
use crate::spec::calendar::{DateText, TimestampText};
use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::json::clipped;

const MICROS: TimeUnit = TimeUnit::Microsecond;

/// Casts values to another type. Timestamps without time zone are interpreted in UTC.
///
/// # Errors
///
/// Invalid argument: `formula.value` for a value that does not fit, `formula.too_large` for more than 2 GiB of
/// strings; `formula.type` or `formula.unsupported` for types without a cast.
pub(crate) fn cast_value(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let source = values.data_type();
    if source == target {
        return Ok(Arc::clone(values));
    }
    if *source == DataType::Null {
        return Ok(new_null_array(target, values.len()));
    }
    match (source, target) {
        // the time zone of a type does not affect its values
        (DataType::Timestamp(unit, Some(zone)), _) if zone.as_ref() != "+00:00" => {
            let bare = DataType::Timestamp(*unit, Some("+00:00".into()));
            let bare = arrow_cast(values, &bare)?;
            match target {
                DataType::Timestamp(..) => to_micros(&bare, target),
                _ => cast_value(&bare, target),
            }
        }
        (DataType::Timestamp(..) | DataType::Date32, DataType::Timestamp(..)) => {
            to_micros(values, target)
        }
        (DataType::Utf8, _) => parse_strings(values, target),
        (DataType::Float16, DataType::Utf8) => {
            cast_value(&arrow_cast(values, &DataType::Float32)?, target)
        }
        (DataType::Float32, DataType::Utf8) => {
            let numbers = values.as_primitive::<Float32Type>();
            Ok(format_each(numbers, format_float))
        }
        (DataType::Float64, DataType::Utf8) => {
            let numbers = values.as_primitive::<Float64Type>();
            Ok(format_each(numbers, format_float))
        }
        (
            DataType::Float16 | DataType::Float32 | DataType::Float64,
            DataType::Decimal128(precision, scale),
        ) => floats_to_decimals(values, *precision, *scale),
        (DataType::Timestamp(..), DataType::Utf8) => {
            Ok(format_each(&micros(values)?, format_timestamp))
        }
        (DataType::Date32, DataType::Utf8) => {
            let days = values.as_primitive::<Date32Type>();
            Ok(format_each(days, |day| DateText(day.into()).to_string()))
        }
        (DataType::Timestamp(..), DataType::Date32) => {
            // at most 107 million days
            let day = |micros: i64| micros.div_euclid(MICROS_PER_DAY) as i32;
            Ok(Arc::new(micros(values)?.unary::<_, Date32Type>(day)))
        }
        (DataType::Timestamp(_, Some(_)), number) if number.is_numeric() => {
            timestamps_to_seconds(values, target)
        }
        (number, DataType::Timestamp(_, Some(_))) if number.is_numeric() => {
            seconds_to_timestamps(values, target)
        }
        (DataType::Timestamp(..) | DataType::Date32, other)
        | (other, DataType::Timestamp(..) | DataType::Date32)
            if other.is_numeric() || *other == DataType::Boolean =>
        {
            let (source, target) = (sql_name(source), sql_name(target));
            Err(type_error(&format!("{source} cannot be cast to {target}")))
        }
        _ => arrow_cast(values, target),
    }
}

fn format_each<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    format: impl Fn(T::Native) -> String,
) -> ArrayRef {
    let strings = values.iter().map(|value| value.map(&format));
    Arc::new(strings.collect::<StringArray>())
}

fn parse_strings(strings: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    match target {
        DataType::Timestamp(_, zone) => {
            let timestamp = |text: &str| casts::timestamp(text, zone.is_some());
            let micros = parse_each::<_, TimestampMicrosecondArray>(strings, target, timestamp)?;
            to_micros(&micros, target)
        }
        DataType::Date32 => parse_each::<_, Date32Array>(strings, target, casts::date),
        DataType::Boolean => parse_each::<_, BooleanArray>(strings, target, casts::boolean),
        DataType::Int64 => parse_each::<_, Int64Array>(strings, target, casts::integer),
        DataType::Int8 => parse_each::<_, Int8Array>(strings, target, small_integer),
        DataType::Int16 => parse_each::<_, Int16Array>(strings, target, small_integer),
        DataType::Int32 => parse_each::<_, Int32Array>(strings, target, small_integer),
        DataType::Float32 => parse_each::<_, Float32Array>(strings, target, casts::float),
        DataType::Float64 => parse_each::<_, Float64Array>(strings, target, casts::float),
        DataType::Decimal128(precision, scale) => {
            let digits = u8::try_from(*scale).map_err(|_| unsupported(&target.to_string()))?;
            let unscaled =
                |text: &str| casts::decimal(text, *precision, digits).map(Decimal::unscaled);
            let decimals = parse_each::<_, Decimal128Array>(strings, target, unscaled)?;
            let decimals = decimals.as_primitive::<Decimal128Type>().clone();
            let decimals = decimals.with_precision_and_scale(*precision, *scale);
            Ok(Arc::new(decimals.map_err(failed)?))
        }
        _ => arrow_cast(strings, target),
    }
}

/// Rounds the numbers as their texts, not as their binary values: the double 1.005, which is slightly less,
/// becomes 1.01.
fn floats_to_decimals(values: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    let target = DataType::Decimal128(precision, scale);
    let digits = u8::try_from(scale).map_err(|_| unsupported(&target.to_string()))?;
    let doubles = arrow_cast(values, &DataType::Float64)?;
    let unscaled = |double: f64| {
        let text = format_float(double);
        let decimal = casts::decimal(&text, precision, digits).map(Decimal::unscaled);
        decimal.ok_or_else(|| malformed(&text, &target))
    };
    let doubles = doubles.as_primitive::<Float64Type>().iter();
    let decimals = doubles
        .map(|double| double.map(unscaled).transpose())
        .collect::<Result<Decimal128Array>>()?;
    let decimals = decimals.with_precision_and_scale(precision, scale);
    Ok(Arc::new(decimals.map_err(failed)?))
}

fn parse_each<T, A: Array + FromIterator<Option<T>> + 'static>(
    values: &ArrayRef,
    target: &DataType,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<ArrayRef> {
    let strings = values.as_string_opt::<i32>();
    let strings = strings.ok_or_else(|| type_error("expected strings"))?;
    let value = |text: &str| parse(text).ok_or_else(|| malformed(text, target));
    let values = strings.iter().map(|text| text.map(value).transpose());
    Ok(Arc::new(values.collect::<Result<A>>()?))
}

fn small_integer<T: TryFrom<i64>>(text: &str) -> Option<T> {
    T::try_from(casts::integer(text)?).ok()
}

fn malformed(text: &str, target: &DataType) -> Error {
    let name = sql_name(target);
    let message = format!("the value {} cannot be cast to {name}", clipped(text));
    Error::invalid("formula.value", message)
}

/// Formats a timestamp as Spark does: without time zone, without trailing zeros.
fn format_timestamp(micros: i64) -> String {
    let text = TimestampText(micros, ' ').to_string();
    let short = text.strip_suffix(".000000");
    short.unwrap_or(text.trim_end_matches('0')).to_owned()
}

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Casts numbers of seconds since the epoch to timestamps, and drops fractions of a microsecond. As in Spark,
/// integers out of range become the first or the last timestamp.
fn seconds_to_timestamps(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let micros: TimestampMicrosecondArray = match values.data_type() {
        DataType::Decimal128(_, scale) => {
            let scale =
                u8::try_from(*scale).map_err(|_| unsupported(&values.data_type().to_string()))?;
            let in_micros = |seconds: i128| {
                let micros = match scale.checked_sub(6) {
                    Some(excess) => Some(seconds / power_of_ten(excess)),
                    None => seconds.checked_mul(power_of_ten(6 - scale)),
                };
                let micros = micros.and_then(|micros| i64::try_from(micros).ok());
                micros.ok_or_else(|| malformed(&Decimal::new(seconds, scale).to_string(), target))
            };
            values
                .as_primitive::<Decimal128Type>()
                .try_unary(in_micros)?
        }
        integer if integer.is_integer() => {
            let seconds = arrow_cast(values, &DataType::Int64)?;
            let seconds = seconds.as_primitive::<Int64Type>();
            seconds.unary(|seconds| seconds.saturating_mul(MICROS_PER_SECOND))
        }
        _ => {
            let in_micros = |seconds: f64| {
                let micros = seconds * MICROS_PER_SECOND as f64;
                // the first double that is too large is the one that `i64::MAX` is rounded to
                if micros.abs() < i64::MAX as f64 {
                    Ok(micros as i64)
                } else {
                    Err(malformed(&format_float(seconds), target))
                }
            };
            let doubles = arrow_cast(values, &DataType::Float64)?;
            doubles.as_primitive::<Float64Type>().try_unary(in_micros)?
        }
    };
    to_micros(&(Arc::new(micros) as ArrayRef), target)
}

/// Casts timestamps to numbers of seconds since the epoch; integers are rounded down.
fn timestamps_to_seconds(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let micros = micros(values)?;
    let seconds: ArrayRef = if target.is_integer() {
        Arc::new(micros.unary::<_, Int64Type>(|micros| micros.div_euclid(MICROS_PER_SECOND)))
    } else {
        Arc::new(micros.unary::<_, Float64Type>(|micros| micros as f64 / MICROS_PER_SECOND as f64))
    };
    cast_value(&seconds, target)
}

/// Converts timestamps to microseconds, with the time zone of the target type.
fn to_micros(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let DataType::Timestamp(TimeUnit::Microsecond, target_zone) = target else {
        return Err(type_error(&format!(
            "timestamps are cast to microseconds only, not to {target}"
        )));
    };
    Ok(Arc::new(
        micros(values)?.with_timezone_opt(target_zone.clone()),
    ))
}

/// Converts dates or timestamps to microseconds since the epoch.
fn micros(values: &ArrayRef) -> Result<TimestampMicrosecondArray> {
    if let Some(nanos) = values.as_primitive_opt::<TimestampNanosecondType>() {
        // rounded down to microseconds, also before the epoch; the kernel would round towards zero
        return Ok(nanos.unary(|nanos| nanos.div_euclid(1_000)));
    }
    let zone = match values.data_type() {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let micros = arrow_cast(values, &DataType::Timestamp(MICROS, zone))?;
    Ok(micros.as_primitive::<TimestampMicrosecondType>().clone())
}

fn arrow_cast(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if values.data_type() == target {
        return Ok(Arc::clone(values));
    }
    strict_cast(values, target).map_err(failed)
}

pub(in crate::expr) fn sql_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 => "STRING",
        DataType::Binary => "BINARY",
        DataType::Date32 => "DATE",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP",
        DataType::Timestamp(_, None) => "TIMESTAMP_NTZ",
        DataType::Decimal128(precision, scale) => return format!("DECIMAL({precision},{scale})"),
        DataType::List(element) => return format!("ARRAY<{}>", sql_name(element.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let types: Vec<_> = fields
                    .iter()
                    .map(|field| sql_name(field.data_type()))
                    .collect();
                return format!("MAP<{}>", types.join(", "));
            }
            other => return other.to_string(),
        },
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|field| format!("{}: {}", field.name(), sql_name(field.data_type())));
            return format!("STRUCT<{}>", fields.collect::<Vec<_>>().join(", "));
        }
        other => return other.to_string(),
    };
    name.to_owned()
}

/// The first letters of the types of strings with a length.
const CHARACTERS: [&str; 3] = ["CHAR(", "CHARACTER(", "VARCHAR("];

/// Returns the Arrow type of an SQL type name; `None` for types that formulas do not support.
pub(in crate::expr) fn named_type(name: &str) -> Option<DataType> {
    let name: String = name.to_ascii_uppercase().split_whitespace().collect();
    Some(match name.as_str() {
        "BOOLEAN" | "BOOL" => DataType::Boolean,
        "TINYINT" | "BYTE" => DataType::Int8,
        "SMALLINT" | "SHORT" => DataType::Int16,
        "INT" | "INTEGER" => DataType::Int32,
        "BIGINT" | "LONG" => DataType::Int64,
        "FLOAT" | "REAL" => DataType::Float32,
        "DOUBLE" | "DOUBLEPRECISION" => DataType::Float64,
        "STRING" | "TEXT" => DataType::Utf8,
        "BINARY" => DataType::Binary,
        "DATE" => DataType::Date32,
        "TIMESTAMP" | "TIMESTAMP_LTZ" => DataType::Timestamp(MICROS, Some("UTC".into())),
        "TIMESTAMP_NTZ" => DataType::Timestamp(MICROS, None),
        "DECIMAL" | "NUMERIC" | "DEC" => DataType::Decimal128(10, 0),
        // Spark ignores the length in casts
        other if CHARACTERS.iter().any(|name| other.starts_with(name)) => DataType::Utf8,
        other => {
            let (name, parameters) = other.strip_suffix(')')?.split_once('(')?;
            let (precision, scale) = parameters.split_once(',').unwrap_or((parameters, "0"));
            let (precision, scale) = (precision.parse().ok()?, scale.parse::<u8>().ok()?);
            let is_decimal = matches!(name, "DECIMAL" | "NUMERIC" | "DEC");
            if !is_decimal || !(1..=38).contains(&precision) || scale > precision {
                return None;
            }
            DataType::Decimal128(precision, i8::try_from(scale).ok()?)
        }
    })
}
