//! Dates and timestamps moved, cut and counted. Days, weeks and months are those of UTC.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Date32Array, Int32Array, TimestampMicrosecondArray};
use arrow_schema::DataType;
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime};
use sqlparser::ast::{BinaryOperator, DateTimeField, Expr, Interval, UnaryOperator, Value};

use super::evaluate::FormulaEvaluator;
use super::{cast_value, mistyped, unsupported};
use crate::error::{Error, Result};
use crate::expr::quoted;
use crate::spec::interval::{MICROS_PER_DAY, micros_of_unit};
use crate::spec::json::clipped;

/// A span of time as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Span {
    Months(i64),
    /// A date plus days is a date.
    Days(i64),
    Micros(i64),
}

impl Span {
    fn negated(self) -> Result<Self> {
        let negated = |count: i64| count.checked_neg().ok_or_else(out_of_range);
        Ok(match self {
            Self::Months(count) => Self::Months(negated(count)?),
            Self::Days(count) => Self::Days(negated(count)?),
            Self::Micros(count) => Self::Micros(negated(count)?),
        })
    }
}

impl FormulaEvaluator<'_> {
    /// A date or a timestamp to which a span is added; `None` where neither side is a span.
    pub(super) fn shifted(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<Option<ArrayRef>> {
        let (base, interval) = match (op, interval_of(left), interval_of(right)) {
            (BinaryOperator::Plus | BinaryOperator::Minus, None, Some(interval)) => {
                (left, interval)
            }
            (BinaryOperator::Plus, Some(interval), None) => (right, interval),
            _ => return Ok(None),
        };
        let span = span(interval)?;
        let span = if *op == BinaryOperator::Minus {
            span.negated()?
        } else {
            span
        };
        let values = self.value(base)?;
        let values = match values.data_type() {
            // a text is a moment here
            DataType::Utf8 | DataType::Null => cast_value(&values, &self.moment())?,
            _ => values,
        };
        match (values.data_type(), span) {
            (DataType::Date32, Span::Months(_) | Span::Days(_)) => {
                let days = values.as_primitive::<Date32Type>();
                let days = days.try_unary::<_, Date32Type, Error>(|day| moved_day(day, span))?;
                Ok(Some(Arc::new(days)))
            }
            (DataType::Date32, Span::Micros(_)) => {
                let moments = cast_value(&values, &self.moment())?;
                Ok(Some(moved_timestamps(&moments, span)?))
            }
            (DataType::Timestamp(..), _) => Ok(Some(moved_timestamps(&values, span)?)),
            (other, _) => Err(mistyped(&format!(
                "an interval is added to a date or a timestamp, not to {other}"
            ))),
        }
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

/// Dates made of a date and a count each.
fn counted(
    values: &ArrayRef,
    counts: &ArrayRef,
    what: &str,
    made: impl Fn(i32, i32) -> Result<i32>,
) -> Result<ArrayRef> {
    let counts = match counts.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Null => {
            cast_value(counts, &DataType::Int32)?
        }
        other => return Err(mistyped(&format!("{what} are an INT, not {other}"))),
    };
    let values = cast_value(values, &DataType::Date32)?;
    let days = values.as_primitive::<Date32Type>().iter();
    let both = days.zip(counts.as_primitive::<Int32Type>().iter());
    let made = both.map(|(day, count)| {
        day.zip(count)
            .map(|(day, count)| made(day, count))
            .transpose()
    });
    Ok(Arc::new(made.collect::<Result<Date32Array>>()?))
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

/// `last_day`: of the month.
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

/// `date_trunc(unit, timestamp)`: null where the unit is none, as in Spark.
pub(super) fn date_trunc(
    unit: &ArrayRef,
    values: &ArrayRef,
    moment: &DataType,
) -> Result<ArrayRef> {
    let values = cast_value(values, moment)?;
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
    Ok(Arc::new(cut.with_data_type(moment.clone())))
}

/// `trunc(date, unit)`: null where the unit is none, as in Spark.
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

/// The first day of the unit that a day is in; `None` where there is no such unit.
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

fn moved_timestamps(values: &ArrayRef, span: Span) -> Result<ArrayRef> {
    let kind = values.data_type().clone();
    let moments = values.as_primitive::<TimestampMicrosecondType>();
    let shifted = moments.try_unary::<_, TimestampMicrosecondType, Error>(|micros| {
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

/// A day past the end of its month becomes the last day.
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

fn out_of_range() -> Error {
    Error::invalid("formula.value", "a moment is out of range")
}

/// What `INTERVAL` stands for.
fn interval_of(expr: &Expr) -> Option<&Interval> {
    match expr {
        Expr::Nested(inner) => interval_of(inner),
        Expr::Interval(interval) => Some(interval),
        _ => None,
    }
}

/// `INTERVAL 7 DAYS`, `INTERVAL '-1' MONTH`, `INTERVAL '2 hours'`.
fn span(interval: &Interval) -> Result<Span> {
    let refused = || unsupported(&format!("the interval {}", clipped(&interval.to_string())));
    if interval.last_field.is_some() {
        return Err(refused());
    }
    let (written, is_text) = written(&interval.value).ok_or_else(refused)?;
    let (number, unit) = match &interval.leading_field {
        Some(field) => (written, unit_of(field).ok_or_else(refused)?),
        None if is_text => {
            let (number, unit) = written.trim().split_once(' ').ok_or_else(refused)?;
            (number.to_owned(), unit.trim().to_ascii_lowercase())
        }
        None => return Err(refused()),
    };
    let number = number.trim();
    let unit = unit.strip_suffix('s').unwrap_or(&unit);
    let times = |one: i64| -> Result<i64> {
        let count: i64 = number.parse().map_err(|_| refused())?;
        count.checked_mul(one).ok_or_else(out_of_range)
    };
    Ok(match unit {
        "year" => Span::Months(times(12)?),
        "month" => Span::Months(times(1)?),
        "week" => Span::Days(times(7)?),
        "day" => Span::Days(times(1)?),
        "second" => Span::Micros(seconds(number).ok_or_else(refused)?),
        shorter => Span::Micros(times(micros_of_unit(shorter).ok_or_else(refused)?)?),
    })
}

/// A number with its sign, and whether it is in quotes.
fn written(value: &Expr) -> Option<(String, bool)> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, false) => Some((digits.clone(), false)),
            Value::SingleQuotedString(text) => Some((quoted::value(text), true)),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match written(expr)? {
            (digits, false) => Some((format!("-{digits}"), false)),
            _ => None,
        },
        _ => None,
    }
}

fn unit_of(field: &DateTimeField) -> Option<String> {
    match field {
        DateTimeField::Custom(_) => None,
        other => Some(other.to_string().to_ascii_lowercase()),
    }
}

/// Seconds with at most six digits after the point, in microseconds.
fn seconds(number: &str) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 6 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let micros: i64 = format!("{fraction:0<6}").parse().ok()?;
    let whole_micros = whole.parse::<i64>().ok()?.checked_mul(1_000_000)?;
    if whole.starts_with('-') {
        whole_micros.checked_sub(micros)
    } else {
        whole_micros.checked_add(micros)
    }
}
