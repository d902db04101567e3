//! Comparisons of two values.

use arrow_array::{BooleanArray, Datum};
use arrow_ord::cmp;
use arrow_schema::ArrowError;
use sqlparser::ast::BinaryOperator;

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Op {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    /// `<=>`: null equals null, and the result is never null.
    NullSafeEq,
}

/// The comparisons from which all others are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::expr) enum BaseOp {
    Eq,
    Lt,
    LtEq,
    Gt,
    GtEq,
}

pub(super) type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>;

impl Op {
    /// Returns the comparison of an SQL operator; `None` for other operators.
    pub(in crate::expr) fn of(op: &BinaryOperator) -> Option<Self> {
        Some(match op {
            BinaryOperator::Eq => Self::Eq,
            BinaryOperator::NotEq => Self::NotEq,
            BinaryOperator::Lt => Self::Lt,
            BinaryOperator::LtEq => Self::LtEq,
            BinaryOperator::Gt => Self::Gt,
            BinaryOperator::GtEq => Self::GtEq,
            BinaryOperator::Spaceship => Self::NullSafeEq,
            _ => return None,
        })
    }

    /// Returns the operator for exchanged sides.
    pub(in crate::expr) fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            other => other,
        }
    }

    /// Returns the comparison without negation and null safety.
    pub(in crate::expr) fn base(self) -> BaseOp {
        match self {
            Self::Eq | Self::NotEq | Self::NullSafeEq => BaseOp::Eq,
            Self::Lt => BaseOp::Lt,
            Self::LtEq => BaseOp::LtEq,
            Self::Gt => BaseOp::Gt,
            Self::GtEq => BaseOp::GtEq,
        }
    }

    pub(in crate::expr) fn kernel(self) -> Kernel {
        match self {
            Self::NotEq => cmp::neq,
            Self::NullSafeEq => cmp::not_distinct,
            other => other.base().kernel(),
        }
    }
}

impl BaseOp {
    pub(in crate::expr) fn kernel(self) -> Kernel {
        match self {
            Self::Eq => cmp::eq,
            Self::Lt => cmp::lt,
            Self::LtEq => cmp::lt_eq,
            Self::Gt => cmp::gt,
            Self::GtEq => cmp::gt_eq,
        }
    }
}
