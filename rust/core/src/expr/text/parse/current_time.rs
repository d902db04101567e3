//! Finds the functions of the current time in a filter, and replaces them by literals.

use std::fmt::Write;
use std::ops::Range;

use sqlparser::tokenizer::Token;

use super::tokens::{Tokens, is_word};
use crate::error::Result;
use crate::expr::node::predicate::Predicate;
use crate::expr::text::string_literals::canonical;
use crate::expr::value::literal::Literal;
use crate::spec::interval::MICROS_PER_DAY;

impl Predicate {
    /// Parses as [`Predicate::parse_sql`]; `now()` and `current_timestamp` are `timestamp`, in microseconds
    /// since the epoch, and `current_date` and `curdate()` are its date in UTC.
    pub fn parse_sql_at(text: &str, timestamp: i64) -> Result<Self> {
        let sql = canonical(text);
        let tokens = Tokens::new(&sql).map_err(|error| error.into_filter_error(&sql))?;
        Self::parse_sql(&freeze_current_time(&tokens, timestamp))
    }
}

/// Replaces the functions of the current time in a text by literals.
fn freeze_current_time(tokens: &Tokens<'_>, timestamp: i64) -> String {
    let (mut written, mut from, mut index) = (String::new(), 0, 0);
    while *tokens.get(index) != Token::EOF {
        let Some((literal, end)) = current_time_literal(tokens, index, timestamp) else {
            index += 1;
            continue;
        };
        written.push_str(tokens.text_of(from..index).unwrap_or_default());
        // writing to a string does not fail
        let _ = write!(written, " {literal} ");
        (from, index) = (end, end);
    }
    written.push_str(tokens.text_of(from..index).unwrap_or_default());
    written
}

/// Returns the first function of the current time in a range of tokens, in upper case.
pub(super) fn current_time_function(
    tokens: &Tokens<'_>,
    mut range: Range<usize>,
) -> Option<String> {
    let index = range.find(|index| current_time_literal(tokens, *index, 0).is_some())?;
    Some(tokens.get(index).to_string().to_uppercase())
}

/// Returns the literal for a function of the current time whose call begins at this token, and the index of
/// the token after the call.
fn current_time_literal(
    tokens: &Tokens<'_>,
    index: usize,
    timestamp: i64,
) -> Option<(Literal, usize)> {
    let is = |word: &str| is_word(tokens.get(index), word);
    let is_part = *tokens.get(index.wrapping_sub(1)) == Token::Period
        || *tokens.get(index + 1) == Token::Period;
    let is_call =
        *tokens.get(index + 1) == Token::LParen && *tokens.get(index + 2) == Token::RParen;
    let is_day = is("CURRENT_DATE") || (is("CURDATE") && is_call);
    let is_timestamp = is("CURRENT_TIMESTAMP") || (is("NOW") && is_call);
    if is_part || !(is_day || is_timestamp) {
        return None;
    }
    let literal = if is_day {
        Literal::Date(i32::try_from(timestamp.div_euclid(MICROS_PER_DAY)).ok()?)
    } else {
        Literal::Timestamp(timestamp)
    };
    Some((literal, index + 1 + 2 * usize::from(is_call)))
}
