//! Expressions that bounds can decide: comparisons of columns with values and with each other.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use sqlparser::ast::{self, BinaryOperator, CastKind, Ident, UnaryOperator, Value, ValueWithSpan};
use sqlparser::tokenizer::Location;

use super::tokens::ParseError;
use crate::expr::evaluate::functions::{cast_value, named_type};
use crate::expr::evaluate::like::{DEFAULT_ESCAPE, LikePattern, escaped};
use crate::expr::node::predicate::{Expr, Operand, Path};
use crate::expr::text::calls::{function_name, plain_arguments};
use crate::expr::text::string_literals;
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::{Decimal, Literal};
use crate::spec::values::has_zone;

/// A simplified expression; `None` if the expression must be evaluated for each row.
type Simplified<T> = Result<Option<T>, ParseError>;

/// Unwraps `Some`, or returns `None` from the function.
macro_rules! known {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok(None),
        }
    };
}

/// Simplifies one expression of `sqlparser`.
#[derive(Clone, Copy)]
pub(super) struct Simplifier {
    /// The start of the expression, for error messages.
    start: Location,
    /// The remaining levels of nested conditions: each adds parentheses to the printed predicate, whose depth
    /// is limited. Deeper conditions are evaluated for each row.
    levels: usize,
}

impl Simplifier {
    pub(super) fn new(start: Location) -> Self {
        Self { start, levels: 4 }
    }

    fn inner(&self, root: &ast::Expr) -> Simplified<Expr> {
        let levels = known!(self.levels.checked_sub(1));
        Self { levels, ..*self }.condition(root)
    }

    pub(super) fn condition(&self, root: &ast::Expr) -> Simplified<Expr> {
        use ast::Expr as Sql;
        match root {
            Sql::Nested(inner) => self.inner(inner),
            Sql::UnaryOp {
                op: UnaryOperator::Not | UnaryOperator::BangNot,
                expr,
            } => Ok(self.inner(expr)?.map(Expr::negated)),
            Sql::BinaryOp { left, op, right } => self.binary(left, op, right),
            Sql::IsNull(inner) | Sql::IsUnknown(inner) => self.boxed(inner, Expr::IsNull, false),
            Sql::IsNotNull(inner) | Sql::IsNotUnknown(inner) => {
                self.boxed(inner, Expr::IsNull, true)
            }
            Sql::IsTrue(inner) => self.boxed(inner, |inner| Expr::Is(inner, true), false),
            Sql::IsNotTrue(inner) => self.boxed(inner, |inner| Expr::Is(inner, true), true),
            Sql::IsFalse(inner) => self.boxed(inner, |inner| Expr::Is(inner, false), false),
            Sql::IsNotFalse(inner) => self.boxed(inner, |inner| Expr::Is(inner, false), true),
            Sql::IsDistinctFrom(left, right) => Ok(self
                .compared(left, Op::NullSafeEq, right)?
                .map(Expr::negated)),
            Sql::IsNotDistinctFrom(left, right) => self.compared(left, Op::NullSafeEq, right),
            Sql::InList {
                expr,
                list,
                negated,
            } => Ok(Some(known!(self.in_list(expr, list)?).negated_if(*negated))),
            Sql::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let low = known!(self.compared(expr, Op::GtEq, low)?);
                let high = known!(self.compared(expr, Op::LtEq, high)?);
                Ok(Some(Expr::And(vec![low, high]).negated_if(*negated)))
            }
            Sql::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => {
                let like = known!(self.like(expr, pattern, escape_char.as_deref())?);
                Ok(Some(like.negated_if(*negated)))
            }
            Sql::Function(function) => self.function(function),
            other => Ok(self.operand(other)?.map(Expr::Value)),
        }
    }

    fn boxed(
        &self,
        inner: &ast::Expr,
        outer: fn(Box<Expr>) -> Expr,
        negated: bool,
    ) -> Simplified<Expr> {
        let condition = outer(Box::new(known!(self.inner(inner)?)));
        Ok(Some(condition.negated_if(negated)))
    }

    fn binary(&self, left: &ast::Expr, op: &BinaryOperator, right: &ast::Expr) -> Simplified<Expr> {
        if let BinaryOperator::And | BinaryOperator::Or = op {
            let left = known!(self.inner(left)?);
            let parts = vec![left, known!(self.inner(right)?)];
            let is_and = *op == BinaryOperator::And;
            let joined = if is_and { Expr::all } else { Expr::any };
            return Ok(Some(joined(parts)));
        }
        let op = known!(Op::of(op));
        self.compared(left, op, right)
    }

    fn compared(&self, left: &ast::Expr, op: Op, right: &ast::Expr) -> Simplified<Expr> {
        let left = known!(self.operand(left)?);
        let right = known!(self.operand(right)?);
        Ok(Some(Expr::Compare(left, op, right)))
    }

    fn in_list(&self, expr: &ast::Expr, list: &[ast::Expr]) -> Simplified<Expr> {
        let column = known!(self.column(expr)?);
        let (mut literals, mut parts) = (Vec::with_capacity(list.len()), Vec::new());
        for element in list {
            match known!(self.operand(element)?) {
                Operand::Literal(literal) => literals.push(literal),
                other => parts.push(Expr::Compare(
                    Operand::Column(column.clone()),
                    Op::Eq,
                    other,
                )),
            }
        }
        if parts.is_empty() || !literals.is_empty() {
            parts.push(Expr::In(column, literals));
        }
        Ok(Some(Expr::any(parts)))
    }

    fn like(
        &self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
    ) -> Simplified<Expr> {
        let column = known!(self.column(expr)?);
        let pattern = match known!(self.literal(pattern)?) {
            Literal::String(pattern) => pattern,
            Literal::Null => return Ok(Some(Expr::Value(Operand::Literal(Literal::Null)))),
            _ => return Ok(None),
        };
        let escape = match escape.map(|escape| self.literal(escape)).transpose()? {
            None => Some(DEFAULT_ESCAPE),
            Some(Some(Literal::String(character))) => character.parse().ok(),
            Some(_) => None,
        };
        let Some(escape) = escape else {
            let message = "ESCAPE takes one character in quotes";
            return Err(ParseError::Syntax(self.start, message.to_owned()));
        };
        if let Err(message) = LikePattern::new(&pattern, escape) {
            return Err(ParseError::Literal(self.start, message.to_owned()));
        }
        Ok(Some(Expr::Like {
            column,
            pattern,
            escape,
        }))
    }

    fn function(&self, function: &ast::Function) -> Simplified<Expr> {
        let name = known!(function_name(function));
        let arguments = known!(plain_arguments(function));
        let takes = |arguments| {
            let message = format!("{name} takes {arguments}");
            Err(ParseError::Syntax(self.start, message))
        };
        match (name.as_str(), arguments.as_slice()) {
            ("isnull", [value]) => self.boxed(value, Expr::IsNull, false),
            ("isnotnull", [value]) => self.boxed(value, Expr::IsNull, true),
            ("isnan", [value]) => {
                let nan = Operand::Literal(Literal::Double(f64::NAN));
                let is_nan = Expr::Compare(known!(self.operand(value)?), Op::Eq, nan);
                Ok(Some(Expr::Is(Box::new(is_nan), true)))
            }
            ("startswith" | "starts_with", [text, prefix]) => {
                let column = known!(self.column(text)?);
                Ok(match known!(self.literal(prefix)?) {
                    Literal::String(prefix) => Some(Expr::Like {
                        column,
                        pattern: escaped(&prefix) + "%",
                        escape: DEFAULT_ESCAPE,
                    }),
                    Literal::Null => Some(Expr::Value(Operand::Literal(Literal::Null))),
                    _ => None,
                })
            }
            ("isnull" | "isnotnull" | "isnan", _) => takes("one argument"),
            ("startswith" | "starts_with", _) => takes("two arguments"),
            _ => Ok(None),
        }
    }

    /// Simplifies a value that can be compared.
    fn operand(&self, root: &ast::Expr) -> Simplified<Operand> {
        let names = match root {
            ast::Expr::Nested(inner) => return self.operand(inner),
            ast::Expr::Identifier(name) => std::slice::from_ref(name),
            ast::Expr::CompoundIdentifier(names) => names,
            other => return Ok(self.literal(other)?.map(Operand::Literal)),
        };
        self.path(names).map(|path| Some(Operand::Column(path)))
    }

    fn column(&self, root: &ast::Expr) -> Simplified<Path> {
        Ok(match self.operand(root)? {
            Some(Operand::Column(path)) => Some(path),
            _ => None,
        })
    }

    fn path(&self, names: &[Ident]) -> Result<Path, ParseError> {
        const KEYWORDS: [&str; 11] = [
            "AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "ESCAPE", "TRUE", "FALSE", "NULL",
        ];
        let plain = names.first().filter(|first| first.quote_style.is_none());
        if let Some(first) = plain {
            let is = |word: &&str| word.eq_ignore_ascii_case(&first.value);
            if KEYWORDS.iter().any(is) {
                let message = format!("expected a column or a value, found \"{first}\"");
                return Err(ParseError::Syntax(first.span.start, message));
            }
            if ["CASE", "SELECT", "EXISTS"].iter().any(is) {
                return Err(ParseError::Unsupported(first.span.start, first.to_string()));
            }
        }
        Ok(Path(names.iter().map(|name| name.value.clone()).collect()))
    }

    /// Simplifies a literal, which may have a sign or a type.
    fn literal(&self, root: &ast::Expr) -> Simplified<Literal> {
        match root {
            ast::Expr::Nested(inner) => self.literal(inner),
            ast::Expr::Value(value) => self.value(value),
            ast::Expr::UnaryOp {
                op: op @ (UnaryOperator::Minus | UnaryOperator::Plus),
                expr,
            } => {
                let sign = if *op == UnaryOperator::Minus { "-" } else { "" };
                match expr.as_ref() {
                    ast::Expr::Value(value) => self.number(value, sign, None),
                    // the least value of a type, such as `-128Y`, does not fit without its sign
                    ast::Expr::Cast {
                        kind: CastKind::Cast,
                        expr,
                        data_type,
                        ..
                    } => match expr.as_ref() {
                        ast::Expr::Value(value) => self.number(value, sign, Some(data_type)),
                        _ => Ok(None),
                    },
                    _ => Ok(None),
                }
            }
            ast::Expr::TypedString(typed) => {
                let literal = known!(self.value(&typed.value)?);
                self.cast(literal, &typed.data_type)
            }
            ast::Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => match expr.as_ref() {
                ast::Expr::Value(value) if matches!(value.value, Value::Number(..)) => {
                    self.number(value, "", Some(data_type))
                }
                inner => {
                    let literal = known!(self.literal(inner)?);
                    self.cast(literal, data_type)
                }
            },
            _ => Ok(None),
        }
    }

    fn value(&self, value: &ValueWithSpan) -> Simplified<Literal> {
        Ok(Some(match &value.value {
            Value::Null => Literal::Null,
            Value::Boolean(value) => Literal::Boolean(*value),
            Value::SingleQuotedString(text) => Literal::String(string_literals::value(text)),
            Value::Number(..) => return self.number(value, "", None),
            Value::HexStringLiteral(digits) => {
                if string_literals::is_number(value, digits) {
                    let construct = "hexadecimal numbers".to_owned();
                    return Err(ParseError::Unsupported(value.span.start, construct));
                }
                Literal::Binary(string_literals::bytes(digits).ok_or_else(|| {
                    let message = "bytes are written in hexadecimal digits";
                    ParseError::Literal(value.span.start, message.to_owned())
                })?)
            }
            _ => return Ok(None),
        }))
    }

    /// Parses a number with its sign and, optionally, its type.
    fn number(
        &self,
        value: &ValueWithSpan,
        sign: &str,
        data_type: Option<&ast::DataType>,
    ) -> Simplified<Literal> {
        let Value::Number(digits, long) = &value.value else {
            return Ok(None);
        };
        let text = format!("{sign}{digits}");
        let double = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
        // not via a decimal, which may have too few digits
        let exact = match data_type.and_then(|data_type| named_type(&data_type.to_string())) {
            Some(DataType::Float64) => Some(double(&text)),
            Some(DataType::Float32) => {
                let single = text.parse().ok().filter(|value: &f32| value.is_finite());
                Some(single.map(f64::from))
            }
            _ => None,
        };
        let literal = match exact {
            Some(value) => value.map(Literal::Double),
            None if digits.contains(['e', 'E']) => double(&text).map(Literal::Double),
            None => match text.parse() {
                Ok(whole) => Some(Literal::Integer(whole)),
                Err(_) if *long => None,
                Err(_) => Decimal::parse(&text).map(Literal::Decimal),
            },
        };
        let Some(literal) = literal else {
            let message = "this number is out of range or too precise for its type".to_owned();
            return Err(ParseError::Literal(value.span.start, message));
        };
        match data_type {
            Some(data_type) if exact.is_none() => self.cast(literal, data_type),
            _ => Ok(Some(literal)),
        }
    }

    /// Casts a literal to another type; `None` if the result depends on the time zone, or if the type is
    /// unknown or has no such cast.
    fn cast(&self, literal: Literal, type_name: &ast::DataType) -> Simplified<Literal> {
        let name = type_name.to_string();
        let target = known!(named_type(&name));
        let has_zone = match &literal {
            Literal::String(text) => has_zone(text),
            Literal::Timestamp(_) => true,
            _ => false,
        };
        let values: ArrayRef = match &literal {
            Literal::Null => return Ok(Some(Literal::Null)),
            Literal::Decimal(value) if target == DataType::Float64 => {
                return Ok(Some(Literal::Double(value.to_f64())));
            }
            Literal::Integer(_)
            | Literal::Decimal(_)
            | Literal::Double(_)
            | Literal::Boolean(_)
                if target.is_temporal() || target == DataType::Binary =>
            {
                return Ok(None);
            }
            Literal::Timestamp(_) if !matches!(target, DataType::Timestamp(_, Some(_))) => {
                return Ok(None);
            }
            Literal::LocalTimestamp(_) if !target.is_temporal() => return Ok(None),
            literal => known!(literal.array()),
        };
        let values = match cast_value(&values, &target) {
            Ok(values) => values,
            Err(error) if error.code() == "formula.value" => {
                let message = format!("{literal} is not a value of the type {name}");
                return Err(ParseError::Literal(self.start, message));
            }
            Err(_) => return Ok(None),
        };
        Ok(Literal::of(&values).map(|literal| match literal {
            Literal::Timestamp(micros) if !has_zone => Literal::LocalTimestamp(micros),
            other => other,
        }))
    }
}
