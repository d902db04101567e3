//! Predicates as written: untyped names and values.

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::error::{Error, Result};
use crate::expr::node::formula::Formula;
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::Literal;

/// The maximum length of a predicate's text in bytes.
pub(in crate::expr) const MAX_TEXT: usize = 4 << 20;
/// The maximum nesting of parentheses and `NOT`.
pub(in crate::expr) const MAX_DEPTH: usize = 100;
/// The maximum number of formulas in a predicate: to locate one, the parser scans the whole text.
pub(in crate::expr) const MAX_FORMULAS: usize = 200;

/// A condition on rows, not yet bound to a schema.
///
/// It prints as SQL text that parses to an equal predicate; the text is its serialized form, too.
#[derive(Clone, PartialEq, Eq)]
pub struct Predicate {
    pub(in crate::expr) root: Expr,
}

/// A condition. Its nesting exceeds [`MAX_DEPTH`] only slightly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Expr {
    /// A boolean column, or a literal.
    Value(Operand),
    Compare(Operand, Op, Operand),
    /// All of two or more conditions; none of them is an `And`.
    And(Vec<Expr>),
    /// Any of two or more conditions; none of them is an `Or`.
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// `IS TRUE`, `IS FALSE`: never null.
    Is(Box<Expr>, bool),
    In(Path, Vec<Literal>),
    Like {
        column: Path,
        pattern: String,
        escape: char,
    },
    /// A condition that is evaluated for each row: arithmetic, functions.
    Formula(Arc<Formula>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Operand {
    Column(Path),
    Literal(Literal),
}

/// The path to a column, outermost name first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Path(pub(in crate::expr) Vec<String>);

impl Expr {
    /// Joins conditions by `AND`; nested conjunctions are flattened.
    pub(in crate::expr) fn all(parts: Vec<Self>) -> Self {
        let parts = parts.into_iter().flat_map(|part| match part {
            Self::And(inner) => inner,
            other => vec![other],
        });
        Self::join(parts.collect(), Self::And)
    }

    /// Joins conditions by `OR`; nested disjunctions are flattened.
    pub(in crate::expr) fn any(parts: Vec<Self>) -> Self {
        let parts = parts.into_iter().flat_map(|part| match part {
            Self::Or(inner) => inner,
            other => vec![other],
        });
        Self::join(parts.collect(), Self::Or)
    }

    fn join(parts: Vec<Self>, variant: fn(Vec<Self>) -> Self) -> Self {
        match <[Self; 1]>::try_from(parts) {
            Ok([only]) => only,
            Err(parts) => variant(parts),
        }
    }

    pub(in crate::expr) fn is_null(column: Path) -> Self {
        Self::IsNull(Box::new(Self::Value(Operand::Column(column))))
    }

    pub(in crate::expr) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Negates the condition if `negated` is true, as for `NOT IN`.
    pub(in crate::expr) fn negated_if(self, negated: bool) -> Self {
        if negated { self.negated() } else { self }
    }
}

impl Path {
    fn top_level(column: &str) -> Self {
        Self(vec![column.to_owned()])
    }
}

impl Predicate {
    /// Returns a predicate that is true where this one is false or unknown.
    #[must_use]
    pub fn not_true(self) -> Self {
        Self {
            root: Expr::Is(Box::new(self.root), true).negated(),
        }
    }

    /// Returns the predicate that a column equals `value`, an array with one row, or is null if `value` is
    /// null. `None` for types without literals.
    pub(crate) fn equal(column: &str, value: &ArrayRef) -> Option<Self> {
        Some(match Literal::of(value)? {
            Literal::Null => Self {
                root: Expr::is_null(Path::top_level(column)),
            },
            value => Self::compare(column, Op::Eq, value),
        })
    }

    /// Returns the predicate that a column is between two values, both inclusive. `None` for types without
    /// literals, and for nulls.
    pub(crate) fn between(column: &str, bounds: &[ArrayRef; 2]) -> Option<Self> {
        let [least, greatest] = bounds
            .each_ref()
            .map(|bound| Literal::of(bound).filter(|literal| *literal != Literal::Null));
        let least = Self::compare(column, Op::GtEq, least?);
        Some(least.and(Self::compare(column, Op::LtEq, greatest?)))
    }

    fn compare(column: &str, op: Op, value: Literal) -> Self {
        let column = Operand::Column(Path::top_level(column));
        Self {
            root: Expr::Compare(column, op, Operand::Literal(value)),
        }
    }

    /// Joins at least one condition by `AND`.
    pub(crate) fn all(parts: Vec<Self>) -> Self {
        Self {
            root: Expr::all(parts.into_iter().map(|part| part.root).collect()),
        }
    }

    /// Joins at least one condition by `OR`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.too_long`.
    pub(crate) fn any(parts: Vec<Self>) -> Result<Self> {
        Self {
            root: Expr::any(parts.into_iter().map(|part| part.root).collect()),
        }
        .checked()
    }

    /// Joins two conditions by `AND`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all(vec![self, other])
    }
}

pub(in crate::expr) fn too_long() -> Error {
    Error::invalid(
        "filter.too_long",
        format!(
            "the filter is longer than {} MiB as text: filter by fewer values at once",
            MAX_TEXT >> 20
        ),
    )
}
