//! Resolves names to columns, and converts literals to the types of the columns.
//!
//! Comparisons are normalized here: the column is on the left, the literal is a value of the column's form,
//! and comparisons with values outside of the range of the type are decided.

mod columns;
mod expression;
mod intervals;
mod scope;
mod target;
mod timestamps;
mod typed;
mod values;
mod without_ansi;

use arrow_schema::{DataType, Fields};
use recursive::recursive;

use crate::error::{Error, Result};
use crate::expr::evaluate::Evaluator;
use crate::expr::evaluate::functions::type_error;
use crate::expr::evaluate::like::LikePattern;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::bound_formula::BoundFormula;
use crate::expr::node::formula::Formula;
use crate::expr::node::predicate::{Expr, Operand, Predicate};
use crate::expr::node::{BoundPredicate, Node};
use crate::expr::value::family::Family;
use crate::expr::value::literal::Literal;
use crate::spec::schema::StructType;
use columns::Columns;
use expression::ExpressionBinder;
use typed::Typed;

pub(crate) use columns::closest_columns;
use values::{membership, simple_comparison};

impl Predicate {
    /// Binds the predicate to `schema`; types are coerced as in Spark.
    ///
    /// Names are case-insensitive. A string compared with a value of another type is cast to that type, but
    /// to `BIGINT` for all integers and to `DOUBLE` for other numbers; the text of a timestamp is in UTC unless
    /// it has a zone. Numbers are compared exactly, unless one of them is a floating-point number: then both
    /// are compared as such. A literal out of the column's range is compared by its value. For floating-point
    /// numbers, `-0.0` equals `0.0`, and `NaN` equals itself and is greater than all other numbers. Strings
    /// are compared bytewise. Dates and timestamps are compared as instants, a date as its midnight.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.column` for an unknown column, with similar names; `filter.literal` for a
    /// literal that cannot be converted to the column's type; `filter.type` for types that cannot be compared,
    /// or that are not boolean; for formulas, the errors of [`Formula::bind`]. Unsupported:
    /// `expression.collation` for a comparison of strings with a collation.
    pub fn bind(&self, schema: &StructType) -> Result<BoundPredicate> {
        let mut binder = Binder {
            columns: Columns::new(schema),
        };
        let root = binder.node(&self.root)?;
        Ok(BoundPredicate::new(self.clone(), root))
    }
}

impl Formula {
    /// Binds the formula to these fields, and determines its type.
    ///
    /// Types follow from the columns as in Spark's ANSI mode: overflow, division by zero and malformed
    /// numbers are errors. Unknown functions are refused by name, before any row is read.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.column`, `formula.type`, `formula.unsupported` with the unsupported
    /// construct; `formula.value` for a constant that cannot be computed. Unsupported:
    /// `expression.collation` for a comparison of strings with a collation.
    pub fn bind(&self, mut fields: &Fields) -> Result<BoundFormula> {
        let typed = ExpressionBinder::new(&mut fields).value(self.root())?;
        Ok(self.bound(checked(typed)?))
    }

    /// Binds a boolean formula as [`Formula::bind`].
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.type` if it is not boolean.
    pub fn bind_condition(&self, mut fields: &Fields) -> Result<BoundFormula> {
        let typed = ExpressionBinder::new(&mut fields).value(self.root())?;
        Ok(self.bound(as_condition(typed, self.text())?))
    }

    fn bound(&self, typed: Typed) -> BoundFormula {
        BoundFormula::new(self.text(), typed.node, typed.data_type)
    }
}

/// Evaluates the expression on a row of nulls, to report an error that would occur for every row.
fn checked(typed: Typed) -> Result<Typed> {
    Evaluator::of_nulls().value(&typed.node)?;
    Ok(typed)
}

/// Checks that an expression is boolean, and evaluates it as [`checked`] does.
fn as_condition(typed: Typed, text: &str) -> Result<Typed> {
    match typed.data_type {
        DataType::Boolean | DataType::Null => checked(typed)?.cast(&DataType::Boolean),
        _ => Err(type_error(&format!("{text} is not a condition"))),
    }
}

struct Binder<'a> {
    columns: Columns<'a>,
}

impl Binder<'_> {
    #[recursive]
    fn node(&mut self, expr: &Expr) -> Result<Node> {
        Ok(match expr {
            Expr::And(parts) => Node::And(self.nodes(parts)?),
            Expr::Or(parts) => Node::Or(self.nodes(parts)?),
            Expr::Not(inner) => self.node(inner)?.negated(),
            Expr::Value(operand) => self.value(operand)?,
            Expr::IsNull(inner) => match inner.as_ref() {
                Expr::Value(Operand::Column(path)) => {
                    Node::IsNull(Box::new(Node::Column(self.columns.find(path)?)))
                }
                Expr::Value(Operand::Literal(literal)) => {
                    Node::boolean(Some(*literal == Literal::Null))
                }
                Expr::Formula(formula) => {
                    let inner = ExpressionBinder::new(&mut self.columns).value(formula.root())?;
                    Node::IsNull(Box::new(checked(inner)?.node))
                }
                inner => Node::IsNull(Box::new(self.node(inner)?)),
            },
            Expr::Is(inner, true) => Node::IsTrue(Box::new(self.node(inner)?)),
            Expr::Is(inner, false) => Node::IsTrue(Box::new(self.node(inner)?.negated())),
            Expr::Formula(formula) => self.formula(formula)?,
            Expr::Compare(left, op, right) => {
                let (left, right) = (self.typed(left)?, self.typed(right)?);
                match simple_comparison(*op, &left.node, &right.node) {
                    Some(node) => node?,
                    None => checked(Typed::compared(*op, left, right)?)?.node,
                }
            }
            Expr::In(path, list) => {
                let column = self.columns.find(path)?;
                if list.iter().any(|literal| column.family.casts_for(literal)) {
                    let list = list.iter().map(Typed::literal).collect::<Result<_>>()?;
                    return Ok(checked(Typed::in_list(Typed::column(column), list)?)?.node);
                }
                membership(&column, list)?
            }
            Expr::Like {
                column,
                pattern,
                escape,
            } => {
                let column = self.columns.find(column)?;
                match &column.family {
                    Family::Void => return Ok(Node::boolean(None)),
                    Family::Other(_) => {
                        return Err(filter_type_error(&column, "LIKE takes a column of strings"));
                    }
                    _ => {}
                }
                let pattern = LikePattern::new(pattern, *escape)
                    .map_err(|reason| Error::invalid("filter.literal", reason))?;
                Typed::like(Typed::column(column), pattern)?.node
            }
        })
    }

    fn formula(&mut self, formula: &Formula) -> Result<Node> {
        let typed = ExpressionBinder::new(&mut self.columns).value(formula.root())?;
        Ok(as_condition(typed, formula.text())?.node)
    }

    /// Binds a column or a literal as an expression.
    fn typed(&mut self, operand: &Operand) -> Result<Typed> {
        Ok(match operand {
            Operand::Column(path) => Typed::column(self.columns.find(path)?),
            Operand::Literal(literal) => Typed::literal(literal)?,
        })
    }

    fn nodes(&mut self, parts: &[Expr]) -> Result<Vec<Node>> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    /// Binds a column or a literal as a condition.
    fn value(&mut self, operand: &Operand) -> Result<Node> {
        match operand {
            Operand::Literal(Literal::Null) => Ok(Node::boolean(None)),
            Operand::Literal(Literal::Boolean(value)) => Ok(Node::boolean(Some(*value))),
            Operand::Literal(literal) => Err(Error::invalid(
                "filter.type",
                format!("{literal} is {}, not a condition", literal.kind()),
            )),
            Operand::Column(path) => {
                let column = self.columns.find(path)?;
                match &column.family {
                    Family::Boolean => Ok(Node::Column(column)),
                    Family::Void => Ok(Node::boolean(None)),
                    _ => Err(filter_type_error(
                        &column,
                        "only a boolean column is a condition",
                    )),
                }
            }
        }
    }
}

fn filter_type_error(column: &BoundColumn, reason: &str) -> Error {
    let message = format!(
        "the column {} has the type {}: {reason}",
        column.path.join("."),
        column.family
    );
    Error::invalid("filter.type", message)
}
