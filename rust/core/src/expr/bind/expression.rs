//! Converts expressions of `sqlparser` to typed expressions. Everything that does not depend on the row is
//! resolved here, once: columns, types, functions, patterns, the current time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::DataType;
use recursive::recursive;
use sqlparser::ast::{
    BinaryOperator, CastKind, CeilFloorKind, DateTimeField, Expr, Ident, UnaryOperator, Value,
    ValueWithSpan,
};

use super::intervals::{interval_literal, interval_of};
use super::scope::Scope;
use super::typed::Typed;
use crate::error::Result;
use crate::expr::evaluate::functions::{
    Function, add_interval, cast_of, java_regex, named_type, type_error, unsupported,
};
use crate::expr::evaluate::like::{DEFAULT_ESCAPE, LikePattern};
use crate::expr::node::Node;
use crate::expr::node::predicate::Path;
use crate::expr::text::calls::{function_name, plain_arguments};
use crate::expr::text::string_literals;
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::Decimal;
use crate::spec::json::clipped;

pub(super) struct ExpressionBinder<'a> {
    scope: &'a mut dyn Scope,
    /// The value of `current_timestamp()`: microseconds since the epoch.
    now: i64,
}

impl<'a> ExpressionBinder<'a> {
    pub(super) fn new(scope: &'a mut dyn Scope) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.map_or(0, |since| since.as_micros());
        let now = i64::try_from(micros).unwrap_or(i64::MAX);
        Self { scope, now }
    }

    #[recursive]
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Typed> {
        match expr {
            Expr::Nested(inner) => self.value(inner),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::Value(value) => match &value.value {
                Value::HexStringLiteral(digits) if !string_literals::is_number(value, digits) => {
                    let bytes = string_literals::bytes(digits)
                        .ok_or_else(|| type_error("bytes are written in hexadecimal digits"))?;
                    Ok(Typed::constant(Arc::new(BinaryArray::from_vec(vec![
                        &bytes,
                    ]))))
                }
                plain => literal(plain),
            },
            Expr::TypedString(typed) => {
                let name = typed.data_type.to_string();
                let data_type = named_type(&name).ok_or_else(|| unsupported(&name))?;
                literal(&typed.value.value)?.cast(&data_type)
            }
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => self.is_null(inner, false),
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => self.is_null(inner, true),
            Expr::IsTrue(inner) => self.is_true(inner, true, false),
            Expr::IsNotTrue(inner) => self.is_true(inner, true, true),
            Expr::IsFalse(inner) => self.is_true(inner, false, false),
            Expr::IsNotFalse(inner) => self.is_true(inner, false, true),
            Expr::IsDistinctFrom(left, right) => {
                negated_if(self.compared(left, Op::NullSafeEq, right)?, true)
            }
            Expr::IsNotDistinctFrom(left, right) => self.compared(left, Op::NullSafeEq, right),
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let (value, low) = (self.value(expr)?, self.value(low)?);
                negated_if(Typed::between(value, low, self.value(high)?)?, *negated)
            }
            Expr::InList {
                expr,
                list,
                negated,
            } => {
                let value = self.value(expr)?;
                negated_if(Typed::in_list(value, self.values(list)?)?, *negated)
            }
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => {
                let pattern = like_pattern(pattern, escape_char.as_deref(), |pattern| pattern)?;
                negated_if(Typed::like(self.value(expr)?, pattern)?, *negated)
            }
            Expr::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => {
                let lower = |pattern: String| pattern.to_lowercase();
                let pattern = like_pattern(pattern, escape_char.as_deref(), lower)?;
                let text = call_named("lower", vec![self.value(expr)?])?;
                negated_if(Typed::like(text, pattern)?, *negated)
            }
            Expr::RLike {
                negated,
                expr,
                pattern,
                ..
            } => negated_if(self.rlike(expr, pattern)?, *negated),
            Expr::Interval(_) => Err(unsupported(
                "an interval that is not added to a date or a timestamp",
            )),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => {
                let name = data_type.to_string();
                let data_type = named_type(&name)
                    .ok_or_else(|| unsupported(&format!("a cast to {}", clipped(&name))))?;
                self.value(expr)?.cast(&data_type)
            }
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                let operand = operand.as_ref().map(|operand| self.value(operand));
                let operand = operand.transpose()?;
                let (mut tests, mut values) = (Vec::new(), Vec::new());
                for when in conditions {
                    tests.push(self.value(&when.condition)?);
                    values.push(self.value(&when.result)?);
                }
                values.push(match else_result {
                    Some(otherwise) => self.value(otherwise)?,
                    None => Typed::null(),
                });
                let Some(operand) = operand else {
                    return Typed::case(tests, values);
                };
                operand.with(|operand| {
                    let same = |test| Typed::compared(Op::Eq, operand.clone(), test);
                    Typed::case(tests.into_iter().map(same).collect::<Result<_>>()?, values)
                })
            }
            other => self.call(other),
        }
    }

    pub(super) fn condition(&mut self, expr: &Expr) -> Result<Node> {
        self.value(expr)?.condition()
    }

    fn values<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<Typed>> {
        list.into_iter().map(|expr| self.value(expr)).collect()
    }

    fn column(&mut self, names: &[Ident]) -> Result<Typed> {
        let path = Path(names.iter().map(|name| name.value.clone()).collect());
        Ok(Typed::column(self.scope.find(&path)?))
    }

    fn unary(&mut self, op: UnaryOperator, expr: &Expr) -> Result<Typed> {
        // the minimum of INT or BIGINT is in range, its digits alone are not
        if let (UnaryOperator::Minus, Expr::Value(value)) = (op, expr)
            && let Value::Number(digits, long) = &value.value
        {
            return number(&format!("-{digits}"), *long);
        }
        let value = self.value(expr)?;
        match op {
            UnaryOperator::Plus => Ok(value),
            UnaryOperator::Minus => call_named("-", vec![value]),
            UnaryOperator::Not | UnaryOperator::BangNot => negated_if(value, true),
            other => Err(unsupported(&format!("the operator {other} here"))),
        }
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Typed> {
        if let Some(sum) = self.interval_sum(left, op, right)? {
            return Ok(sum);
        }
        if let Some(comparison) = Op::of(op) {
            return self.compared(left, comparison, right);
        }
        match op {
            BinaryOperator::And | BinaryOperator::Or => {
                let parts = vec![self.condition(left)?, self.condition(right)?];
                Ok(Typed::boolean(if *op == BinaryOperator::And {
                    Node::And(parts)
                } else {
                    Node::Or(parts)
                }))
            }
            BinaryOperator::StringConcat => call_named("concat", self.values([left, right])?),
            _ => {
                let left = self.value(left)?;
                Typed::arithmetic(op, left, self.value(right)?)
            }
        }
    }

    fn compared(&mut self, left: &Expr, op: Op, right: &Expr) -> Result<Typed> {
        let left = self.value(left)?;
        Typed::compared(op, left, self.value(right)?)
    }

    /// Binds a date or a timestamp plus or minus an interval; `None` for other operations.
    fn interval_sum(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<Option<Typed>> {
        let (base, interval) = match (op, interval_of(left), interval_of(right)) {
            (BinaryOperator::Plus | BinaryOperator::Minus, None, Some(interval)) => {
                (left, interval)
            }
            (BinaryOperator::Plus, Some(interval), None) => (right, interval),
            _ => return Ok(None),
        };
        let mut interval = interval_literal(interval)?;
        if *op == BinaryOperator::Minus {
            interval = interval.negated()?;
        }
        let function = Function::from_closure(move |values| add_interval(values, interval));
        Typed::call(function, vec![self.value(base)?]).map(Some)
    }

    fn is_null(&mut self, inner: &Expr, negated: bool) -> Result<Typed> {
        let inner = Box::new(self.value(inner)?.node);
        negated_if(Typed::boolean(Node::IsNull(inner)), negated)
    }

    fn is_true(&mut self, inner: &Expr, expected: bool, negated: bool) -> Result<Typed> {
        let inner = self.condition(inner)?;
        let inner = if expected { inner } else { inner.negated() };
        negated_if(Typed::boolean(Node::IsTrue(Box::new(inner))), negated)
    }

    /// Binds `RLIKE`, which searches strings for a pattern.
    fn rlike(&mut self, expr: &Expr, pattern: &Expr) -> Result<Typed> {
        let text = self.value(expr)?;
        text.check_collation()?;
        let text = text.cast(&DataType::Utf8)?;
        if is_null_literal(pattern) {
            let function = Function::from_closure(|strings| {
                Ok(Arc::new(BooleanArray::new_null(strings.len())))
            });
            return Typed::call(function, vec![text]);
        }
        let pattern = text_of(pattern)
            .ok_or_else(|| unsupported("RLIKE with a pattern that is not a string in quotes"))?;
        let regex = java_regex(&pattern).map_err(|reason| {
            let pattern = clipped(&pattern);
            unsupported(&format!("the regular expression {pattern}: {reason}"))
        })?;
        let function = Function::from_closure(move |strings| {
            let strings = strings.as_string::<i32>().iter();
            let matches = strings.map(|text| text.map(|text| regex.is_match(text)));
            Ok(Arc::new(matches.collect::<BooleanArray>()))
        });
        Typed::call(function, vec![text])
    }

    fn now(&self) -> Typed {
        let now = TimestampMicrosecondArray::from(vec![self.now]);
        Typed::constant(Arc::new(now.with_timezone("UTC")))
    }

    /// Binds an expression with the syntax of a function call.
    fn call(&mut self, expr: &Expr) -> Result<Typed> {
        match expr {
            Expr::Function(function) => {
                match function_name(function).zip(plain_arguments(function)) {
                    Some((name, arguments)) => self.function(&name, &arguments),
                    None => Err(unsupported(&clipped(&function.to_string()))),
                }
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let parts = [substring_from, substring_for].into_iter().flatten();
                let parts = [expr].into_iter().chain(parts).map(AsRef::as_ref);
                call_named("substring", self.values(parts)?)
            }
            Expr::Trim {
                trim_where: None,
                trim_what: None,
                expr,
                trim_characters: None,
            } => call_named("trim", vec![self.value(expr)?]),
            Expr::Extract { field, expr, .. } => {
                let name = match field {
                    DateTimeField::Year => "year",
                    DateTimeField::Month => "month",
                    DateTimeField::Day => "day",
                    DateTimeField::Hour => "hour",
                    DateTimeField::Minute => "minute",
                    other => return Err(unsupported(&format!("EXTRACT of {other}"))),
                };
                call_named(name, vec![self.value(expr)?])
            }
            Expr::Ceil {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => call_named("ceil", vec![self.value(expr)?]),
            Expr::Floor {
                expr,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => call_named("floor", vec![self.value(expr)?]),
            other => Err(unsupported(&clipped(&other.to_string()))),
        }
    }

    fn function(&mut self, name: &str, arguments: &[&Expr]) -> Result<Typed> {
        match (name, arguments) {
            ("if" | "iff", [condition, yes, no]) => {
                let condition = self.value(condition)?;
                Typed::case(vec![condition], self.values([*yes, *no])?)
            }
            ("coalesce", [_, ..]) | ("ifnull" | "nvl", [_, _]) => {
                Typed::coalesce(self.values(arguments.iter().copied())?)
            }
            ("array", values) => Typed::array(self.values(values.iter().copied())?),
            ("nullif", [value, equal]) => {
                let value = self.value(value)?;
                Typed::null_if(value, self.value(equal)?)
            }
            ("rlike" | "regexp" | "regexp_like", [text, pattern]) => self.rlike(text, pattern),
            ("isnull", [value]) => self.is_null(value, false),
            ("isnotnull", [value]) => self.is_null(value, true),
            ("current_timestamp" | "now", []) => Ok(self.now()),
            ("current_date" | "curdate", []) => self.now().cast(&DataType::Date32),
            _ => call_named(name, self.values(arguments.iter().copied())?),
        }
    }
}

fn call_named(name: &str, mut arguments: Vec<Typed>) -> Result<Typed> {
    if let Some(data_type) = cast_of(name)
        && arguments.len() == 1
        && let Some(only) = arguments.pop()
    {
        return only.cast(&data_type);
    }
    if matches!(name, "greatest" | "least") {
        arguments.iter().try_for_each(Typed::check_collation)?;
    }
    let function = Function::named(name, arguments.len()).ok_or_else(|| {
        let (name, count) = (clipped(name), arguments.len());
        unsupported(&format!("the function {name} with {count} arguments"))
    })?;
    Typed::call(function, arguments)
}

fn negated_if(condition: Typed, negated: bool) -> Result<Typed> {
    if !negated {
        return Ok(condition);
    }
    Ok(Typed::boolean(condition.condition()?.negated()))
}

/// Compiles a `LIKE` pattern that is a literal.
fn like_pattern(
    pattern: &Expr,
    escape: Option<&Expr>,
    fold_case: impl Fn(String) -> String,
) -> Result<LikePattern> {
    let pattern = text_of(pattern)
        .map(fold_case)
        .ok_or_else(|| unsupported("LIKE with a pattern that is not a string in quotes"))?;
    let escape = match escape {
        None => DEFAULT_ESCAPE,
        Some(escape) => text_of(escape)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| type_error("ESCAPE takes one character in quotes"))?,
    };
    LikePattern::new(&pattern, escape).map_err(type_error)
}

/// Returns the value of a string literal.
fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }) => Some(string_literals::value(text)),
        _ => None,
    }
}

fn is_null_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

fn literal(value: &Value) -> Result<Typed> {
    Ok(match value {
        Value::Null => Typed::null(),
        Value::Boolean(value) => Typed::constant(Arc::new(BooleanArray::from(vec![*value]))),
        Value::SingleQuotedString(text) => {
            let text = string_literals::value(text);
            Typed::constant(Arc::new(StringArray::from(vec![text])))
        }
        Value::Number(text, long) => number(text, *long)?,
        other => return Err(unsupported(&format!("the literal {other}"))),
    })
}

fn number(text: &str, long: bool) -> Result<Typed> {
    let out_of_range = || type_error(&format!("the number {} is out of range", clipped(text)));
    let value: ArrayRef = if text.contains(['e', 'E']) {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        Arc::new(Float64Array::from(vec![value.ok_or_else(out_of_range)?]))
    } else {
        match (text.parse::<i32>(), text.parse::<i64>()) {
            (Ok(value), _) if !long => Arc::new(Int32Array::from(vec![value])),
            (_, Ok(value)) => Arc::new(Int64Array::from(vec![value])),
            _ => Arc::new(Decimal::parse(text).ok_or_else(out_of_range)?.array()),
        }
    };
    Ok(Typed::constant(value))
}
