//! Values of one type as those of another, as Spark's `CAST` in ANSI mode.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{DataType, TimeUnit};
use chrono::DateTime;

use super::float_text;
use super::{failed, mistyped, unsupported};
use crate::error::{Error, Result};
use crate::expr::value::casts;
use crate::expr::value::literal::Decimal;
use crate::spec::arrow::strict_cast;
use crate::spec::json::clipped;

const MICROS: TimeUnit = TimeUnit::Microsecond;

/// The values in another type. Times without a zone are those of UTC.
///
/// # Errors
///
/// Invalid argument: `formula.value` for a value that does not fit, `formula.type`.
pub(crate) fn cast_value(values: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let given = values.data_type();
    if given == wanted {
        return Ok(Arc::clone(values));
    }
    if *given == DataType::Null {
        return Ok(new_null_array(wanted, values.len()));
    }
    match (given, wanted) {
        // a zone is but a label
        (DataType::Timestamp(unit, Some(zone)), _) if zone.as_ref() != "+00:00" => {
            let bare = DataType::Timestamp(*unit, Some("+00:00".into()));
            let bare = plain(values, &bare)?;
            match wanted {
                DataType::Timestamp(..) => relabelled(&bare, wanted),
                _ => cast_value(&bare, wanted),
            }
        }
        (DataType::Timestamp(..), DataType::Timestamp(..)) => relabelled(values, wanted),
        (DataType::Date32, DataType::Timestamp(..)) => {
            let bare = plain(values, &DataType::Timestamp(MICROS, None))?;
            relabelled(&bare, wanted)
        }
        (DataType::Utf8, _) => read(values, wanted),
        (DataType::Float32, DataType::Utf8) => {
            let numbers = values.as_primitive::<Float32Type>().iter();
            let texts = numbers.map(|one| one.map(float_text::single));
            Ok(Arc::new(texts.collect::<StringArray>()))
        }
        (DataType::Float64, DataType::Utf8) => {
            let numbers = values.as_primitive::<Float64Type>().iter();
            let texts = numbers.map(|one| one.map(float_text::double));
            Ok(Arc::new(texts.collect::<StringArray>()))
        }
        (DataType::Timestamp(..), DataType::Utf8) => {
            let micros = plain(values, &DataType::Timestamp(MICROS, None))?;
            let micros = micros.as_primitive::<TimestampMicrosecondType>();
            let texts = micros.iter().map(|one| one.and_then(written));
            Ok(Arc::new(texts.collect::<StringArray>()))
        }
        (DataType::Boolean, DataType::Timestamp(..) | DataType::Date32)
        | (DataType::Timestamp(..) | DataType::Date32, DataType::Boolean) => {
            Err(mistyped(&format!("{given} cannot be cast to {wanted}")))
        }
        _ => plain(values, wanted),
    }
}

/// Texts as what they say.
fn read(texts: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    Ok(match wanted {
        DataType::Timestamp(_, zone) => {
            let moment = |text: &str| casts::timestamp(text, zone.is_some());
            let micros: TimestampMicrosecondArray = each_read(texts, wanted, moment)?;
            relabelled(&(Arc::new(micros) as ArrayRef), wanted)?
        }
        DataType::Date32 => Arc::new(each_read::<_, Date32Array>(texts, wanted, casts::date)?),
        DataType::Boolean => Arc::new(each_read::<_, BooleanArray>(texts, wanted, casts::boolean)?),
        DataType::Int64 => Arc::new(each_read::<_, Int64Array>(texts, wanted, casts::integer)?),
        DataType::Int8 => Arc::new(each_read::<_, Int8Array>(texts, wanted, fitting)?),
        DataType::Int16 => Arc::new(each_read::<_, Int16Array>(texts, wanted, fitting)?),
        DataType::Int32 => Arc::new(each_read::<_, Int32Array>(texts, wanted, fitting)?),
        DataType::Float32 => Arc::new(each_read::<_, Float32Array>(texts, wanted, casts::float)?),
        DataType::Float64 => Arc::new(each_read::<_, Float64Array>(texts, wanted, casts::float)?),
        DataType::Decimal128(precision, scale) => {
            let digits = u8::try_from(*scale).map_err(|_| unsupported(&wanted.to_string()))?;
            let unscaled =
                |text: &str| casts::decimal(text, *precision, digits).map(Decimal::unscaled);
            let made: Decimal128Array = each_read(texts, wanted, unscaled)?;
            let made = made.with_precision_and_scale(*precision, *scale);
            Arc::new(made.map_err(failed)?)
        }
        _ => plain(texts, wanted)?,
    })
}

fn each_read<T, A: FromIterator<Option<T>>>(
    values: &ArrayRef,
    wanted: &DataType,
    read: impl Fn(&str) -> Option<T>,
) -> Result<A> {
    let texts = values.as_string_opt::<i32>();
    let texts = texts.ok_or_else(|| mistyped("texts are expected here"))?;
    let value = |text: &str| read(text).ok_or_else(|| malformed(text, wanted));
    texts
        .iter()
        .map(|text| text.map(value).transpose())
        .collect()
}

fn fitting<T: TryFrom<i64>>(text: &str) -> Option<T> {
    T::try_from(casts::integer(text)?).ok()
}

fn malformed(text: &str, wanted: &DataType) -> Error {
    let name = sql_name(wanted);
    let message = format!("the text {} cannot be cast to {name}", clipped(text));
    Error::invalid("formula.value", message)
}

/// As Spark shows a moment: no zone, no zeros after the seconds.
fn written(micros: i64) -> Option<String> {
    let time = DateTime::from_timestamp_micros(micros)?;
    let text = time.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
    let short = text.trim_end_matches('0').trim_end_matches('.');
    let whole = time.format("%Y-%m-%d %H:%M:%S").to_string();
    Some(if short.len() < whole.len() {
        whole
    } else {
        short.to_owned()
    })
}

fn relabelled(values: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let zone = match values.data_type() {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let DataType::Timestamp(TimeUnit::Microsecond, wanted_zone) = wanted else {
        return Err(mistyped(&format!(
            "times are kept in microseconds, not as {wanted}"
        )));
    };
    let micros = match values.as_primitive_opt::<TimestampNanosecondType>() {
        // the last microsecond before it, below the epoch too: a cast would round towards zero
        Some(nanos) => nanos.unary(|nanos| nanos.div_euclid(1_000)),
        None => plain(values, &DataType::Timestamp(MICROS, zone))?
            .as_primitive::<TimestampMicrosecondType>()
            .clone(),
    };
    Ok(Arc::new(micros.with_timezone_opt(wanted_zone.clone())))
}

fn plain(values: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    if values.data_type() == wanted {
        return Ok(Arc::clone(values));
    }
    strict_cast(values, wanted).map_err(failed)
}

/// The name in SQL of a type of values.
pub(super) fn sql_name(data_type: &DataType) -> String {
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
        other => return other.to_string(),
    };
    name.to_owned()
}

/// The Arrow type of a type's name in SQL; `None` for those that formulas do not have.
pub(in crate::expr) fn named_type(name: &str) -> Option<DataType> {
    let name: String = name
        .to_ascii_uppercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join("");
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
        other => {
            let inside = other
                .strip_prefix("DECIMAL(")
                .or_else(|| other.strip_prefix("NUMERIC("))?
                .strip_suffix(')')?;
            let (precision, scale) = inside.split_once(',').unwrap_or((inside, "0"));
            let (precision, scale) = (precision.parse().ok()?, scale.parse().ok()?);
            if precision == 0
                || precision > 38
                || scale < 0
                || i16::from(scale) > i16::from(precision)
            {
                return None;
            }
            DataType::Decimal128(precision, scale)
        }
    })
}
