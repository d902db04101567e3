//! From names to columns, and from literals to values of the columns' types.
//!
//! Comparisons are put in few terms here: the column stands left, the literal is a value of the
//! column's own form, and what no value of the type can equal or exceed is an answer already.

mod columns;
mod expression;
mod intervals;
mod scope;
mod target;
mod timestamps;
mod typed;
mod values;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Fields};

use crate::error::{Error, Result};
use crate::expr::evaluate::Evaluator;
use crate::expr::evaluate::functions::mistyped;
use crate::expr::evaluate::like::Matcher;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::bound_formula::BoundFormula;
use crate::expr::node::formula::Formula;
use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::expr::node::{BoundPredicate, Node};
use crate::expr::value::canonical_order::Form;
use crate::expr::value::comparison::{Op, Order};
use crate::expr::value::literal::Literal;
use crate::spec::schema::StructType;
use columns::Columns;
use expression::ExpressionBinder;
use typed::Typed;

pub(crate) use columns::closest_columns;
use values::{Family, LiteralPosition, Value};

impl Predicate {
    /// Finds the columns in `schema` and makes the types agree, as Spark does.
    ///
    /// Names are found case-insensitively. A text compared with a value of another type is cast to
    /// that type: `'2026-01-31'` to a date, a timestamp without zone to one in UTC; to `BIGINT` for whole
    /// numbers, to `DOUBLE` for others. Numbers are
    /// compared exactly, unless one of the two is a floating-point number: then both are. A number
    /// out of the column's range compares as what it is. For floating-point numbers `-0.0` is
    /// `0.0`, `NaN` equals itself and is greater than everything else. Texts are compared by their
    /// bytes. Dates and timestamps compare as instants, a date as its midnight.
    ///
    /// # Errors
    ///
    /// Invalid: `filter.column` for an unknown column, with the closest names; `filter.literal` for
    /// a literal that cannot become a value of the column's type; `filter.type` for types that do
    /// not compare, or are no condition; `formula.column`, `formula.type`, `formula.unsupported` for what
    /// is computed.
    pub fn bind(&self, schema: &StructType) -> Result<BoundPredicate> {
        let mut binder = Binder {
            columns: Columns::new(schema),
        };
        let root = binder.node(&self.root)?;
        Ok(BoundPredicate::new(self.clone(), root))
    }
}

impl Formula {
    /// Finds the columns, and the type of the values.
    ///
    /// Types follow from the columns as in Spark's ANSI mode: overflow, division by zero and texts that are no
    /// number are errors. What is not known is refused by name, before a row is seen.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.column`, `formula.type`, `formula.unsupported` with the name of what is
    /// not known; `formula.value` for a constant that has none.
    pub fn bind(&self, mut fields: &Fields) -> Result<BoundFormula> {
        let typed = ExpressionBinder::new(&mut fields).value(self.root())?;
        Ok(self.bound(checked(typed)?))
    }

    /// As [`Formula::bind`], for a formula whose values are answers.
    ///
    /// # Errors
    ///
    /// As [`Formula::bind`]; `formula.type` where they are none.
    pub fn bind_condition(&self, mut fields: &Fields) -> Result<BoundFormula> {
        let typed = ExpressionBinder::new(&mut fields).value(self.root())?;
        Ok(self.bound(as_condition(typed, self.text())?))
    }

    fn bound(&self, typed: Typed) -> BoundFormula {
        BoundFormula::new(self.text(), typed.node, typed.data_type)
    }
}

/// Refuses what cannot be computed for a row of nulls: it cannot be for any row.
fn checked(typed: Typed) -> Result<Typed> {
    Evaluator::of_nulls().value(&typed.node)?;
    Ok(typed)
}

/// As [`checked`], for an expression whose values are answers.
fn as_condition(typed: Typed, text: &str) -> Result<Typed> {
    match typed.data_type {
        DataType::Boolean | DataType::Null => checked(typed)?.cast(&DataType::Boolean),
        _ => Err(mistyped(&format!("{text} is not a condition"))),
    }
}

struct Binder<'a> {
    columns: Columns<'a>,
}

/// A column and what its values are.
type ColumnFamily = (Arc<BoundColumn>, Family);

impl Binder<'_> {
    fn node(&mut self, expr: &Expr) -> Result<Node> {
        Ok(match expr {
            Expr::And(parts) => Node::And(self.nodes(parts)?),
            Expr::Or(parts) => Node::Or(self.nodes(parts)?),
            Expr::Not(inner) => self.node(inner)?.negated(),
            Expr::Value(operand) => self.value(operand)?,
            Expr::IsNull(inner) => match inner.as_ref() {
                Expr::Value(Operand::Column(path)) => is_null(&self.columns.find(path)?.0),
                Expr::Value(Operand::Literal(literal)) => {
                    Node::answer(Some(*literal == Literal::Null))
                }
                Expr::Computed(formula) => {
                    let inner = ExpressionBinder::new(&mut self.columns).value(formula.root())?;
                    Node::IsNull(Box::new(checked(inner)?.node))
                }
                inner => Node::IsNull(Box::new(self.node(inner)?)),
            },
            Expr::Is(inner, true) => Node::IsTrue(Box::new(self.node(inner)?)),
            Expr::Is(inner, false) => Node::IsTrue(Box::new(self.node(inner)?.negated())),
            Expr::Computed(formula) => self.computed(formula)?,
            Expr::Compare(left, op, right) => {
                if self.changes_texts(left, right)? {
                    let (left, right) = (self.typed(left)?, self.typed(right)?);
                    return Ok(checked(Typed::compared(*op, left, right)?)?.node);
                }
                self.comparison(left, *op, right)?
            }
            Expr::In(path, list) => {
                let (column, family) = self.columns.find(path)?;
                if list.iter().any(|literal| family.casts_for(literal)) {
                    let list = list.iter().map(Typed::literal).collect::<Result<_>>()?;
                    return Ok(checked(Typed::within(Typed::column(column), list)?)?.node);
                }
                self.membership(path, list)?
            }
            Expr::Like {
                column,
                pattern,
                escape,
            } => {
                let (column, family) = self.columns.find(column)?;
                if family == Family::Void {
                    return Ok(Node::answer(None));
                }
                if let Family::Other(_) = family {
                    return Err(kind_error(&column, &family, "LIKE takes a column of texts"));
                }
                let matcher = Matcher::new(pattern, *escape)
                    .map_err(|what| Error::invalid("filter.literal", what))?;
                Typed::like(Typed::column(column), matcher)?.node
            }
        })
    }

    fn computed(&mut self, formula: &Formula) -> Result<Node> {
        let typed = ExpressionBinder::new(&mut self.columns).value(formula.root())?;
        Ok(self.decided(as_condition(typed, formula.text())?.node))
    }

    /// The same condition, in which bounds decide the comparisons of columns with constants, such as
    /// `day >= DATE '2026-01-31' - INTERVAL 7 DAYS`.
    fn decided(&mut self, node: Node) -> Node {
        let mut each =
            |parts: Vec<Node>| parts.into_iter().map(|part| self.decided(part)).collect();
        match node {
            Node::And(parts) => Node::And(each(parts)),
            Node::Or(parts) => Node::Or(each(parts)),
            Node::Not(inner) => self.decided(*inner).negated(),
            Node::Compared(op, left, right) => {
                let comparison = match (left.as_ref(), right.as_ref()) {
                    (column, Node::Constant(value)) => self.with_constant(column, op, value),
                    (Node::Constant(value), column) => {
                        self.with_constant(column, op.flipped(), value)
                    }
                    _ => None,
                };
                comparison.unwrap_or(Node::Compared(op, left, right))
            }
            other => other,
        }
    }

    fn with_constant(&mut self, column: &Node, op: Op, value: &ArrayRef) -> Option<Node> {
        let column = match column {
            Node::Column(column) => column,
            // a date is its midnight, and a clock that of UTC
            Node::Cast {
                value,
                data_type: DataType::Timestamp(..),
                ..
            } => match value.as_ref() {
                Node::Column(column) if column.data_type.is_temporal() => column,
                _ => return None,
            },
            _ => return None,
        };
        let bound = self.columns.find(&Path(column.path.clone())).ok()?;
        let literal = Literal::of(value)?;
        with_literal(&bound, op, &literal).ok()
    }

    /// Returns `true` if a column of texts is compared with something else, or with one of another
    /// length: only formulas change values, row by row.
    fn changes_texts(&mut self, left: &Operand, right: &Operand) -> Result<bool> {
        Ok(match (left, right) {
            (Operand::Column(left), Operand::Column(right)) => {
                let (left, right) = (self.columns.find(left)?, self.columns.find(right)?);
                let lengths = (left.0.char_length, right.0.char_length);
                let unequal = matches!(lengths, (Some(left_length), Some(right_length)) if left_length != right_length);
                unequal || values::casts_texts(&left.1, &right.1)
            }
            (Operand::Column(column), Operand::Literal(literal))
            | (Operand::Literal(literal), Operand::Column(column)) => {
                self.columns.find(column)?.1.casts_for(literal)
            }
            (Operand::Literal(_), Operand::Literal(_)) => false,
        })
    }

    /// A column or a literal as an expression of SQL has it.
    fn typed(&mut self, operand: &Operand) -> Result<Typed> {
        Ok(match operand {
            Operand::Column(path) => Typed::column(self.columns.find(path)?.0),
            Operand::Literal(literal) => Typed::literal(literal)?,
        })
    }

    fn nodes(&mut self, parts: &[Expr]) -> Result<Vec<Node>> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    /// A column or a literal as a condition.
    fn value(&mut self, operand: &Operand) -> Result<Node> {
        match operand {
            Operand::Literal(Literal::Null) => Ok(Node::answer(None)),
            Operand::Literal(Literal::Boolean(value)) => Ok(Node::answer(Some(*value))),
            Operand::Literal(literal) => Err(Error::invalid(
                "filter.type",
                format!("{literal} is {}, not a condition", literal.kind()),
            )),
            Operand::Column(path) => match self.columns.find(path)? {
                (column, Family::Boolean) => Ok(Node::Column(column)),
                (_, Family::Void) => Ok(Node::answer(None)),
                (column, family) => Err(kind_error(
                    &column,
                    &family,
                    "only a boolean column is a condition by itself",
                )),
            },
        }
    }

    fn comparison(&mut self, left: &Operand, op: Op, right: &Operand) -> Result<Node> {
        match (left, right) {
            (Operand::Column(column), Operand::Literal(literal)) => {
                let bound = self.columns.find(column)?;
                with_literal(&bound, op, literal)
            }
            (Operand::Literal(literal), Operand::Column(column)) => {
                let bound = self.columns.find(column)?;
                with_literal(&bound, op.flipped(), literal)
            }
            (Operand::Column(left), Operand::Column(right)) => {
                let (left, right) = (self.columns.find(left)?, self.columns.find(right)?);
                between_columns(left, op, right)
            }
            (Operand::Literal(left), Operand::Literal(right)) => {
                values::compare_literals(left, op, right).map(Node::answer)
            }
        }
    }

    fn membership(&mut self, path: &Path, list: &[Literal]) -> Result<Node> {
        let (column, family) = self.columns.find(path)?;
        column.comparable()?;
        if family == Family::Void {
            let known = if list.is_empty() { Some(false) } else { None };
            return Ok(Node::answer(known));
        }
        let mut or_null = false;
        let mut forms: Vec<(Form, Vec<Value>)> = Vec::new();
        for literal in list {
            match values::position(&column, &family, literal)? {
                LiteralPosition::Null => or_null = true,
                LiteralPosition::At(form, value) => {
                    match forms.iter_mut().find(|(known, _)| *known == form) {
                        Some((_, values)) => values.push(value),
                        None => forms.push((form, vec![value])),
                    }
                }
                LiteralPosition::After(..) | LiteralPosition::Below | LiteralPosition::Above => {}
            }
        }
        if forms.is_empty() {
            return Ok(match (list.is_empty(), or_null) {
                (true, _) => Node::answer(Some(false)),
                (false, true) => Node::answer(None),
                (false, false) => if_present(&column, false),
            });
        }
        let node = |(form, values)| -> Result<Node> {
            Ok(Node::In {
                column: Arc::clone(&column),
                form,
                list: Arc::new(values::in_list(values)),
                or_null,
            })
        };
        // Floating-point numbers among exact ones are compared in their own way.
        let mut nodes = forms.into_iter().map(node).collect::<Result<Vec<_>>>()?;
        match (nodes.len(), nodes.pop()) {
            (1, Some(only)) => Ok(only),
            (_, last) => {
                nodes.extend(last);
                Ok(Node::Or(nodes))
            }
        }
    }
}

fn is_null(column: &Arc<BoundColumn>) -> Node {
    Node::IsNull(Box::new(Node::Column(Arc::clone(column))))
}

/// This answer where the column is not null, null where it is.
fn if_present(column: &Arc<BoundColumn>, answer: bool) -> Node {
    let (missing, unknown) = (is_null(column), Node::answer(None));
    if answer {
        Node::Or(vec![missing.negated(), unknown])
    } else {
        Node::And(vec![missing, unknown])
    }
}

/// A column against a literal.
fn with_literal((column, family): &ColumnFamily, op: Op, literal: &Literal) -> Result<Node> {
    column.comparable()?;
    let position = values::position(column, family, literal)?;
    if op == Op::NullSafeEq {
        return Ok(match position {
            _ if *literal == Literal::Null => is_null(column),
            LiteralPosition::Null => Node::answer(Some(false)),
            position => Node::IsTrue(Box::new(comparison(column, Order::Eq, position))),
        });
    }
    let order = match op {
        Op::Lt => Order::Lt,
        Op::LtEq => Order::LtEq,
        Op::Gt => Order::Gt,
        Op::GtEq => Order::GtEq,
        Op::NotEq => return Ok(comparison(column, Order::Eq, position).negated()),
        Op::Eq | Op::NullSafeEq => Order::Eq,
    };
    Ok(comparison(column, order, position))
}

fn comparison(column: &Arc<BoundColumn>, order: Order, position: LiteralPosition) -> Node {
    let column = Arc::clone(column);
    let (form, order, value) = match (position, order) {
        (LiteralPosition::Null, _) => return Node::answer(None),
        (LiteralPosition::Below, order) => {
            return if_present(&column, matches!(order, Order::Gt | Order::GtEq));
        }
        (LiteralPosition::Above, order) => {
            return if_present(&column, matches!(order, Order::Lt | Order::LtEq));
        }
        (LiteralPosition::At(form, value), order) => (form, order, value),
        // between two neighbours: not above the lower one is below the literal
        (LiteralPosition::After(form, value), Order::Lt | Order::LtEq) => {
            (form, Order::LtEq, value)
        }
        (LiteralPosition::After(form, value), Order::Gt | Order::GtEq) => (form, Order::Gt, value),
        (LiteralPosition::After(..), Order::Eq) => return if_present(&column, false),
    };
    let value = value.scalar(&column.data_type);
    Node::Compare {
        column,
        form,
        order,
        value,
    }
}

/// A column against another.
fn between_columns(left: ColumnFamily, op: Op, right: ColumnFamily) -> Result<Node> {
    left.0.comparable()?;
    right.0.comparable()?;
    let both_null = || Node::And(vec![is_null(&left.0), is_null(&right.0)]);
    let compare = |order| -> Result<Node> {
        if left.1 == Family::Void || right.1 == Family::Void {
            return Ok(Node::answer(None));
        }
        let Some(form) = values::common(&left.1, &right.1) else {
            let message = format!(
                "the columns {} ({}) and {} ({}) do not compare",
                left.0.path.join("."),
                left.1,
                right.0.path.join("."),
                right.1
            );
            return Err(Error::invalid("filter.type", message));
        };
        Ok(Node::CompareColumns {
            left: Arc::clone(&left.0),
            right: Arc::clone(&right.0),
            form,
            order,
        })
    };
    Ok(match op {
        Op::Eq => compare(Order::Eq)?,
        Op::NotEq => compare(Order::Eq)?.negated(),
        Op::Lt => compare(Order::Lt)?,
        Op::LtEq => compare(Order::LtEq)?,
        Op::Gt => compare(Order::Gt)?,
        Op::GtEq => compare(Order::GtEq)?,
        Op::NullSafeEq => Node::Or(vec![
            Node::IsTrue(Box::new(compare(Order::Eq)?)),
            both_null(),
        ]),
    })
}

fn kind_error(column: &BoundColumn, family: &Family, what: &str) -> Error {
    let message = format!(
        "the column {} has the type {family}: {what}",
        column.path.join(".")
    );
    Error::invalid("filter.type", message)
}
