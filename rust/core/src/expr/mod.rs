//! Predicates and formulas over columns: parsed, bound to a schema, and evaluated on rows; predicates on
//! bounds as well.
//!
//! A [`Predicate`] is parsed from SQL text or from tuples, and is untyped. [`Predicate::bind`] resolves its
//! columns in a schema and coerces types, as Spark does. A [`BoundPredicate`] then returns for each row
//! whether it is true, false or unknown, and for each file, row group or page whether any of its rows can
//! be true. A [`Formula`] is any other SQL expression; a [`BoundFormula`] returns its value for each row.
//! This module does not know where rows or bounds come from.
//!
//! Texts are not trusted: length and nesting are bounded. Parsing, binding and evaluation recurse, and
//! continue in new memory where little of the stack is left (`#[recursive]`).

mod bind;
mod equalities;
mod evaluate;
mod node;
mod skip;
mod spark;
mod text;
pub(crate) mod value;

pub(crate) use bind::closest_columns;
pub(crate) use equalities::{Equality, Side, equalities};
pub(crate) use evaluate::functions::{TOO_LARGE, cast_value, common_type};
pub(crate) use evaluate::nested_column;

pub use node::BoundPredicate;
pub use node::bound_column::BoundColumn;
pub use node::bound_formula::BoundFormula;
pub use node::formula::Formula;
pub use node::predicate::Predicate;
pub use skip::bounds::{Bounds, ColumnBounds};
pub use spark::{Naming, SparkExpression, for_spark};
pub use text::string_literals::double_quoted;
pub use value::literal::{Decimal, Literal};

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
