//! Formulas: SQL expressions that have a value for each row.
//!
//! For what predicates cannot say: values of generated columns, defaults, assignments of an update,
//! constraints with arithmetic in them. Types follow from the columns as in Spark's ANSI mode: overflow,
//! division by zero and texts that are no number are errors. What is not known is refused by name when a
//! formula is bound, before a row is seen.

mod cast;
mod chars;
mod equalities;
mod evaluate;
mod functions;
mod operators;
mod order;
mod shown;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Fields, Schema};
use sqlparser::ast::Expr;
use sqlparser::dialect::SparkSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::error::{Error, Result};
use crate::expr::quoted::canonical;

pub(crate) use cast::cast_value;
pub(crate) use equalities::{Equality, Side, equalities};
pub(crate) use evaluate::spread;
pub(crate) use operators::common as common_type;

/// Bytes of the longest formula, and how deep it may nest.
const MAX_TEXT: usize = 64 << 10;
const MAX_DEPTH: usize = 50;
/// Operators of a formula: in `a + b + c` each is one level deeper than the next, without any parentheses.
const MAX_OPERATORS: usize = 500;

/// An expression as it was written, its columns not yet found.
#[derive(Clone)]
pub struct Formula {
    text: String,
    root: Expr,
}

/// Formulas of the same text are the same.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Formula {}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Formula({})", self.text)
    }
}

impl Formula {
    /// Parses an expression of Spark's SQL.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.syntax`, `formula.too_long`.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_TEXT {
            let message = format!("a formula may have {MAX_TEXT} bytes");
            return Err(Error::invalid("formula.too_long", message));
        }
        let written = canonical(text);
        let wrong = |cause: String| {
            let message = format!("this is no expression of SQL: {text}");
            Error::invalid("formula.syntax", message).because(cause)
        };
        let tokens = Tokenizer::new(&SparkSqlDialect, &written)
            .tokenize_with_location()
            .map_err(|cause| wrong(cause.to_string()))?;
        let tokens = with_casts(tokens);
        if tokens.iter().filter(|one| deepens(&one.token)).count() > MAX_OPERATORS {
            let message = format!(
                "a formula may have {MAX_OPERATORS} operators: write it as several conditions"
            );
            return Err(Error::invalid("formula.too_long", message));
        }
        let mut parser = Parser::new(&SparkSqlDialect)
            .with_recursion_limit(MAX_DEPTH)
            .with_tokens_with_locations(tokens);
        let root = parser
            .parse_expr()
            .map_err(|cause| wrong(cause.to_string()))?;
        match parser.peek_token().token {
            Token::EOF => Ok(Self {
                text: text.to_owned(),
                root,
            }),
            other => Err(wrong(format!("{other} stands behind the expression"))),
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether this one has no value.
    pub(crate) fn is_null(&self) -> Self {
        Self {
            text: format!("({}) IS NULL", self.text),
            root: Expr::IsNull(Box::new(Expr::Nested(Box::new(self.root.clone())))),
        }
    }

    /// Finds the columns, and the type of the values.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.column`, `formula.type`, `formula.unsupported` with the name of what is
    /// not known.
    pub fn bind(&self, fields: &Fields) -> Result<BoundFormula> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.map_or(0, |since| since.as_micros());
        let mut bound = BoundFormula {
            formula: self.clone(),
            now: i64::try_from(micros).unwrap_or(i64::MAX),
            data_type: DataType::Null,
        };
        // one row of nothing shows the types, and what is not known
        let fields = fields
            .iter()
            .map(|field| Field::clone(field).with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Fields>()));
        let nulls = schema.fields().iter();
        let nulls = nulls
            .map(|field| new_null_array(field.data_type(), 1))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(schema, nulls, &options).map_err(failed)?;
        bound.data_type = bound.evaluate(&row)?.data_type().clone();
        Ok(bound)
    }

    /// As [`Formula::bind`], for a formula whose values are answers.
    ///
    /// # Errors
    ///
    /// As [`Formula::bind`]; `formula.type` where they are none.
    pub fn bind_condition(&self, fields: &Fields) -> Result<BoundFormula> {
        let bound = self.bind(fields)?;
        match bound.data_type {
            DataType::Boolean | DataType::Null => Ok(bound),
            _ => Err(mistyped(&format!("{} is no condition", self.text))),
        }
    }
}

/// A formula whose columns are known.
#[derive(Clone, Debug)]
pub struct BoundFormula {
    formula: Formula,
    /// What `current_timestamp()` gives, the same for all rows: microseconds since the epoch.
    now: i64,
    data_type: DataType,
}

impl BoundFormula {
    /// The text.
    pub fn text(&self) -> &str {
        &self.formula.text
    }

    /// The type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// One value for each row.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.value` for a value that cannot be computed.
    pub fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        evaluate::Rows::new(rows, self.now).value(&self.formula.root)
    }

    /// The value of a formula without columns.
    ///
    /// # Errors
    ///
    /// As [`BoundFormula::evaluate`].
    pub(crate) fn one_value(&self) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let schema = Arc::new(Schema::empty());
        let row = RecordBatch::try_new_with_options(schema, Vec::new(), &options);
        self.evaluate(&row.map_err(failed)?)
    }

    /// The values as answers.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.type` where they are none; `formula.value`.
    pub fn answers(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let values = self.evaluate(rows)?;
        let values = cast_value(&values, &DataType::Boolean)?;
        values
            .as_boolean_opt()
            .cloned()
            .ok_or_else(|| mistyped(&format!("{} is no condition", self.text())))
    }
}

/// Numbers that name their type, such as `1.5D` and `10L`, as casts.
fn with_casts(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut found: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let named = match (&token.token, found.last()) {
            (Token::Word(word), Some(number)) if number.span.end == token.span.start => {
                let suffixes = ["D", "F", "S", "Y", "BD"].into_iter();
                let mut suffix = suffixes.filter(|one| word.value.eq_ignore_ascii_case(one));
                let plain = |digits: &str| !digits.contains(['e', 'E']);
                suffix.next().filter(|one| match &number.token {
                    Token::Number(digits, false) => *one != "BD" || plain(digits),
                    _ => false,
                })
            }
            _ => None,
        };
        let Some((suffix, number)) = named.zip(found.last().cloned()) else {
            found.push(token);
            continue;
        };
        let Token::Number(digits, _) = &number.token else {
            continue;
        };
        let word = |text: &str| Token::make_word(text, None);
        let mut tokens = vec![
            word("CAST"),
            Token::LParen,
            number.token.clone(),
            word("AS"),
        ];
        tokens.extend(match suffix {
            "D" => vec![word("DOUBLE")],
            "F" => vec![word("FLOAT")],
            "S" => vec![word("SMALLINT")],
            "Y" => vec![word("TINYINT")],
            _ => exact(digits),
        });
        tokens.push(Token::RParen);
        found.pop();
        let span = token.span.union(&number.span);
        let spread = tokens
            .into_iter()
            .map(|token| TokenWithSpan { token, span });
        found.extend(spread);
    }
    found
}

/// `DECIMAL(p, s)` with room for these digits.
fn exact(digits: &str) -> Vec<Token> {
    let scale = digits
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let precision = digits.bytes().filter(u8::is_ascii_digit).count();
    let number = |value: usize| Token::Number(value.to_string(), false);
    vec![
        Token::make_word("DECIMAL", None),
        Token::LParen,
        number(precision.max(1)),
        Token::Comma,
        number(scale),
        Token::RParen,
    ]
}

/// Whether what stands before a token may become a part of something larger.
fn deepens(token: &Token) -> bool {
    match token {
        Token::Word(word) => !matches!(
            word.keyword,
            Keyword::NoKeyword
                | Keyword::WHEN
                | Keyword::THEN
                | Keyword::NULL
                | Keyword::TRUE
                | Keyword::FALSE
        ),
        Token::Whitespace(_) | Token::Comma | Token::LParen | Token::RParen => false,
        Token::Number(..) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => false,
        _ => true,
    }
}

fn mistyped(what: &str) -> Error {
    Error::invalid("formula.type", what)
}

fn unsupported(what: &str) -> Error {
    let message = format!("this release cannot evaluate {what}");
    Error::invalid("formula.unsupported", message)
}

fn failed(cause: arrow_schema::ArrowError) -> Error {
    Error::invalid("formula.value", "a value cannot be computed").because(cause)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
