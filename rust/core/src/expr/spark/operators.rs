//! Operators, conditions and casts.

use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, UnaryOperator, Value};

use super::types::type_name;
use super::{CannotPrint, Naming, PrintResult, Printer, refused};
use crate::spec::json::clipped;

impl Printer {
    /// Prints a condition with a special syntax; `None` for other expressions.
    pub(super) fn condition(&mut self, root: &Expr) -> Option<PrintResult> {
        let suffix = |it: &mut Self, inner: &Expr, text: &str| {
            it.parenthesized(|it| {
                it.operand(inner)?;
                it.text(text);
                Ok(())
            })
        };
        let infix = |it: &mut Self, left: &Expr, text: &str, right: &Expr| {
            it.parenthesized(|it| {
                it.operand(left)?;
                it.text(text);
                it.operand(right)
            })
        };
        let not = |negated: &bool| if *negated { " NOT" } else { "" };
        Some(match root {
            Expr::IsNull(inner) => suffix(self, inner, " IS NULL"),
            Expr::IsNotNull(inner) => suffix(self, inner, " IS NOT NULL"),
            Expr::IsTrue(inner) => suffix(self, inner, " IS TRUE"),
            Expr::IsNotTrue(inner) => suffix(self, inner, " IS NOT TRUE"),
            Expr::IsFalse(inner) => suffix(self, inner, " IS FALSE"),
            Expr::IsNotFalse(inner) => suffix(self, inner, " IS NOT FALSE"),
            Expr::IsUnknown(inner) => suffix(self, inner, " IS UNKNOWN"),
            Expr::IsNotUnknown(inner) => suffix(self, inner, " IS NOT UNKNOWN"),
            Expr::IsDistinctFrom(left, right) => infix(self, left, " IS DISTINCT FROM ", right),
            Expr::IsNotDistinctFrom(left, right) => {
                infix(self, left, " IS NOT DISTINCT FROM ", right)
            }
            Expr::InList {
                expr,
                list,
                negated,
            } if !list.is_empty() => self.parenthesized(|it| {
                it.operand(expr)?;
                it.text(not(negated));
                it.text(" IN ");
                it.parenthesized(|it| it.list(list))
            }),
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, *negated, low, high),
            Expr::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            }
            | Expr::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => {
                let operator = match root {
                    Expr::Like { .. } => "LIKE",
                    _ => "ILIKE",
                };
                let name = format!("{} {operator} ", not(negated));
                self.like(expr, &name, pattern, *any, escape_char.as_deref())
            }
            Expr::RLike {
                negated,
                expr,
                pattern,
                ..
            } => {
                let name = format!("{} RLIKE ", not(negated));
                infix(self, expr, &name, pattern)
            }
            _ => return None,
        })
    }

    /// Prints `BETWEEN`. Since Spark 4.0, it calls the function `between`, which the session may have
    /// redefined: so `between` is called by its qualified name, or recorded among the functions.
    fn between(&mut self, value: &Expr, negated: bool, low: &Expr, high: &Expr) -> PrintResult {
        let not = if negated { "NOT " } else { "" };
        if self.naming == Naming::Bare {
            self.functions.insert("between".to_owned());
            return self.parenthesized(|it| {
                it.operand(value)?;
                it.text(" ");
                it.text(not);
                it.text("BETWEEN ");
                it.operand(low)?;
                it.text(" AND ");
                it.operand(high)
            });
        }
        self.parenthesized(|it| {
            it.text(not);
            it.call("between", |it| {
                it.operand(value)?;
                it.text(", ");
                it.operand(low)?;
                it.text(", ");
                it.operand(high)
            })
        })
    }

    fn like(
        &mut self,
        expr: &Expr,
        name: &str,
        pattern: &Expr,
        any: bool,
        escape: Option<&Expr>,
    ) -> PrintResult {
        self.parenthesized(|it| {
            it.operand(expr)?;
            it.text(name);
            match (pattern, any) {
                (Expr::Tuple(patterns), true) => {
                    it.text("ANY ");
                    it.parenthesized(|it| it.list(patterns))?;
                }
                (pattern, true) => {
                    it.text("ANY ");
                    it.parenthesized(|it| it.value(pattern))?;
                }
                (pattern, false) => it.operand(pattern)?,
            }
            match escape {
                None => Ok(()),
                Some(Expr::Value(character)) => {
                    it.text(" ESCAPE ");
                    it.literal(character)
                }
                Some(_) => refused("has an ESCAPE that is not a literal"),
            }
        })
    }

    pub(super) fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> PrintResult {
        use BinaryOperator as Op;
        let Some(written) = operator(op) else {
            return Err(CannotPrint(format!(
                "has the operator {}",
                clipped(&op.to_string())
            )));
        };
        let is_logical = matches!(op, Op::And | Op::Or);
        self.sql.push('(');
        // long sums and conjunctions nest to the left: their parentheses would be too deep for Spark
        let mut chain = vec![(written, right)];
        let mut first = left;
        while let Expr::BinaryOp {
            left,
            op: inner,
            right,
        } = first
            && let Some(inner_level) = level(inner)
            && level(op) == Some(inner_level)
            && let Some(written) = operator(inner)
        {
            chain.push((written, right));
            first = left;
        }
        let print = if is_logical {
            Self::value
        } else {
            Self::operand
        };
        print(self, first)?;
        for (written, right) in chain.into_iter().rev() {
            self.text(" ");
            self.text(written);
            self.text(" ");
            print(self, right)?;
        }
        self.sql.push(')');
        Ok(())
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, inner: &Expr) -> PrintResult {
        let written = match op {
            UnaryOperator::Not | UnaryOperator::BangNot => {
                return self.parenthesized(|it| {
                    it.text("NOT ");
                    it.value(inner)
                });
            }
            UnaryOperator::Minus => "-",
            UnaryOperator::Plus => "+",
            UnaryOperator::BitwiseNot => "~",
            other => return Err(CannotPrint(format!("has the operator {other}"))),
        };
        // cast the signed number: the least value of a type, such as `-128Y`, does not fit without its sign
        if let (
            UnaryOperator::Minus,
            Expr::Cast {
                kind: kind @ CastKind::Cast,
                expr,
                data_type,
                format: None,
                ..
            },
        ) = (op, inner)
            && let Expr::Value(number) = expr.as_ref()
            && matches!(number.value, Value::Number(..))
        {
            let negative = Expr::UnaryOp {
                op,
                expr: expr.clone(),
            };
            return self.cast(kind, &negative, data_type);
        }
        self.parenthesized(|it| {
            it.text(written);
            it.operand(inner)
        })
    }

    pub(super) fn cast(
        &mut self,
        kind: &CastKind,
        inner: &Expr,
        data_type: &DataType,
    ) -> PrintResult {
        let name = match kind {
            CastKind::Cast | CastKind::DoubleColon => "CAST(",
            CastKind::TryCast => "TRY_CAST(",
            CastKind::SafeCast => return refused("has SAFE_CAST"),
        };
        let Some(type_sql) = type_name(data_type) else {
            return Err(CannotPrint(format!(
                "has the type {}",
                clipped(&data_type.to_string())
            )));
        };
        self.text(name);
        self.value(inner)?;
        self.text(" AS ");
        self.text(&type_sql);
        self.text(")");
        Ok(())
    }
}

/// Returns the precedence level of operators that are left-associative in Spark as in our parser.
fn level(op: &BinaryOperator) -> Option<u8> {
    use BinaryOperator as Op;
    Some(match op {
        Op::Or => 0,
        Op::And => 1,
        Op::Plus | Op::Minus | Op::StringConcat => 2,
        Op::Multiply | Op::Divide | Op::Modulo | Op::MyIntegerDivide => 3,
        _ => return None,
    })
}

fn operator(op: &BinaryOperator) -> Option<&'static str> {
    use BinaryOperator as Op;
    Some(match op {
        Op::Or => "OR",
        Op::And => "AND",
        Op::Plus => "+",
        Op::Minus => "-",
        Op::StringConcat => "||",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::Modulo => "%",
        Op::MyIntegerDivide => "DIV",
        Op::BitwiseAnd => "&",
        Op::BitwiseOr => "|",
        Op::BitwiseXor => "^",
        Op::Eq => "=",
        Op::NotEq => "<>",
        Op::Lt => "<",
        Op::LtEq => "<=",
        Op::Gt => ">",
        Op::GtEq => ">=",
        Op::Spaceship => "<=>",
        _ => return None,
    })
}
