//! Functions of dates and timestamps. Days, weeks and months are those of UTC.

use std::sync::Arc;

use arrow_arith::temporal::{DatePart, date_part};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, Date32Array, Int32Array, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

use super::cast::{cast_value, sql_name};
use super::{failed, type_error, unsupported};
use crate::error::{Error, Result};
use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::json::clipped;

pub(in crate::expr) fn timestamp_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// An interval in one of the units of Spark's `CalendarInterval`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::expr) enum CalendarInterval {
    Months(i64),
    /// Days; a date plus days is a date.
    Days(i64),
    Micros(i64),
}

impl CalendarInterval {
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
pub(in crate::expr) fn add_interval(
    values: &ArrayRef,
    interval: CalendarInterval,
) -> Result<ArrayRef> {
    let values = match values.data_type() {
        // a string is cast to a timestamp here
        DataType::Utf8 | DataType::Null => cast_value(values, &timestamp_type())?,
        _ => Arc::clone(values),
    };
    match (values.data_type(), interval) {
        (DataType::Date32, CalendarInterval::Micros(_)) => {
            add_to_timestamps(&cast_value(&values, &timestamp_type())?, interval)
        }
        (DataType::Date32, _) => {
            let days = values.as_primitive::<Date32Type>();
            let days = days.try_unary::<_, Date32Type, Error>(|day| add_to_day(day, interval))?;
            Ok(Arc::new(days))
        }
        (DataType::Timestamp(..), _) => add_to_timestamps(&values, interval),
        (other, _) => Err(type_error(&format!(
            "an interval is added to a date or a timestamp, not to {other}"
        ))),
    }
}

/// `date_add` and `date_sub`.
pub(super) fn date_add(values: &ArrayRef, days: &ArrayRef, sign: i64) -> Result<ArrayRef> {
    add_counts(values, days, "days", |day, count| {
        let sum = i64::from(day) + sign * i64::from(count);
        i32::try_from(sum).map_err(|_| out_of_range())
    })
}

pub(super) fn add_months(values: &ArrayRef, months: &ArrayRef) -> Result<ArrayRef> {
    add_counts(values, months, "months", |day, count| {
        add_to_day(day, CalendarInterval::Months(count.into()))
    })
}

/// Adds a number of days or months to each date.
fn add_counts(
    values: &ArrayRef,
    counts: &ArrayRef,
    unit: &str,
    add: impl Fn(i32, i32) -> Result<i32>,
) -> Result<ArrayRef> {
    let counts = match counts.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Null => {
            cast_value(counts, &DataType::Int32)?
        }
        other => {
            let name = sql_name(other);
            return Err(type_error(&format!(
                "the number of {unit} must be an INT, not a {name}"
            )));
        }
    };
    let values = cast_value(values, &DataType::Date32)?;
    let days = values.as_primitive::<Date32Type>().iter();
    let pairs = days.zip(counts.as_primitive::<Int32Type>());
    let days = pairs.map(|(day, count)| {
        let sum = day.zip(count).map(|(day, count)| add(day, count));
        sum.transpose()
    });
    Ok(Arc::new(days.collect::<Result<Date32Array>>()?))
}

/// `datediff(end, start)`: days.
pub(super) fn datediff(end: &ArrayRef, start: &ArrayRef) -> Result<ArrayRef> {
    let end = cast_value(end, &DataType::Date32)?;
    let start = cast_value(start, &DataType::Date32)?;
    let ends = end.as_primitive::<Date32Type>().iter();
    let pairs = ends.zip(start.as_primitive::<Date32Type>());
    let days = pairs.map(|(end, start)| {
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
    let values = cast_value(values, &timestamp_type())?;
    let units = cast_value(unit, &DataType::Utf8)?;
    let micros = values.as_primitive::<TimestampMicrosecondType>().iter();
    let pairs = micros.zip(units.as_string::<i32>());
    let truncated = pairs.map(|(micros, unit)| {
        let (Some(micros), Some(unit)) = (micros, unit) else {
            return Ok(None);
        };
        let to = |size: i64| {
            let truncated = micros.checked_sub(micros.rem_euclid(size));
            truncated.map(Some).ok_or_else(out_of_range)
        };
        match unit.to_ascii_uppercase().as_str() {
            "MICROSECOND" => Ok(Some(micros)),
            "MILLISECOND" => to(1_000),
            "SECOND" => to(1_000_000),
            "MINUTE" => to(60_000_000),
            "HOUR" => to(3_600_000_000),
            "DAY" | "DD" => to(MICROS_PER_DAY),
            other => {
                let day = first_day(time(micros)?.date(), other)?;
                Ok(day.map(|day| micros_of(day.and_time(NaiveTime::MIN))))
            }
        }
    });
    let truncated = truncated.collect::<Result<TimestampMicrosecondArray>>()?;
    Ok(Arc::new(truncated.with_data_type(timestamp_type())))
}

/// `trunc(date, unit)`: null for an unknown unit, as in Spark.
pub(super) fn trunc(values: &ArrayRef, unit: &ArrayRef) -> Result<ArrayRef> {
    let values = cast_value(values, &DataType::Date32)?;
    let units = cast_value(unit, &DataType::Utf8)?;
    let days = values.as_primitive::<Date32Type>().iter();
    let pairs = days.zip(units.as_string::<i32>());
    let truncated = pairs.map(|(day, unit)| {
        let (Some(day), Some(unit)) = (day, unit) else {
            return Ok(None);
        };
        let day = first_day(date(day)?, &unit.to_ascii_uppercase())?;
        Ok(day.map(|day| day.to_epoch_days()))
    });
    Ok(Arc::new(truncated.collect::<Result<Date32Array>>()?))
}

/// Returns the first day of the unit that contains a day; `None` for an unknown unit.
fn first_day(day: NaiveDate, unit: &str) -> Result<Option<NaiveDate>> {
    let of_month = |month| NaiveDate::from_ymd_opt(day.year(), month, 1);
    let first = match unit {
        "YEAR" | "YYYY" | "YY" => of_month(1),
        "QUARTER" => of_month((day.month0() / 3) * 3 + 1),
        "MONTH" | "MM" | "MON" => of_month(day.month()),
        "WEEK" => day.checked_sub_days(Days::new(day.weekday().num_days_from_monday().into())),
        _ => return Ok(None),
    };
    first.map(Some).ok_or_else(out_of_range)
}

/// Extracts a field of dates or timestamps.
pub(super) fn extract(values: &ArrayRef, part: DatePart) -> Result<ArrayRef> {
    let bare = match values.data_type() {
        DataType::Date32 | DataType::Timestamp(_, None) => Arc::clone(values),
        _ => cast_value(values, &DataType::Timestamp(TimeUnit::Microsecond, None))?,
    };
    let (near, cycles) = within_cycle(&bare);
    let parts = date_part(&near, part).map_err(failed)?;
    let parts = cast_value(&parts, &DataType::Int32)?;
    if part != DatePart::Year {
        return Ok(parts);
    }
    let years = parts.as_primitive::<Int32Type>().iter().zip(cycles);
    let years = years.map(|(year, cycle)| Some(year? + YEARS_PER_CYCLE * cycle));
    Ok(Arc::new(years.collect::<Int32Array>()))
}

/// A cycle of the Gregorian calendar.
const YEARS_PER_CYCLE: i32 = 400;
const DAYS_PER_CYCLE: i32 = 146_097;

/// Moves dates or timestamps into one cycle of the calendar, since the library has no years beyond 262142.
/// Returns the number of cycles of each value, too.
fn within_cycle(values: &ArrayRef) -> (ArrayRef, Vec<i32>) {
    const MICROS_PER_CYCLE: i64 = DAYS_PER_CYCLE as i64 * MICROS_PER_DAY;
    if let Some(days) = values.as_primitive_opt::<Date32Type>() {
        let near = days.unary::<_, Date32Type>(|day| day.rem_euclid(DAYS_PER_CYCLE));
        let cycles = days.values().iter();
        let cycles = cycles.map(|day| day.div_euclid(DAYS_PER_CYCLE)).collect();
        return (Arc::new(near), cycles);
    }
    let micros = values.as_primitive::<TimestampMicrosecondType>();
    let near = micros.unary::<_, TimestampMicrosecondType>(|at| at.rem_euclid(MICROS_PER_CYCLE));
    let cycles = micros.values().iter();
    let cycles = cycles.map(|at| i32::try_from(at.div_euclid(MICROS_PER_CYCLE)).unwrap_or(0));
    (Arc::new(near), cycles.collect())
}

/// `date_format` with the numeric letters of Java's patterns.
pub(super) fn date_format(values: &ArrayRef, patterns: &ArrayRef) -> Result<ArrayRef> {
    let micros = cast_value(values, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    let patterns = cast_value(patterns, &DataType::Utf8)?;
    let micros = micros.as_primitive::<TimestampMicrosecondType>().iter();
    let pairs = micros.zip(patterns.as_string::<i32>());
    let strings = pairs.map(|(micros, pattern)| {
        let format = pattern.map(strftime).transpose()?;
        let Some((micros, format)) = micros.zip(format) else {
            return Ok(None);
        };
        Ok(Some(time(micros)?.format(&format).to_string()))
    });
    Ok(Arc::new(strings.collect::<Result<StringArray>>()?))
}

/// Converts a pattern of Java to one of `strftime`.
fn strftime(java: &str) -> Result<String> {
    let mut format = String::new();
    let mut rest = java;
    while let Some(character) = rest.chars().next() {
        let count = rest.len() - rest.trim_start_matches(character).len();
        format.push_str(match (character, count) {
            ('y', 4) => "%Y",
            ('M', 2) => "%m",
            ('d', 2) => "%d",
            ('H', 2) => "%H",
            ('m', 2) => "%M",
            ('s', 2) => "%S",
            ('-' | '/' | ':' | ' ' | '_' | '.', _) => rest.get(..count).unwrap_or_default(),
            _ => return Err(unsupported(&format!("date_format with {}", clipped(java)))),
        });
        rest = rest.get(count..).unwrap_or_default();
    }
    Ok(format)
}

fn add_to_timestamps(values: &ArrayRef, interval: CalendarInterval) -> Result<ArrayRef> {
    let data_type = values.data_type().clone();
    let timestamps = values.as_primitive::<TimestampMicrosecondType>();
    let sums = timestamps.try_unary::<_, TimestampMicrosecondType, Error>(|micros| {
        let sum = match interval {
            CalendarInterval::Micros(more) => micros.checked_add(more),
            CalendarInterval::Days(days) => days
                .checked_mul(MICROS_PER_DAY)
                .and_then(|more| micros.checked_add(more)),
            CalendarInterval::Months(_) => add_to_time(time(micros)?, interval).map(micros_of),
        };
        sum.ok_or_else(out_of_range)
    })?;
    Ok(Arc::new(sums.with_data_type(data_type)))
}

fn add_to_day(day: i32, interval: CalendarInterval) -> Result<i32> {
    let sum = add_to_time(date(day)?.and_time(NaiveTime::MIN), interval);
    sum.map(|time| time.date().to_epoch_days())
        .ok_or_else(out_of_range)
}

/// Adds an interval; a day after the end of the month becomes its last day. `None` if out of range.
fn add_to_time(time: NaiveDateTime, interval: CalendarInterval) -> Option<NaiveDateTime> {
    match interval {
        CalendarInterval::Months(count) => {
            let months = Months::new(u32::try_from(count.unsigned_abs()).ok()?);
            if count < 0 {
                time.checked_sub_months(months)
            } else {
                time.checked_add_months(months)
            }
        }
        CalendarInterval::Days(count) => time.checked_add_signed(TimeDelta::try_days(count)?),
        CalendarInterval::Micros(count) => time.checked_add_signed(TimeDelta::microseconds(count)),
    }
}

fn date(day: i32) -> Result<NaiveDate> {
    NaiveDate::from_epoch_days(day).ok_or_else(out_of_range)
}

fn time(micros: i64) -> Result<NaiveDateTime> {
    let time = DateTime::from_timestamp_micros(micros).ok_or_else(out_of_range)?;
    Ok(time.naive_utc())
}

fn micros_of(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp_micros()
}

pub(in crate::expr) fn out_of_range() -> Error {
    Error::invalid("formula.value", "a date or timestamp is out of range")
}
