//! Expressions of a table as SQL for Spark: parsed and printed again.
//!
//! The writer of the log controls a table's constraints, generated columns and defaults. Spark would
//! evaluate any text: method calls of Java, subqueries that read files, environment variables. So Spark
//! never gets text of a log, but only what is printed here from the parsed expression: columns of the
//! table, literals, operators, casts, `CASE`, and the functions of [`functions`]. Anything else is an error
//! that names it.

mod calls;
mod functions;
mod operators;
mod types;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use recursive::recursive;
use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Ident, Interval, Subscript, UnaryOperator, Value,
    ValueWithSpan,
};

use types::{datetime_field, datetime_type};

use super::node::formula::Formula;
use super::text::print::Quoted;
use super::text::string_literals;
use crate::error::{Error, Result};
use crate::spec::json::clipped;

/// An expression of a table, ready for Spark.
#[derive(Debug, PartialEq, Eq)]
pub struct SparkExpression {
    /// SQL that Spark parses as one operand in any context.
    pub sql: String,
    /// The names of the functions that it calls, in lower case.
    pub functions: BTreeSet<String>,
}

/// The form of references to functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By their plain names, which the session may have redefined.
    Bare,
    /// As `system.builtin.name`, which is always Spark's own; requires Spark 4.2.
    Qualified,
}

/// Prints an expression of a table for Spark.
///
/// `description` is the subject of error messages; `columns` are those of the table.
///
/// # Errors
///
/// Unsupported: `spark.expression`, with the construct that is refused.
pub fn for_spark(
    text: &str,
    description: &str,
    columns: &[String],
    naming: Naming,
) -> Result<SparkExpression> {
    let mut printer = Printer {
        sql: String::with_capacity(text.len() + 16),
        columns: columns
            .iter()
            .map(|name| (name.to_lowercase(), name.clone()))
            .collect(),
        variables: Vec::new(),
        functions: BTreeSet::new(),
        naming,
    };
    let formula = Formula::parse(text).map_err(|cause| {
        let message = format!("{description} cannot be parsed: {}", clipped(text));
        Error::unsupported("spark.expression", message).because(cause)
    })?;
    match printer.value(formula.root()) {
        Ok(()) => Ok(SparkExpression {
            sql: printer.sql,
            functions: printer.functions,
        }),
        Err(CannotPrint(reason)) => {
            let message = format!(
                "{description} {reason}, and an expression of a table may have only columns of the table, \
                 literals, operators, casts, CASE, and functions of Spark that depend on nothing but their \
                 arguments and the time: {}",
                clipped(text)
            );
            Err(Error::unsupported("spark.expression", message))
        }
    }
}

/// The reason why an expression is refused, as the end of a sentence about it.
struct CannotPrint(String);

type PrintResult = std::result::Result<(), CannotPrint>;

fn refused(reason: &str) -> PrintResult {
    Err(CannotPrint(reason.to_owned()))
}

struct Printer {
    sql: String,
    /// The names as in the table, by the same names in lower case.
    columns: HashMap<String, String>,
    /// The variables of enclosing lambda functions.
    variables: Vec<String>,
    functions: BTreeSet<String>,
    naming: Naming,
}

impl Printer {
    fn text(&mut self, text: &str) {
        self.sql.push_str(text);
    }

    fn string(&mut self, text: &str) {
        // writing to a string does not fail
        let _ = write!(self.sql, "{}", Quoted(text));
    }

    fn name(&mut self, name: &str) -> PrintResult {
        if name.contains("${") {
            // Spark substitutes settings and environment variables, before parsing
            return refused("names a column with ${");
        }
        self.sql.push('`');
        self.sql.push_str(&name.replace('`', "``"));
        self.sql.push('`');
        Ok(())
    }

    fn list<'a>(&mut self, values: impl IntoIterator<Item = &'a Expr>) -> PrintResult {
        self.comma_separated(values, Self::value)
    }

    fn comma_separated<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        print: impl Fn(&mut Self, T) -> PrintResult,
    ) -> PrintResult {
        for (number, item) in items.into_iter().enumerate() {
            if number > 0 {
                self.text(", ");
            }
            print(self, item)?;
        }
        Ok(())
    }

    /// Puts the text that `print` adds in parentheses, so that it is one operand.
    fn parenthesized(&mut self, print: impl FnOnce(&mut Self) -> PrintResult) -> PrintResult {
        self.sql.push('(');
        print(self)?;
        self.sql.push(')');
        Ok(())
    }

    /// Prints an operand of an operator other than AND, OR and NOT. Refuses a condition without parentheses
    /// there: Spark does too, or parses it differently than our parser.
    fn operand(&mut self, root: &Expr) -> PrintResult {
        let is_condition = match root {
            Expr::BinaryOp { op, .. } => matches!(op, BinaryOperator::And | BinaryOperator::Or),
            Expr::UnaryOp { op, .. } => {
                matches!(op, UnaryOperator::Not | UnaryOperator::BangNot)
            }
            Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. }
            | Expr::RLike { .. } => true,
            _ => false,
        };
        if is_condition {
            return refused("has a condition without parentheses among its operands");
        }
        self.value(root)
    }

    /// Prints an expression as one value.
    #[recursive]
    fn value(&mut self, root: &Expr) -> PrintResult {
        match root {
            Expr::Nested(inner) => self.value(inner),
            Expr::Value(value) => self.literal(value),
            Expr::TypedString(typed) if !typed.uses_odbc_syntax => {
                let Some(name) = datetime_type(&typed.data_type) else {
                    return Err(CannotPrint(format!(
                        "has a literal of type {}",
                        typed.data_type
                    )));
                };
                self.text(name);
                self.text(" ");
                self.literal(&typed.value)
            }
            Expr::Interval(interval) => self.interval(interval),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::Cast {
                kind,
                expr,
                data_type,
                format: None,
                ..
            } => self.cast(kind, expr, data_type),
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                self.text("CASE");
                if let Some(operand) = operand {
                    self.text(" ");
                    self.value(operand)?;
                }
                for when in conditions {
                    self.text(" WHEN ");
                    self.value(&when.condition)?;
                    self.text(" THEN ");
                    self.value(&when.result)?;
                }
                if let Some(otherwise) = else_result {
                    self.text(" ELSE ");
                    self.value(otherwise)?;
                }
                self.text(" END");
                Ok(())
            }
            Expr::Tuple(values) if values.len() > 1 => self.parenthesized(|it| it.list(values)),
            Expr::Collate { expr, collation } => {
                let [name] = collation.0.as_slice() else {
                    return Err(CannotPrint(format!("has the collation {collation}")));
                };
                let name = name.as_ident().map_or("", |name| name.value.as_str());
                self.parenthesized(|it| {
                    it.operand(expr)?;
                    it.text(" COLLATE ");
                    it.name(name)
                })
            }
            Expr::Function(function) => self.function(function),
            Expr::Lambda(_) => refused("has a lambda function that is not an argument"),
            _ => self
                .condition(root)
                .unwrap_or_else(|| self.special_call(root)),
        }
    }

    fn column(&mut self, names: &[Ident]) -> PrintResult {
        let Some((first, rest)) = names.split_first() else {
            return refused("has an empty name");
        };
        let key = first.value.to_lowercase();
        let is_variable = |name: &&String| name.to_lowercase() == key;
        let variable = self.variables.iter().rev().find(is_variable);
        // in the table's spelling: otherwise Spark may resolve the name to a variable of the session
        let Some(name) = variable.or_else(|| self.columns.get(&key)).cloned() else {
            return Err(CannotPrint(format!(
                "names {}, which is not a column that it may use",
                clipped(&first.value)
            )));
        };
        self.name(&name)?;
        for name in rest {
            self.text(".");
            self.name(&name.value)?;
        }
        Ok(())
    }

    fn access(&mut self, root: &Expr, chain: &[AccessExpr]) -> PrintResult {
        let mut inner = root;
        while let Expr::Nested(nested) = inner {
            inner = nested;
        }
        if matches!(inner, Expr::Value(_)) {
            return refused("takes a part of a literal"); // Spark reads `1.a` as `1. a`
        }
        self.value(root)?;
        for access in chain {
            match access {
                AccessExpr::Dot(Expr::Identifier(name)) => {
                    self.text(".");
                    self.name(&name.value)?;
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    self.text("[");
                    self.value(index)?;
                    self.text("]");
                }
                other => return Err(CannotPrint(format!("has {}", clipped(&other.to_string())))),
            }
        }
        Ok(())
    }

    fn literal(&mut self, value: &ValueWithSpan) -> PrintResult {
        match &value.value {
            Value::Null => self.text("NULL"),
            Value::Boolean(true) => self.text("TRUE"),
            Value::Boolean(false) => self.text("FALSE"),
            Value::SingleQuotedString(text) => self.string(&string_literals::value(text)),
            Value::Number(digits, long) => {
                let suffix = if *long { "L" } else { "" };
                if !is_number(digits, *long) {
                    let number = clipped(&format!("{digits}{suffix}"));
                    return Err(CannotPrint(format!("has the number {number}")));
                }
                self.text(digits);
                self.text(suffix);
            }
            Value::HexStringLiteral(digits)
                if !string_literals::is_number(value, digits)
                    && digits.chars().all(|digit| digit.is_ascii_hexdigit()) =>
            {
                self.text("X'");
                self.text(digits);
                self.text("'");
            }
            other => return Err(CannotPrint(format!("has {}", clipped(&other.to_string())))),
        }
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> PrintResult {
        if interval.leading_precision.is_some() || interval.fractional_seconds_precision.is_some() {
            return refused("has an interval with a precision");
        }
        self.parenthesized(|it| {
            it.text("INTERVAL ");
            let value = match interval.value.as_ref() {
                Expr::UnaryOp {
                    op: UnaryOperator::Minus,
                    expr,
                } => {
                    it.text("-");
                    expr.as_ref()
                }
                value => value,
            };
            let Expr::Value(value) = value else {
                return refused("has an interval of a value that is not a literal");
            };
            it.literal(value)?;
            if let Some(first) = &interval.leading_field {
                it.text(" ");
                it.text(&datetime_field(first)?);
            }
            if let Some(last) = &interval.last_field {
                it.text(" TO ");
                it.text(&datetime_field(last)?);
            }
            Ok(())
        })
    }
}

/// Returns `true` if Spark reads these digits as a number. It reads others as a name: `1e5L`.
fn is_number(digits: &str, long: bool) -> bool {
    let are_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let is_exponent = exponent.is_none_or(|exponent| {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !unsigned.is_empty() && are_digits(unsigned)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa = whole.len() + fraction.len() > 0 && are_digits(whole) && are_digits(fraction);
    is_exponent && is_mantissa && (!long || are_digits(digits))
}

#[cfg(test)]
mod tests;
