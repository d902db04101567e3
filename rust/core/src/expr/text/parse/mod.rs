//! Parses SQL text: the conditions of filters and constraints, and all other expressions as formulas.
//!
//! `sqlparser` tokenizes the text and parses expressions. `AND`, `OR`, `NOT` and the parentheses around
//! conditions are parsed by `conditions`, to a bounded depth and into flat lists, so that filters may be
//! long; the parts between them are expressions. `simple` recognizes expressions that bounds can decide,
//! such as a comparison of a column with a value.

mod conditions;
mod current_time;
mod simple;
mod tokens;

use std::collections::BTreeSet;

use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::expr::node::formula::Formula;
use crate::expr::node::predicate::{Expr, Path, Predicate};
use crate::expr::text::string_literals::canonical;
use conditions::ConditionParser;
use tokens::Tokens;

impl Predicate {
    /// Parses a condition as in a `WHERE` clause.
    ///
    /// Names may be quoted by backticks, and dots lead into structs; strings are written as in Spark.
    /// Comparisons (`=`, `==`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, `<=>`, `IS [NOT] DISTINCT FROM`), `AND`,
    /// `OR`, `NOT`, `IS [NOT] NULL`, `IS [NOT] TRUE`, `IS [NOT] FALSE`, `IN`, `BETWEEN`, `LIKE` with
    /// `ESCAPE`, `isnull`, `isnotnull`, `isnan` and `startswith` of columns and literals skip files by their
    /// bounds; literals may be typed (`DATE '2026-01-31'`, `X'00ff'`, `1.5D`) or be cast. Arithmetic,
    /// functions and casts of columns are formulas: they are evaluated for each row, and skip only files
    /// whose rows all have the same values.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.syntax` with the position marked, `filter.unsupported` with the name of the
    /// unsupported construct, `filter.literal` for an invalid value, `filter.too_long`, `filter.too_deep`;
    /// `formula.too_long` for a formula.
    pub fn parse_sql(text: &str) -> Result<Self> {
        condition(text, CurrentTime::Refused).map(|root| Self { root })
    }

    /// Parses a CHECK constraint or an invariant as [`Predicate::parse_sql`] does; functions of the current
    /// time are allowed.
    pub(crate) fn parse_constraint(text: &str) -> Result<Self> {
        condition(text, CurrentTime::Allowed).map(|root| Self { root })
    }
}

impl Formula {
    /// Parses an expression of Spark's SQL.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.syntax`, `formula.too_long`.
    pub fn parse(text: &str) -> Result<Self> {
        Self::check_length(text)?;
        let sql = canonical(text);
        let tokens = Tokens::new(&sql);
        let root = tokens.and_then(|tokens| tokens.expression(0..usize::MAX));
        let root = root.map_err(|error| error.into_expression_error(&sql))?;
        Ok(Self::new(text, root))
    }

    /// Returns the words of the text in lower case, including the names of its columns.
    pub(crate) fn words(&self) -> BTreeSet<String> {
        let sql = canonical(self.text());
        let tokens = Tokens::new(&sql).into_iter();
        tokens.flat_map(|tokens| tokens.words()).collect()
    }
}

/// The rule for references to the current time in a condition.
#[derive(Clone, Copy, PartialEq)]
enum CurrentTime {
    Allowed,
    /// A filter is serialized as text, and may be parsed again at another time.
    Refused,
}

fn condition(text: &str, current_time: CurrentTime) -> Result<Expr> {
    ConditionParser::new(&canonical(text), current_time)?.parse()
}

/// Parses a column: names separated by dots.
pub(super) fn path(text: &str) -> Result<Path> {
    let mut tokens = Tokens::new(text).map_err(|error| error.into_filter_error(text))?;
    let mut names = Vec::new();
    let unexpected = |tokens: &Tokens<'_>, expected| {
        let error = tokens.unexpected(expected);
        Err(error.into_filter_error(text))
    };
    loop {
        match tokens.peek() {
            Token::Word(word) => names.push(word.value.clone()),
            _ => return unexpected(&tokens, "the name of a column"),
        }
        tokens.advance();
        match tokens.peek() {
            Token::Period => tokens.advance(),
            Token::EOF => return Ok(Path(names)),
            _ => return unexpected(&tokens, "a dot or the end"),
        }
    }
}
