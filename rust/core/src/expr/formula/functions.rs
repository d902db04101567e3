//! The functions that formulas know.

use std::sync::Arc;

use arrow_arith::boolean::not;
use arrow_arith::temporal::{DatePart, date_part};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{DataType, TimeUnit};
use sqlparser::ast::{
    BinaryOperator, CeilFloorKind, DateTimeField, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments,
};

use super::evaluate::{FormulaEvaluator, chosen_of, missing};
use super::moments::{add_months, date_add, date_trunc, datediff, last_day, trunc};
use super::operators::compared;
use super::{cast_value, failed, mistyped, unsupported};
use crate::error::Result;
use crate::expr::floats::comparable;
use crate::spec::json::clipped;

const MICROS: TimeUnit = TimeUnit::Microsecond;

impl FormulaEvaluator<'_> {
    /// What is written like a function.
    pub(super) fn call(&self, expr: &Expr) -> Result<ArrayRef> {
        match expr {
            Expr::Function(function) => {
                let name = function.name.to_string().to_ascii_lowercase();
                let mut arguments: Vec<&Expr> = Vec::new();
                match &function.args {
                    FunctionArguments::None => {}
                    FunctionArguments::Subquery(_) => return Err(unsupported("a subquery")),
                    FunctionArguments::List(list) => {
                        for argument in &list.args {
                            let FunctionArg::Unnamed(FunctionArgExpr::Expr(one)) = argument else {
                                return Err(unsupported(&format!("the arguments of {name}")));
                            };
                            arguments.push(one);
                        }
                    }
                }
                if function.over.is_some() || function.filter.is_some() {
                    return Err(unsupported(&clipped(&function.to_string())));
                }
                match (name.as_str(), arguments.as_slice()) {
                    ("if" | "iff", [condition, yes, no]) => {
                        return self.one_of(condition, yes, no);
                    }
                    ("coalesce", values @ [_, ..]) | ("ifnull" | "nvl", values @ [_, _]) => {
                        return self.coalesce(values);
                    }
                    ("nullif", [one, other]) => {
                        let (one, other) = self.both(one, other)?;
                        let same = compared(&BinaryOperator::Eq, &one, &other)?;
                        let none = new_null_array(one.data_type(), one.len());
                        return chosen_of(&same, &none, &one);
                    }
                    ("rlike" | "regexp" | "regexp_like", [text, pattern]) => {
                        return Ok(Arc::new(self.matched(text, pattern)?));
                    }
                    _ => {}
                }
                let values = arguments.into_iter().map(|one| self.value(one));
                self.function(&name, &values.collect::<Result<Vec<_>>>()?)
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let mut values = vec![self.value(expr)?];
                for part in [substring_from, substring_for].into_iter().flatten() {
                    values.push(self.value(part)?);
                }
                self.function("substring", &values)
            }
            Expr::Trim {
                trim_where: None,
                trim_what: None,
                expr,
                trim_characters: None,
            } => self.function("trim", &[self.value(expr)?]),
            Expr::Extract { field, expr, .. } => {
                let name = match field {
                    DateTimeField::Year => "year",
                    DateTimeField::Month => "month",
                    DateTimeField::Day => "day",
                    DateTimeField::Hour => "hour",
                    DateTimeField::Minute => "minute",
                    other => return Err(unsupported(&format!("EXTRACT of {other}"))),
                };
                self.function(name, &[self.value(expr)?])
            }
            Expr::Ceil {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => self.function("ceil", &[self.value(expr)?]),
            Expr::Floor {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => self.function("floor", &[self.value(expr)?]),
            other => Err(unsupported(&clipped(&other.to_string()))),
        }
    }

    fn function(&self, name: &str, values: &[ArrayRef]) -> Result<ArrayRef> {
        match (name, values) {
            ("year", [one]) => part(one, DatePart::Year),
            ("month", [one]) => part(one, DatePart::Month),
            ("day" | "dayofmonth", [one]) => part(one, DatePart::Day),
            ("quarter", [one]) => part(one, DatePart::Quarter),
            ("dayofyear", [one]) => part(one, DatePart::DayOfYear),
            ("hour", [one]) => part(one, DatePart::Hour),
            ("minute", [one]) => part(one, DatePart::Minute),
            ("second", [one]) => part(one, DatePart::Second),
            ("date" | "to_date", [one]) => cast_value(one, &DataType::Date32),
            ("to_timestamp" | "timestamp", [one]) => cast_value(one, &self.moment()),
            ("string", [one]) => cast_value(one, &DataType::Utf8),
            ("int", [one]) => cast_value(one, &DataType::Int32),
            ("bigint", [one]) => cast_value(one, &DataType::Int64),
            ("double", [one]) => cast_value(one, &DataType::Float64),
            ("date_add" | "dateadd", [one, days]) => date_add(one, days, 1),
            ("date_sub", [one, days]) => date_add(one, days, -1),
            ("datediff" | "date_diff", [end, start]) => datediff(end, start),
            ("add_months", [one, months]) => add_months(one, months),
            ("last_day", [one]) => last_day(one),
            ("date_trunc", [unit, one]) => date_trunc(unit, one, &self.moment()),
            ("trunc", [one, unit]) => trunc(one, unit),
            ("isnan", [one]) => not_a_number(one),
            ("date_format", [one, shape]) => formatted(one, shape),
            ("current_timestamp" | "now", []) => {
                let now =
                    TimestampMicrosecondArray::from(vec![self.context.now]).with_timezone("UTC");
                self.repeated(&(Arc::new(now) as ArrayRef))
            }
            ("current_date" | "curdate", []) => {
                let now = self.function("now", &[])?;
                cast_value(&now, &DataType::Date32)
            }
            ("upper" | "ucase", [one]) => texts(one, |text| text.to_uppercase()),
            ("lower" | "lcase", [one]) => texts(one, |text| text.to_lowercase()),
            ("trim", [one]) => texts(one, |text| text.trim_matches(' ').to_owned()),
            ("ltrim", [one]) => texts(one, |text| text.trim_start_matches(' ').to_owned()),
            ("rtrim", [one]) => texts(one, |text| text.trim_end_matches(' ').to_owned()),
            ("length" | "char_length" | "character_length" | "len", [one]) => {
                let texts = cast_value(one, &DataType::Utf8)?;
                let counts = texts.as_string::<i32>().iter().map(|text| {
                    text.map(|text| i32::try_from(text.chars().count()).unwrap_or(i32::MAX))
                });
                Ok(Arc::new(counts.collect::<Int32Array>()))
            }
            ("concat", [_, ..]) => self.joined(values),
            ("substring" | "substr", [one, from]) => substring(one, from, None),
            ("substring" | "substr", [one, from, length]) => substring(one, from, Some(length)),
            ("isnull", [one]) => Ok(Arc::new(missing(one)?)),
            ("isnotnull", [one]) => Ok(Arc::new(not(&missing(one)?).map_err(failed)?)),
            ("greatest", [first, rest @ ..]) => extreme(first, rest, &BinaryOperator::Gt),
            ("least", [first, rest @ ..]) => extreme(first, rest, &BinaryOperator::Lt),
            ("abs", [one]) => {
                let zero = self.repeated(&(Arc::new(Int32Array::from(vec![0])) as ArrayRef))?;
                let negative = compared(&BinaryOperator::Lt, one, &zero)?;
                if !one.data_type().is_numeric() {
                    return Err(mistyped("abs takes a number"));
                }
                let opposite = arrow_arith::numeric::neg(one).map_err(failed)?;
                // of zeros and of NaN there is one that is not negative
                Ok(comparable(&chosen_of(&negative, &opposite, one)?))
            }
            ("floor", [one]) => whole(one, f64::floor),
            ("ceil" | "ceiling", [one]) => whole(one, f64::ceil),
            _ => Err(unsupported(&format!(
                "the function {} with {} arguments",
                clipped(name),
                values.len()
            ))),
        }
    }

    /// The type of timestamps.
    pub(super) fn moment(&self) -> DataType {
        DataType::Timestamp(MICROS, Some("UTC".into()))
    }

    /// Texts one after the other; null where one is.
    pub(super) fn joined(&self, values: &[ArrayRef]) -> Result<ArrayRef> {
        let texts = values
            .iter()
            .map(|one| cast_value(one, &DataType::Utf8))
            .collect::<Result<Vec<_>>>()?;
        let columns: Vec<&StringArray> = texts.iter().map(|one| one.as_string::<i32>()).collect();
        let joined = (0..self.len()).map(|row| {
            let mut text = String::new();
            for column in &columns {
                if column.is_null(row) {
                    return None;
                }
                text.push_str(column.value(row));
            }
            Some(text)
        });
        Ok(Arc::new(joined.collect::<StringArray>()))
    }
}

/// A field of a day or a moment.
fn part(values: &ArrayRef, part: DatePart) -> Result<ArrayRef> {
    let bare = match values.data_type() {
        DataType::Date32 | DataType::Timestamp(_, None) => Arc::clone(values),
        _ => cast_value(values, &DataType::Timestamp(MICROS, None))?,
    };
    let found = date_part(&bare, part).map_err(failed)?;
    cast_value(&found, &DataType::Int32)
}

fn texts(values: &ArrayRef, change: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let texts = cast_value(values, &DataType::Utf8)?;
    let changed = texts
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(&change));
    Ok(Arc::new(changed.collect::<StringArray>()))
}

/// `isnan`: false of null.
fn not_a_number(values: &ArrayRef) -> Result<ArrayRef> {
    let kind = values.data_type();
    if !kind.is_numeric() && !matches!(kind, DataType::Null | DataType::Utf8) {
        return Err(mistyped(&format!("isnan takes a number, not {kind}")));
    }
    let numbers = cast_value(values, &DataType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>().iter();
    let found = numbers.map(|one| Some(one.is_some_and(f64::is_nan)));
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

/// `date_format` with letters of Java's patterns that stand for numbers.
fn formatted(values: &ArrayRef, shape: &ArrayRef) -> Result<ArrayRef> {
    let micros = cast_value(values, &DataType::Timestamp(MICROS, None))?;
    let shapes = cast_value(shape, &DataType::Utf8)?;
    let shapes = shapes.as_string::<i32>();
    let micros = micros.as_primitive::<arrow_array::types::TimestampMicrosecondType>();
    let mut made = Vec::with_capacity(micros.len());
    for (moment, shape) in micros.iter().zip(shapes.iter()) {
        let shape = shape.map(pattern).transpose()?;
        made.push(match (moment, shape) {
            (Some(moment), Some(shape)) => {
                let time = chrono::DateTime::from_timestamp_micros(moment)
                    .ok_or_else(|| mistyped("a moment is out of range"))?;
                Some(time.format(&shape).to_string())
            }
            _ => None,
        });
    }
    Ok(Arc::new(StringArray::from(made)))
}

fn pattern(java: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = java;
    while let Some(letter) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(letter).len();
        let known = match (letter, run) {
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
            out.extend(std::iter::repeat_n(letter, run));
        } else {
            out.push_str(known);
        }
        rest = rest.get(run..).unwrap_or_default();
    }
    Ok(out)
}

/// Letters counted from 1, or from the end if negative.
fn substring(values: &ArrayRef, from: &ArrayRef, length: Option<&ArrayRef>) -> Result<ArrayRef> {
    let texts = cast_value(values, &DataType::Utf8)?;
    let from = cast_value(from, &DataType::Int64)?;
    let length = length
        .map(|length| cast_value(length, &DataType::Int64))
        .transpose()?;
    let from = from.as_primitive::<Int64Type>();
    let cut = texts
        .as_string::<i32>()
        .iter()
        .enumerate()
        .map(|(row, text)| {
            let text = text?;
            if from.is_null(row) {
                return None;
            }
            let letters = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            let start = match from.value(row) {
                start if start > 0 => start - 1,
                0 => 0,
                back => letters.saturating_add(back),
            };
            let end = match &length {
                None => letters,
                Some(length) => {
                    let length = length.as_primitive::<Int64Type>();
                    if length.is_null(row) {
                        return None;
                    }
                    start.saturating_add(length.value(row))
                }
            };
            let (start, end) = (start.clamp(0, letters), end.clamp(0, letters));
            let (start, count) = (
                usize::try_from(start).ok()?,
                usize::try_from((end - start).max(0)).ok()?,
            );
            Some(text.chars().skip(start).take(count).collect::<String>())
        });
    Ok(Arc::new(cut.collect::<StringArray>()))
}

/// Nulls do not count.
fn extreme(first: &ArrayRef, rest: &[ArrayRef], op: &BinaryOperator) -> Result<ArrayRef> {
    let mut best = Arc::clone(first);
    for one in rest {
        let better = compared(op, one, &best)?;
        let missing = missing(&best)?;
        let better = arrow_arith::boolean::or_kleene(&better, &missing).map_err(failed)?;
        best = chosen_of(&better, one, &best)?;
    }
    Ok(best)
}

/// Rounded to whole numbers; what is none, or too large, becomes the nearest `BIGINT`, NaN 0.
fn whole(values: &ArrayRef, round: fn(f64) -> f64) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::Float32 | DataType::Float64 => {
            let numbers = cast_value(values, &DataType::Float64)?;
            let rounded = numbers
                .as_primitive::<Float64Type>()
                .unary::<_, Int64Type>(|one| round(one) as i64);
            Ok(Arc::new(rounded))
        }
        kind if kind.is_integer() => cast_value(values, &DataType::Int64),
        kind => Err(unsupported(&format!("rounding values of the type {kind}"))),
    }
}
