//! Predicates over columns: parsed, bound to a schema, evaluated on rows and on bounds of rows.
//!
//! A [`Predicate`] comes from SQL text or from tuples and knows no types. [`Predicate::bind`] finds
//! its columns in a schema and makes the types agree, as Spark does. A [`BoundPredicate`] then says of
//! each row whether it is true, false or unknown, and of each file, row group or page whether any of
//! its rows can be true. Nothing here knows where rows or bounds come from.
//!
//! Texts may come from anywhere: length and nesting are bounded, so that predicates may be walked,
//! printed and dropped by plain recursion.

mod bind;
mod bound_column;
mod bound_formula;
mod bounds;
mod equalities;
mod evaluate;
pub(crate) mod floats;
mod formula;
mod functions;
mod in_list;
mod like;
mod literal;
mod node;
mod normal;
mod op;
mod parse;
mod possible;
mod predicate;
mod print;
mod quoted;
mod spark;
mod text;
mod tuples;

pub(crate) use bind::closest_columns;
pub(crate) use equalities::{Equality, Side, equalities};
pub(crate) use evaluate::nested;
pub(crate) use functions::{TOO_LARGE, cast_value, common_type};

pub use bound_column::BoundColumn;
pub use bound_formula::BoundFormula;
pub use bounds::{Bounds, ColumnBounds};
pub use formula::Formula;
pub use literal::{Decimal, Literal};
pub use node::BoundPredicate;
pub use predicate::Predicate;
pub use quoted::double_quoted;
pub use spark::{Naming, SparkExpression, for_spark};

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]
mod tests;
