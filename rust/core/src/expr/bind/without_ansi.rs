//! Predicates in sessions without ANSI mode (`spark.sql.ansi.enabled`).
//!
//! There, `IN` compares values of different types as strings; a string that is compared with a number is cast
//! to the type of the column, which makes it null if it does not fit; and arithmetic and casts neither fail
//! nor have the same types. The conditions of this crate are those of ANSI mode, so those that may have another
//! value are dropped.

use arrow_schema::DataType;

use super::columns::Columns;
use crate::error::Result;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::expr::value::family::Family;
use crate::expr::value::literal::Literal;
use crate::spec::schema::StructType;
use crate::spec::values::date;

impl Predicate {
    /// Returns the conditions of an `AND` that have the same value without ANSI mode; `None` if there are none.
    pub fn without_ansi(&self, schema: &StructType) -> Result<Option<Self>> {
        let mut columns = Columns::new(schema);
        let parts = match &self.root {
            Expr::And(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let mut kept = Vec::with_capacity(parts.len());
        for part in parts {
            if is_same_condition(part, &mut columns)? {
                kept.push(part.clone());
            }
        }
        Ok((!kept.is_empty()).then(|| Self {
            root: Expr::all(kept),
        }))
    }
}

/// Returns `true` if a condition has the same value without ANSI mode.
fn is_same_condition(expr: &Expr, columns: &mut Columns) -> Result<bool> {
    Ok(match expr {
        Expr::Value(_) => true,
        Expr::And(parts) | Expr::Or(parts) => {
            for part in parts {
                if !is_same_condition(part, columns)? {
                    return Ok(false);
                }
            }
            true
        }
        Expr::Not(inner) | Expr::IsNull(inner) | Expr::Is(inner, _) => {
            is_same_condition(inner, columns)?
        }
        Expr::Compare(Operand::Column(path), _, Operand::Literal(literal))
        | Expr::Compare(Operand::Literal(literal), _, Operand::Column(path)) => {
            let column = columns.find(path)?;
            is_same_comparison(&column, literal)
        }
        Expr::Compare(Operand::Column(left), _, Operand::Column(right)) => {
            let (left, right) = (columns.find(left)?, columns.find(right)?);
            kind(&left.family) == kind(&right.family)
        }
        Expr::Compare(Operand::Literal(_), _, Operand::Literal(_)) | Expr::Formula(_) => false,
        Expr::In(path, list) => is_same_membership(path, list, columns)?,
        Expr::Like { column, .. } => columns.find(column)?.family == Family::String,
    })
}

/// Groups of types without a cast between them that depends on ANSI mode.
#[derive(PartialEq, Eq)]
enum Kind {
    Number,
    Time,
    Other(Family),
}

fn kind(family: &Family) -> Kind {
    match family {
        Family::Integer | Family::Decimal { .. } | Family::Float | Family::Double => Kind::Number,
        Family::Date | Family::Timestamp | Family::TimestampNtz => Kind::Time,
        other => Kind::Other(other.clone()),
    }
}

/// Returns `true` if a comparison of a column with a literal is the same without ANSI mode.
fn is_same_comparison(column: &BoundColumn, literal: &Literal) -> bool {
    match (&column.family, literal) {
        (_, Literal::Null) => true,
        // without ANSI mode, it is cast to the type of the column
        (Family::Integer, Literal::String(text)) => integer(text).is_some_and(|value| {
            let bits = match column.data_type {
                DataType::Int8 => 8,
                DataType::Int16 => 16,
                DataType::Int32 => 32,
                _ => 64,
            };
            value >> (bits - 1) == value >> 63
        }),
        (family, Literal::String(_)) => kind(family) == Kind::Time || *family == Family::String,
        (family, literal) => has_kind(literal, family),
    }
}

fn is_same_membership(path: &Path, list: &[Literal], columns: &mut Columns) -> Result<bool> {
    let family = &columns.find(path)?.family;
    // if there is one string, all values are compared as strings
    let strings = list
        .iter()
        .any(|literal| matches!(literal, Literal::String(_)));
    Ok(list.iter().all(|literal| match (family, literal) {
        (_, Literal::Null) => true,
        (Family::String, Literal::String(_)) => true,
        (Family::Integer, Literal::String(text)) => integer(text).is_some(),
        (Family::Date, Literal::String(text)) => is_canonical_date(text),
        (Family::Integer, Literal::Integer(_)) | (Family::Date, Literal::Date(_)) => true,
        (Family::Timestamp, Literal::Timestamp(_) | Literal::LocalTimestamp(_))
        | (Family::TimestampNtz, Literal::TimestampNtz(_)) => !strings,
        (family, literal) => !strings && kind(family) != Kind::Time && has_kind(literal, family),
    }))
}

/// Returns `true` if a literal other than a string is of the same kind as a column.
fn has_kind(literal: &Literal, family: &Family) -> bool {
    let kind = kind(family);
    match literal {
        Literal::Integer(_) | Literal::Decimal(_) | Literal::Double(_) => kind == Kind::Number,
        Literal::Date(_)
        | Literal::Timestamp(_)
        | Literal::TimestampNtz(_)
        | Literal::LocalTimestamp(_) => kind == Kind::Time,
        Literal::Boolean(_) => *family == Family::Boolean,
        Literal::Binary(_) => *family == Family::Binary,
        Literal::Null | Literal::String(_) | Literal::List(_) => false,
    }
}

/// Parses an integer that is written as Spark prints it.
fn integer(text: &str) -> Option<i64> {
    let is_canonical = |value: &i64| value.to_string() == text;
    text.parse().ok().filter(is_canonical)
}

/// Returns `true` if a date is written as Spark prints it.
fn is_canonical_date(text: &str) -> bool {
    let has_form = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    text.len() == 10 && has_form && date(text).is_some()
}
