//! The literal `INTERVAL`.

use sqlparser::ast::{Expr, Interval, UnaryOperator, Value};

use crate::error::Result;
use crate::expr::evaluate::functions::{CalendarInterval, out_of_range, unsupported};
use crate::expr::text::string_literals;
use crate::spec::interval::{micros_of_unit, parse_seconds};
use crate::spec::json::clipped;

pub(super) fn interval_of(expr: &Expr) -> Option<&Interval> {
    match expr {
        Expr::Nested(inner) => interval_of(inner),
        Expr::Interval(interval) => Some(interval),
        _ => None,
    }
}

/// Parses `INTERVAL 7 DAYS`, `INTERVAL '-1' MONTH`, `INTERVAL '2 hours'`.
pub(super) fn interval_literal(interval: &Interval) -> Result<CalendarInterval> {
    let refused = || unsupported(&format!("the interval {}", clipped(&interval.to_string())));
    if interval.last_field.is_some() {
        return Err(refused());
    }
    let (text, is_quoted) = number_text(&interval.value).ok_or_else(refused)?;
    let (number, unit) = match &interval.leading_field {
        Some(field) => (text, field.to_string().to_ascii_lowercase()),
        None if is_quoted => {
            let (number, unit) = text.trim().split_once(' ').ok_or_else(refused)?;
            (number.to_owned(), unit.trim().to_ascii_lowercase())
        }
        None => return Err(refused()),
    };
    let number = number.trim();
    let unit = unit.strip_suffix('s').unwrap_or(&unit);
    let times = |length: i64| -> Result<i64> {
        let count: i64 = number.parse().map_err(|_| refused())?;
        count.checked_mul(length).ok_or_else(out_of_range)
    };
    Ok(match unit {
        "year" => CalendarInterval::Months(times(12)?),
        "month" => CalendarInterval::Months(times(1)?),
        "week" => CalendarInterval::Days(times(7)?),
        "day" => CalendarInterval::Days(times(1)?),
        "second" => {
            let micros = parse_seconds(number).ok_or_else(refused)?;
            CalendarInterval::Micros(i64::try_from(micros).map_err(|_| out_of_range())?)
        }
        shorter => CalendarInterval::Micros(times(micros_of_unit(shorter).ok_or_else(refused)?)?),
    })
}

/// Returns a number with its sign, and whether it is in quotes.
fn number_text(value: &Expr) -> Option<(String, bool)> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, false) => Some((digits.clone(), false)),
            Value::SingleQuotedString(text) => Some((string_literals::value(text), true)),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match number_text(expr)? {
            (digits, false) => Some((format!("-{digits}"), false)),
            _ => None,
        },
        _ => None,
    }
}
