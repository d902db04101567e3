//! Comparisons with moments that no column decides, such as `day >= DATE '2026-01-31' - INTERVAL 7 DAYS`:
//! computed once, so that bounds leave out files.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_schema::{DataType, Fields};
use sqlparser::ast;

use crate::expr::formula::Formula;
use crate::expr::literal::Literal;
use crate::expr::predicate::{Expr, Op, Operand, Path};

/// The comparison of a column with the value; `None` where the formula is something else.
pub(super) fn folded(formula: &Formula) -> Option<Expr> {
    match formula.root() {
        ast::Expr::BinaryOp { left, op, right } => {
            let op = Op::of(op)?;
            let (left, right) = match (column(left), column(right)) {
                (Some(path), None) => (Operand::Column(path), Operand::Literal(moment(right)?)),
                (None, Some(path)) => (Operand::Literal(moment(left)?), Operand::Column(path)),
                _ => return None,
            };
            Some(Expr::Compare(left, op, right))
        }
        ast::Expr::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let path = column(expr)?;
            let side = |op: Op, bound: &ast::Expr| {
                let bound = Operand::Literal(moment(bound)?);
                Some(Expr::Compare(Operand::Column(path.clone()), op, bound))
            };
            let both = Expr::And(vec![side(Op::GtEq, low)?, side(Op::LtEq, high)?]);
            Some(if *negated { both.negated() } else { both })
        }
        _ => None,
    }
}

fn column(expr: &ast::Expr) -> Option<Path> {
    match expr {
        ast::Expr::Nested(inner) => column(inner),
        ast::Expr::Identifier(name) => Some(Path(vec![name.value.clone()])),
        ast::Expr::CompoundIdentifier(names) => {
            Some(Path(names.iter().map(|name| name.value.clone()).collect()))
        }
        _ => None,
    }
}

/// The value of an expression without columns that is a date or a timestamp.
fn moment(expr: &ast::Expr) -> Option<Literal> {
    let formula = Formula::new(&expr.to_string(), expr.clone()).ok()?;
    let value = formula.bind(&Fields::empty()).ok()?.one_value().ok()?;
    match value.data_type() {
        DataType::Date32 => {
            let days = value.as_primitive::<Date32Type>().iter().next()??;
            Some(Literal::Date(days))
        }
        DataType::Timestamp(_, zone) => {
            let micros = value.as_primitive_opt::<TimestampMicrosecondType>()?;
            let micros = micros.iter().next()??;
            Some(match zone {
                Some(_) => Literal::Timestamp(micros),
                None => Literal::TimestampNtz(micros),
            })
        }
        _ => None,
    }
}
