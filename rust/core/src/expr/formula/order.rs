//! What is computed on which rows. As in Spark, a part that cannot change the outcome of a row is not computed
//! on it, so that a value that would be an error there is none.

use std::sync::Arc;

use arrow_arith::boolean::{and, and_kleene, not, or_kleene};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
use sqlparser::ast::{BinaryOperator, Expr};

use super::evaluate::{FormulaEvaluator, answers, chosen_of, either, missing, spread};
use super::operators::{calculated, common, compared, strangers};
use super::{cast_value, failed};
use crate::error::Result;

impl FormulaEvaluator<'_> {
    /// The values of an expression on the rows that the mask is true of; null on the others, which are not
    /// looked at.
    pub(super) fn value_on(&self, mask: &BooleanArray, expr: &Expr) -> Result<ArrayRef> {
        if is_plain(expr) || mask.true_count() == mask.len() {
            return self.value(expr);
        }
        let rows = filter_record_batch(self.batch, mask).map_err(failed)?;
        spread(
            &FormulaEvaluator::new(&rows, self.context).value(expr)?,
            mask,
        )
    }

    /// As [`FormulaEvaluator::value_on`]; a constant is computed in any case.
    fn folded_on(&self, mask: &BooleanArray, expr: &Expr) -> Result<ArrayRef> {
        if is_constant(expr) {
            return self.value(expr);
        }
        self.value_on(mask, expr)
    }

    pub(super) fn binary(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<ArrayRef> {
        use BinaryOperator as Op;
        if let Some(moved) = self.shifted(left, op, right)? {
            return Ok(moved);
        }
        Ok(match op {
            Op::And | Op::Or => {
                let decided = *op == Op::Or;
                let left = answers(&self.value(left)?)?;
                let open = left.iter().map(|answer| Some(answer != Some(decided)));
                let right = answers(&self.value_on(&open.collect(), right)?)?;
                let join = if decided { or_kleene } else { and_kleene };
                Arc::new(join(&left, &right).map_err(failed)?)
            }
            Op::Spaceship => {
                let (one, other) = (self.value(left)?, self.value(right)?);
                let one = self.beside(right, left, one);
                Arc::new(compared(op, &one, &self.beside(left, right, other))?)
            }
            Op::StringConcat => self.joined(&[self.value(left)?, self.value(right)?])?,
            Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => {
                let (one, other) = self.both(left, right)?;
                let one = self.beside(right, left, one);
                Arc::new(compared(op, &one, &self.beside(left, right, other))?)
            }
            Op::Divide | Op::Modulo | Op::MyIntegerDivide | Op::DuckIntegerDivide => {
                let (right, left) = self.both(right, left)?;
                calculated(op, &left, &right)?
            }
            _ => {
                let (left, right) = self.both(left, right)?;
                calculated(op, &left, &right)?
            }
        })
    }

    /// Two values of which the other is not computed where the first one is null.
    pub(super) fn both(&self, first: &Expr, other: &Expr) -> Result<(ArrayRef, ArrayRef)> {
        let first = self.value(first)?;
        let other = self.folded_on(&known(&first)?, other)?;
        Ok((first, other))
    }

    pub(super) fn between(
        &self,
        expr: &Expr,
        low: &Expr,
        high: &Expr,
        negated: bool,
    ) -> Result<ArrayRef> {
        let value = self.value(expr)?;
        let mut open = known(&value)?;
        let least = self.beside(expr, low, self.folded_on(&open, low)?);
        let low = compared(&BinaryOperator::GtEq, &value, &least)?;
        let above = low.iter().map(|answer| Some(answer != Some(false)));
        open = and(&open, &above.collect()).map_err(failed)?;
        let most = self.beside(expr, high, self.folded_on(&open, high)?);
        let high = compared(&BinaryOperator::LtEq, &value, &most)?;
        either(and_kleene(&low, &high).map_err(failed)?, negated)
    }

    /// All sides in the type that they have in common.
    pub(super) fn in_list(&self, expr: &Expr, list: &[Expr], negated: bool) -> Result<ArrayRef> {
        let value = self.value(expr)?;
        let no_rows = self.batch.slice(0, 0);
        let none = FormulaEvaluator::new(&no_rows, self.context);
        let mut both = value.data_type().clone();
        for one in list {
            let kind = none.value(one)?.data_type().clone();
            both = common(&both, &kind).ok_or_else(|| strangers(&both, &kind))?;
        }
        let value = cast_value(&value, &both)?;
        let mut found = BooleanArray::from(vec![false; self.len()]);
        let mut open = known(&value)?;
        for one in list {
            let one = self.beside(expr, one, self.folded_on(&open, one)?);
            let same = compared(&BinaryOperator::Eq, &value, &one)?;
            found = or_kleene(&found, &same).map_err(failed)?;
            let left = found.iter().map(|answer| Some(answer != Some(true)));
            open = and(&open, &left.collect()).map_err(failed)?;
        }
        either(found, negated)
    }

    /// The first value that is not null.
    pub(super) fn coalesce(&self, values: &[&Expr]) -> Result<ArrayRef> {
        let mut open = BooleanArray::from(vec![true; self.len()]);
        let mut found = Vec::with_capacity(values.len());
        for one in values {
            let value = self.value_on(&open, one)?;
            let known = known(&value)?;
            open = and(&open, &not(&known).map_err(failed)?).map_err(failed)?;
            found.push((known, value));
        }
        let none = arrow_array::new_null_array(&DataType::Null, self.len());
        let mut result: ArrayRef = none;
        for (known, value) in found.into_iter().rev() {
            result = chosen_of(&known, &value, &result)?;
        }
        Ok(result)
    }
}

fn known(values: &ArrayRef) -> Result<BooleanArray> {
    not(&missing(values)?).map_err(failed)
}

/// Whether nothing is computed: to look is cheaper than to choose the rows.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_plain(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => true,
        _ => false,
    }
}

/// Whether no column and no function is in it. Recurses as deep as the parser does.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => is_constant(inner),
        Expr::Cast { expr, .. } => is_constant(expr),
        Expr::BinaryOp { left, right, .. } => is_constant(left) && is_constant(right),
        _ => false,
    }
}
