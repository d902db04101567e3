//! A predicate as it was written: names and values without types.

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::error::{Error, Result};
use crate::expr::node::formula::Formula;
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::Literal;

/// Bytes that a predicate's text may have.
pub(in crate::expr) const MAX_TEXT: usize = 4 << 20;
/// Levels of parentheses and `NOT` inside each other.
pub(in crate::expr) const MAX_DEPTH: usize = 100;

/// Formulas that a predicate's text may have: the text of each is looked for in the whole.
pub(in crate::expr) const MAX_FORMULAS: usize = 200;

/// A condition on rows, not yet bound to a schema.
///
/// It prints as SQL text that parses to an equal predicate: that text is also how it travels between
/// processes.
#[derive(Clone, PartialEq, Eq)]
pub struct Predicate {
    pub(in crate::expr) root: Expr,
}

/// A condition. Nests at most a little deeper than [`MAX_DEPTH`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Expr {
    /// A boolean column, or a literal.
    Value(Operand),
    Compare(Operand, Op, Operand),
    /// All of two or more; none of them is an `And` itself.
    And(Vec<Expr>),
    /// One of two or more; none of them is an `Or` itself.
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
    /// A condition that is computed for each row: arithmetic, functions.
    Computed(Arc<Formula>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::expr) enum Operand {
    Column(Path),
    Literal(Literal),
}

/// A column by the names that lead to it, outermost first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Path(pub(in crate::expr) Vec<String>);

impl Expr {
    /// All of these; conjunctions among them are opened.
    pub(in crate::expr) fn all(parts: Vec<Self>) -> Self {
        Self::join(parts, Self::And, |part| match part {
            Self::And(inner) => Ok(inner),
            other => Err(other),
        })
    }

    /// One of these; disjunctions among them are opened.
    pub(in crate::expr) fn any(parts: Vec<Self>) -> Self {
        Self::join(parts, Self::Or, |part| match part {
            Self::Or(inner) => Ok(inner),
            other => Err(other),
        })
    }

    fn join(
        parts: Vec<Self>,
        make: fn(Vec<Self>) -> Self,
        open: fn(Self) -> Result<Vec<Self>, Self>,
    ) -> Self {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match open(part) {
                Ok(inner) => flat.extend(inner),
                Err(part) => flat.push(part),
            }
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(flat) => make(flat),
        }
    }

    pub(in crate::expr) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl Predicate {
    /// Returns a predicate that holds where this one is false or unknown.
    #[must_use]
    pub fn not_true(self) -> Self {
        Self {
            root: Expr::Is(Box::new(self.root), true).negated(),
        }
    }

    /// The rows whose column has this value, the only one of the array, or is null as it is; `None` for
    /// types without literals.
    pub(crate) fn equal(column: &str, value: &ArrayRef) -> Option<Self> {
        Some(match Literal::of(value)? {
            Literal::Null => Self {
                root: Expr::IsNull(Box::new(Expr::Value(of_column(column)))),
            },
            value => compared(column, Op::Eq, value),
        })
    }

    /// The rows whose column is between two values, both included; `None` for types without literals,
    /// and for nulls.
    pub(crate) fn between(column: &str, bounds: &[ArrayRef; 2]) -> Option<Self> {
        let [least, greatest] = bounds.each_ref().map(|bound| {
            let literal = Literal::of(bound)?;
            (literal != Literal::Null).then_some(literal)
        });
        let least = compared(column, Op::GtEq, least?);
        Some(least.and(compared(column, Op::LtEq, greatest?)))
    }

    /// All of these conditions, of which there is at least one.
    pub(crate) fn all(parts: Vec<Self>) -> Self {
        Self {
            root: Expr::all(parts.into_iter().map(|part| part.root).collect()),
        }
    }

    /// One of these conditions, of which there is at least one.
    ///
    /// # Errors
    ///
    /// Invalid: `filter.too_long`.
    pub(crate) fn any(parts: Vec<Self>) -> Result<Self> {
        Self {
            root: Expr::any(parts.into_iter().map(|part| part.root).collect()),
        }
        .checked()
    }

    /// Both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            root: Expr::all(vec![self.root, other.root]),
        }
    }
}

fn of_column(name: &str) -> Operand {
    Operand::Column(Path(vec![name.to_owned()]))
}

fn compared(column: &str, op: Op, value: Literal) -> Predicate {
    Predicate {
        root: Expr::Compare(of_column(column), op, Operand::Literal(value)),
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
