//! Functions of dates and timestamps. Days, weeks and months are those of UTC.

use std::sync::Arc;

use arrow_arith::temporal::{DatePart, date_part};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, Date32Array, Int32Array, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime};

use super::cast::cast_value;
use super::{failed, type_error, unsupported};
use crate::error::{Error, Result};
use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::json::clipped;

/// Returns the type of timestamps.
pub(in crate::expr) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// An interval as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::expr) enum Span {
    Months(i64),
    /// Days; a date plus days is a date.
    Days(i64),
    Micros(i64),
}

impl Span {
    pub(in crate::expr) fn negated(self) -> Result<Self> {
        let negated = |count: i64| count.checked_neg().ok_or_else(out_of_range);
        Ok(match self {
            Self::Months(count) => Self::Months(negated(count)?),
            Self::Days(count) => Self::Days(negated(count)?),
            Self::Micros(count) => Self::Micros(negated(count)?),
        })
    }
}

/// Adds an interval to dates or timestamps.
pub(in crate::expr) fn shifted(values: &ArrayRef, span: Span) -> Result<ArrayRef> {
    let values = match values.data_type() {
        // a string is cast to a timestamp here
        DataType::Utf8 | DataType::Null => cast_value(values, &timestamp())?,
        _ => Arc::clone(values),
    };
    match (values.data_type(), span) {
        (DataType::Date32, Span::Months(_) | Span::Days(_)) => {
            let days = values.as_primitive::<Date32Type>();
            let days = days.try_unary::<_, Date32Type, Error>(|day| moved_day(day, span))?;
            Ok(Arc::new(days))
        }
        (DataType::Date32, Span::Micros(_)) => {
            moved_timestamps(&cast_value(&values, &timestamp())?, span)
        }
        (DataType::Timestamp(..), _) => moved_timestamps(&values, span),
        (other, _) => Err(type_error(&format!(
            "an interval is added to a date or a timestamp, not to {other}"
        ))),
    }
}

/// `date_add` and `date_sub`.
pub(super) fn date_add(values: &ArrayRef, days: &ArrayRef, sign: i64) -> Result<ArrayRef> {
    counted(values, days, "days", |day, count| {
        let moved = i64::from(day) + sign * i64::from(count);
        i32::try_from(moved).map_err(|_| out_of_range())
    })
}

/// `add_months`.
pub(super) fn add_months(values: &ArrayRef, months: &ArrayRef) -> Result<ArrayRef> {
    counted(values, months, "months", |day, count| {
        moved_day(day, Span::Months(count.into()))
    })
}

/// Computes dates from a date and a number each.
fn counted(
    values: &ArrayRef,
    counts: &ArrayRef,
    what: &str,
    shifted_day: impl Fn(i32, i32) -> Result<i32>,
) -> Result<ArrayRef> {
    let counts = match counts.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Null => {
            cast_value(counts, &DataType::Int32)?
        }
        other => return Err(type_error(&format!("{what} are an INT, not {other}"))),
    };
    let values = cast_value(values, &DataType::Date32)?;
    let days = values.as_primitive::<Date32Type>().iter();
    let both = days.zip(counts.as_primitive::<Int32Type>().iter());
    let days = both.map(|(day, count)| {
        day.zip(count)
            .map(|(day, count)| shifted_day(day, count))
            .transpose()
    });
    Ok(Arc::new(days.collect::<Result<Date32Array>>()?))
}

/// `datediff(end, start)`: days.
pub(super) fn datediff(end: &ArrayRef, start: &ArrayRef) -> Result<ArrayRef> {
    let (end, start) = (
        cast_value(end, &DataType::Date32)?,
        cast_value(start, &DataType::Date32)?,
    );
    let both = end
        .as_primitive::<Date32Type>()
        .iter()
        .zip(start.as_primitive::<Date32Type>().iter());
    let days = both.map(|(end, start)| {
        let days = end.zip(start).map(|(end, start)| end.checked_sub(start));
        days.map(|days| days.ok_or_else(out_of_range)).transpose()
    });
    Ok(Arc::new(days.collect::<Result<Int32Array>>()?))
}

/// `last_day`: the last day of the month.
pub(super) fn last_day(values: &ArrayRef) -> Result<ArrayRef> {
    let values = cast_value(values, &DataType::Date32)?;
    let last = |day: i32| {
        let day = date(day)?;
        let last = day.with_day(day.num_days_in_month().into());
        last.map(|day| day.to_epoch_days()).ok_or_else(out_of_range)
    };
    let days = values.as_primitive::<Date32Type>();
    Ok(Arc::new(days.try_unary::<_, Date32Type, Error>(last)?))
}

/// `date_trunc(unit, timestamp)`: null for an unknown unit, as in Spark.
pub(super) fn date_trunc(unit: &ArrayRef, values: &ArrayRef) -> Result<ArrayRef> {
    let values = cast_value(values, &timestamp())?;
    let units = cast_value(unit, &DataType::Utf8)?;
    let both = values
        .as_primitive::<TimestampMicrosecondType>()
        .iter()
        .zip(units.as_string::<i32>().iter());
    let cut = both.map(|(micros, unit)| {
        let (Some(micros), Some(unit)) = (micros, unit) else {
            return Ok(None);
        };
        let to = |size: i64| {
            let cut = micros.checked_sub(micros.rem_euclid(size));
            cut.map(Some).ok_or_else(out_of_range)
        };
        match unit.to_ascii_uppercase().as_str() {
            "MICROSECOND" => Ok(Some(micros)),
            "MILLISECOND" => to(1_000),
            "SECOND" => to(1_000_000),
            "MINUTE" => to(60_000_000),
            "HOUR" => to(3_600_000_000),
            "DAY" | "DD" => to(MICROS_PER_DAY),
            other => match first_day(time(micros)?.date(), other) {
                None => Ok(None),
                Some(day) => {
                    let day = day.ok_or_else(out_of_range)?;
                    Ok(Some(micros_of(day.and_time(NaiveTime::MIN))))
                }
            },
        }
    });
    let cut = cut.collect::<Result<TimestampMicrosecondArray>>()?;
    Ok(Arc::new(cut.with_data_type(timestamp())))
}

/// `trunc(date, unit)`: null for an unknown unit, as in Spark.
pub(super) fn trunc(values: &ArrayRef, unit: &ArrayRef) -> Result<ArrayRef> {
    let values = cast_value(values, &DataType::Date32)?;
    let units = cast_value(unit, &DataType::Utf8)?;
    let both = values
        .as_primitive::<Date32Type>()
        .iter()
        .zip(units.as_string::<i32>().iter());
    let cut = both.map(|(day, unit)| {
        let (Some(day), Some(unit)) = (day, unit) else {
            return Ok(None);
        };
        match first_day(date(day)?, &unit.to_ascii_uppercase()) {
            None => Ok(None),
            Some(day) => Ok(Some(day.ok_or_else(out_of_range)?.to_epoch_days())),
        }
    });
    Ok(Arc::new(cut.collect::<Result<Date32Array>>()?))
}

/// Returns the first day of the unit that contains a day; `None` for an unknown unit.
fn first_day(day: NaiveDate, unit: &str) -> Option<Option<NaiveDate>> {
    let month = match unit {
        "YEAR" | "YYYY" | "YY" => 1,
        "QUARTER" => (day.month0() / 3) * 3 + 1,
        "MONTH" | "MM" | "MON" => day.month(),
        "WEEK" => {
            let past = day.weekday().num_days_from_monday();
            return Some(day.checked_sub_days(Days::new(past.into())));
        }
        _ => return None,
    };
    Some(NaiveDate::from_ymd_opt(day.year(), month, 1))
}

/// Extracts a field of dates or timestamps.
pub(super) fn part(values: &ArrayRef, part: DatePart) -> Result<ArrayRef> {
    let bare = match values.data_type() {
        DataType::Date32 | DataType::Timestamp(_, None) => Arc::clone(values),
        _ => cast_value(values, &DataType::Timestamp(TimeUnit::Microsecond, None))?,
    };
    let parts = date_part(&bare, part).map_err(failed)?;
    cast_value(&parts, &DataType::Int32)
}

/// `date_format` with the numeric letters of Java's patterns.
pub(super) fn formatted(values: &ArrayRef, shape: &ArrayRef) -> Result<ArrayRef> {
    let micros = cast_value(values, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    let shapes = cast_value(shape, &DataType::Utf8)?;
    let shapes = shapes.as_string::<i32>();
    let micros = micros.as_primitive::<TimestampMicrosecondType>();
    let mut strings = Vec::with_capacity(micros.len());
    for (timestamp, shape) in micros.iter().zip(shapes.iter()) {
        let shape = shape.map(pattern).transpose()?;
        strings.push(match (timestamp, shape) {
            (Some(timestamp), Some(shape)) => Some(time(timestamp)?.format(&shape).to_string()),
            _ => None,
        });
    }
    Ok(Arc::new(StringArray::from(strings)))
}

fn pattern(java: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = java;
    while let Some(character) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(character).len();
        let known = match (character, run) {
            ('y', 4) => "%Y",
            ('M', 2) => "%m",
            ('d', 2) => "%d",
            ('H', 2) => "%H",
            ('m', 2) => "%M",
            ('s', 2) => "%S",
            ('-' | '/' | ':' | ' ' | '_' | '.', _) => "",
            _ => return Err(unsupported(&format!("date_format with {}", clipped(java)))),
        };
        if known.is_empty() {
            out.extend(std::iter::repeat_n(character, run));
        } else {
            out.push_str(known);
        }
        rest = rest.get(run..).unwrap_or_default();
    }
    Ok(out)
}

fn moved_timestamps(values: &ArrayRef, span: Span) -> Result<ArrayRef> {
    let kind = values.data_type().clone();
    let timestamps = values.as_primitive::<TimestampMicrosecondType>();
    let shifted = timestamps.try_unary::<_, TimestampMicrosecondType, Error>(|micros| {
        let added = |more: i64| micros.checked_add(more).ok_or_else(out_of_range);
        match span {
            Span::Micros(more) => added(more),
            Span::Days(days) => added(days.checked_mul(MICROS_PER_DAY).ok_or_else(out_of_range)?),
            Span::Months(_) => moved(time(micros)?, span).map(micros_of),
        }
    })?;
    Ok(Arc::new(shifted.with_data_type(kind)))
}

fn moved_day(day: i32, span: Span) -> Result<i32> {
    Ok(day_of(moved(date(day)?.and_time(NaiveTime::MIN), span)?))
}

/// Adds an interval; a day after the end of the month becomes its last day.
fn moved(time: NaiveDateTime, span: Span) -> Result<NaiveDateTime> {
    let size = |count: i64| u32::try_from(count.unsigned_abs()).map_err(|_| out_of_range());
    let moved = match span {
        Span::Months(count) if count < 0 => time.checked_sub_months(Months::new(size(count)?)),
        Span::Months(count) => time.checked_add_months(Months::new(size(count)?)),
        Span::Days(count) if count < 0 => time.checked_sub_days(Days::new(size(count)?.into())),
        Span::Days(count) => time.checked_add_days(Days::new(size(count)?.into())),
        Span::Micros(_) => None,
    };
    moved.ok_or_else(out_of_range)
}

fn date(day: i32) -> Result<NaiveDate> {
    NaiveDate::from_epoch_days(day).ok_or_else(out_of_range)
}

fn time(micros: i64) -> Result<NaiveDateTime> {
    let time = DateTime::from_timestamp_micros(micros).ok_or_else(out_of_range)?;
    Ok(time.naive_utc())
}

fn day_of(time: NaiveDateTime) -> i32 {
    time.date().to_epoch_days()
}

fn micros_of(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp_micros()
}

pub(in crate::expr) fn out_of_range() -> Error {
    Error::invalid("formula.value", "a timestamp is out of range")
}
