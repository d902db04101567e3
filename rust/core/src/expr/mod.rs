//! Predicates over columns: parsed, bound to a schema, evaluated on rows and on bounds.
//!
//! A [`Predicate`] is parsed from SQL text or from tuples, and is untyped. [`Predicate::bind`] resolves its
//! columns in a schema and coerces types, as Spark does. A [`BoundPredicate`] then returns for each row
//! whether it is true, false or unknown, and for each file, row group or page whether any of its rows can
//! be true. This module does not know where rows or bounds come from.
//!
//! Predicate texts are not trusted: length and nesting are bounded, so that predicates can be walked,
//! printed and dropped by plain recursion.

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
