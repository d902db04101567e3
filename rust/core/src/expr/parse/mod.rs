//! SQL text in, predicate out.
//!
//! The text is cut into tokens by `sqlparser`; the grammar is Spark's for conditions, with its
//! precedences, and short enough to be had here: chains of `AND` and `OR` become flat lists, nesting
//! is counted, and every error knows its place.

mod grammar;
mod literals;
mod tokens;

use crate::error::Result;
use crate::expr::predicate::{Expr, Path};
use crate::expr::quoted::canonical;
use grammar::Parser;

/// Parses a whole condition.
pub(super) fn parse(text: &str) -> Result<Expr> {
    Parser::new(&canonical(text))?.whole(Parser::condition)
}

/// Parses a column: names with dots between them.
pub(super) fn path(text: &str) -> Result<Path> {
    Parser::new(text)?.whole(Parser::path)
}
