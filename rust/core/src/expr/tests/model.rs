//! A reference implementation of evaluation: one row at a time, one value at a time.
//!
//! It shares only the predicate's tree with the module: strings are parsed by `chrono` and `str::parse`,
//! exact numbers are compared at a common scale, patterns are matched by backtracking.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Not;

use chrono::{NaiveDate, NaiveDateTime};

use crate::expr::node::predicate::{Expr, Operand, Path};
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::Literal;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// An unscaled value and a scale.
    Exact(i128, u32),
    Single(f32),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Day(i32),
    /// Microseconds, with or without time zone.
    Instant(i64),
}

/// Values by the dotted names of their columns.
pub(super) type Row = HashMap<&'static str, Value>;

pub(super) fn evaluate(expr: &Expr, row: &Row) -> Option<bool> {
    match expr {
        Expr::Value(operand) => match operand_value(operand, row) {
            Value::Boolean(value) => Some(value),
            Value::Null => None,
            other => panic!("{other:?} is not a condition"),
        },
        // by De Morgan's law
        Expr::And(parts) => {
            any(parts.iter().map(|part| evaluate(part, row).map(Not::not))).map(Not::not)
        }
        Expr::Or(parts) => any(parts.iter().map(|part| evaluate(part, row))),
        Expr::Not(inner) => evaluate(inner, row).map(Not::not),
        Expr::IsNull(inner) => Some(match inner.as_ref() {
            Expr::Value(operand) => operand_value(operand, row) == Value::Null,
            inner => evaluate(inner, row).is_none(),
        }),
        Expr::Formula(formula) => panic!("{formula:?} is not generated"),
        Expr::Is(inner, expected) => Some(evaluate(inner, row) == Some(*expected)),
        Expr::Compare(left, op, right) => {
            compare(&operand_value(left, row), *op, &operand_value(right, row))
        }
        Expr::In(path, list) => {
            let value = column(path, row);
            let equal = |literal| compare(&value, Op::Eq, &from_literal(literal));
            any(list.iter().map(equal))
        }
        Expr::Like {
            column: path,
            pattern,
            escape,
        } => match column(path, row) {
            Value::Text(text) => {
                let (pattern, text): (Vec<char>, Vec<char>) =
                    (pattern.chars().collect(), text.chars().collect());
                Some(like(&pattern, *escape, &text))
            }
            Value::Null => None,
            other => panic!("{other:?} LIKE"),
        },
    }
}

/// `OR` in three-valued logic.
fn any(results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let results: Vec<_> = results.collect();
    if results.contains(&Some(true)) {
        Some(true)
    } else if results.contains(&None) {
        None
    } else {
        Some(false)
    }
}

pub(super) fn like(pattern: &[char], escape: char, text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [first, second, rest @ ..] if *first == escape => {
            text.first() == Some(second) && like(rest, escape, &text[1..])
        }
        ['%', rest @ ..] => (0..=text.len()).any(|from| like(rest, escape, &text[from..])),
        ['_', rest @ ..] => !text.is_empty() && like(rest, escape, &text[1..]),
        [first, rest @ ..] => text.first() == Some(first) && like(rest, escape, &text[1..]),
    }
}

fn operand_value(operand: &Operand, row: &Row) -> Value {
    match operand {
        Operand::Column(path) => column(path, row),
        Operand::Literal(literal) => from_literal(literal),
    }
}

fn column(path: &Path, row: &Row) -> Value {
    row[path.0.join(".").to_lowercase().as_str()].clone()
}

fn from_literal(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(value) => Value::Boolean(*value),
        Literal::Integer(value) => Value::Exact(i128::from(*value), 0),
        Literal::Decimal(value) => Value::Exact(value.unscaled(), u32::from(value.scale())),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(value) => Value::Text(value.clone()),
        Literal::Binary(value) => Value::Bytes(value.clone()),
        Literal::Date(value) => Value::Day(*value),
        Literal::Timestamp(value)
        | Literal::TimestampNtz(value)
        | Literal::LocalTimestamp(value) => Value::Instant(*value),
        Literal::List(_) => panic!("a list"),
    }
}

fn compare(left: &Value, op: Op, right: &Value) -> Option<bool> {
    if op == Op::NullSafeEq && (*left == Value::Null || *right == Value::Null) {
        return Some(left == right);
    }
    let order = order(left, right)?;
    Some(match op {
        Op::Eq | Op::NullSafeEq => order == Ordering::Equal,
        Op::NotEq => order != Ordering::Equal,
        Op::Lt => order == Ordering::Less,
        Op::LtEq => order != Ordering::Greater,
        Op::Gt => order == Ordering::Greater,
        Op::GtEq => order != Ordering::Less,
    })
}

/// Returns Spark's order of two values; `None` if one is null.
pub(super) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    use Value::{Boolean, Bytes, Day, Double, Exact, Instant, Null, Single, Text};
    const MICROS_PER_DAY: i128 = 86_400_000_000;
    Some(match (left, right) {
        (Null, _) | (_, Null) => return None,
        (Boolean(left), Boolean(right)) => left.cmp(right),
        (Exact(left, scale), Exact(right, other)) => {
            let common = (*scale).max(*other);
            (left * 10i128.pow(common - scale)).cmp(&(right * 10i128.pow(common - other)))
        }
        (Single(_) | Double(_) | Exact(..), Single(_) | Double(_) | Exact(..)) => {
            compare_floats(to_f64(left), to_f64(right))
        }
        (Text(left), Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Bytes(left), Bytes(right)) => left.cmp(right),
        (Text(left), Bytes(right)) => left.as_bytes().cmp(right),
        (Bytes(left), Text(right)) => left.as_slice().cmp(right.as_bytes()),
        (Day(left), Day(right)) => left.cmp(right),
        (Instant(left), Instant(right)) => left.cmp(right),
        (Day(left), Instant(right)) => {
            (i128::from(*left) * MICROS_PER_DAY).cmp(&i128::from(*right))
        }
        (Instant(left), Day(right)) => {
            i128::from(*left).cmp(&(i128::from(*right) * MICROS_PER_DAY))
        }
        // a string is cast to the type of the other side
        (Text(_), other) => return order(other, left).map(Ordering::reverse),
        (other, Text(text)) => return order(other, &parse_as(other, text)),
        (left, right) => panic!("{left:?} against {right:?}"),
    })
}

fn to_f64(value: &Value) -> f64 {
    match value {
        Value::Single(value) => f64::from(*value),
        Value::Double(value) => *value,
        Value::Exact(value, scale) => format!("{value}e-{scale}").parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => left.partial_cmp(&right).unwrap(),
    }
}

/// Parses a string as a value of the type of `other`.
fn parse_as(other: &Value, text: &str) -> Value {
    match other {
        Value::Boolean(_) => Value::Boolean(text == "true"),
        Value::Exact(..) => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let digits = format!("{whole}{fraction}").parse().unwrap();
            Value::Exact(digits, fraction.len() as u32)
        }
        Value::Single(_) | Value::Double(_) => Value::Double(text.parse().unwrap()),
        Value::Day(_) => {
            let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").unwrap();
            Value::Day((day - NaiveDate::default()).num_days() as i32)
        }
        Value::Instant(_) => {
            let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").unwrap();
            Value::Instant(time.and_utc().timestamp_micros())
        }
        other => panic!("{text:?} against {other:?}"),
    }
}
