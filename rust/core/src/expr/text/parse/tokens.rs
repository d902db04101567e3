//! Tokenizes a text, parses ranges of its tokens as expressions, and marks the positions of errors in it.

use std::any::TypeId;
use std::ops::Range;

use sqlparser::ast::{Expr, ObjectName};
use sqlparser::dialect::{Dialect, Precedence, SparkSqlDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::error::{Error, Result, is_invisible};
use crate::expr::node::predicate;
use crate::expr::value::literal::Decimal;
use crate::spec::json::clipped;

/// The maximum nesting of an expression.
const MAX_DEPTH: usize = 50;
/// The maximum number of consecutive operators: in `a + b + c`, each is one level deeper than the next,
/// without any parentheses.
const MAX_OPERATORS: usize = 500;

/// Spark's SQL dialect, with names in any script, and lists that may be empty.
#[derive(Debug)]
struct Sql;

impl Dialect for Sql {
    fn dialect(&self) -> TypeId {
        TypeId::of::<SparkSqlDialect>()
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        character == '`'
    }

    fn is_identifier_start(&self, character: char) -> bool {
        character.is_alphabetic() || character == '_'
    }

    fn is_identifier_part(&self, character: char) -> bool {
        character.is_alphanumeric() || character == '_'
    }

    fn supports_in_empty_list(&self) -> bool {
        true
    }

    fn is_reserved_for_identifier(&self, word: Keyword) -> bool {
        matches!(word, Keyword::EXISTS | Keyword::INTERVAL)
    }

    fn supports_bang_not_operator(&self) -> bool {
        SparkSqlDialect.supports_bang_not_operator()
    }

    fn supports_nested_comments(&self) -> bool {
        SparkSqlDialect.supports_nested_comments()
    }

    fn supports_long_type_as_bigint(&self) -> bool {
        SparkSqlDialect.supports_long_type_as_bigint()
    }

    fn supports_lambda_functions(&self) -> bool {
        SparkSqlDialect.supports_lambda_functions()
    }

    fn supports_map_literal_with_angle_brackets(&self) -> bool {
        SparkSqlDialect.supports_map_literal_with_angle_brackets()
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        SparkSqlDialect.supports_filter_during_aggregation()
    }

    fn require_interval_qualifier(&self) -> bool {
        false // `INTERVAL '1 day'`
    }

    /// `||` has the precedence of `+`.
    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        let is_concat = parser.peek_token_ref().token == Token::StringConcat;
        is_concat.then(|| Ok(self.prec_value(Precedence::PlusMinus)))
    }

    /// `exists(array, x -> ...)` is a function, `EXISTS (SELECT ...)` is not.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let name = match &parser.peek_token_ref().token {
            Token::Word(word) if word.keyword == Keyword::EXISTS => word.clone(),
            _ => return None,
        };
        let is_query = match &parser.peek_nth_token_ref(2).token {
            Token::Word(word) => matches!(word.keyword, Keyword::SELECT | Keyword::WITH),
            _ => false,
        };
        if parser.peek_nth_token_ref(1).token != Token::LParen || is_query {
            return None;
        }
        let span = parser.next_token().span;
        Some(parser.parse_function(ObjectName::from(vec![name.into_ident(span)])))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        SparkSqlDialect.parse_infix(parser, expr, precedence)
    }
}

/// An error in a text, with its location.
pub(super) enum ParseError {
    Syntax(Location, String),
    Literal(Location, String),
    Unsupported(Location, String),
    TooDeep(String),
    Other(Error),
}

impl ParseError {
    pub(super) fn into_filter_error(self, text: &str) -> Error {
        let (code, start, message) = match self {
            Self::Other(error) => return error,
            Self::TooDeep(limit) => {
                let message = format!("the filter has more than {limit}: nest it less deeply");
                return Error::invalid("filter.too_deep", message);
            }
            Self::Syntax(start, message) => {
                let message = format!("the filter does not parse: {message}");
                ("filter.syntax", start, message)
            }
            Self::Literal(start, message) => ("filter.literal", start, message),
            Self::Unsupported(start, construct) => {
                let message = format!("filters do not support {construct} here");
                ("filter.unsupported", start, message)
            }
        };
        Error::invalid(code, message + &with_caret(text, start))
    }

    pub(super) fn into_expression_error(self, text: &str) -> Error {
        let message = match self {
            Self::Other(error) => return error,
            Self::TooDeep(limit) => {
                format!("the expression has more than {limit}: nest it less deeply")
            }
            Self::Syntax(start, message)
            | Self::Literal(start, message)
            | Self::Unsupported(start, message) => format!(
                "this is not an SQL expression: {message}{}",
                with_caret(text, start)
            ),
        };
        Error::invalid("formula.syntax", message)
    }
}

/// The tokens of one text, without whitespace and comments.
pub(super) struct Tokens<'a> {
    text: &'a str,
    tokens: Vec<TokenWithSpan>,
    next: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, ParseError> {
        if text.len() > predicate::MAX_TEXT {
            return Err(ParseError::Other(predicate::too_long()));
        }
        let mut tokens = Vec::new();
        let result = Tokenizer::new(&Sql, text).tokenize_with_location_into_buf_with_mapper(
            &mut tokens,
            |token| match token.token {
                // the content of comments is dropped
                Token::Whitespace(_) => TokenWithSpan {
                    token: Token::Whitespace(Whitespace::Space),
                    ..token
                },
                _ => token,
            },
        );
        if let Err(cause) = result {
            let message = cause.message.trim_end_matches(" at ").to_owned();
            return Err(ParseError::Syntax(cause.location, message));
        }
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        Ok(Self {
            text,
            tokens: rewrite_literals(tokens),
            next: 0,
        })
    }

    /// Returns the next token, `EOF` after the last one.
    pub(super) fn peek(&self) -> &Token {
        self.get(self.next)
    }

    pub(super) fn get(&self, index: usize) -> &Token {
        const END: &Token = &Token::EOF;
        self.tokens.get(index).map_or(END, |token| &token.token)
    }

    pub(super) fn next_index(&self) -> usize {
        self.next
    }

    /// Advances to the token after the next one.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    pub(super) fn go_to(&mut self, index: usize) {
        self.next = index;
    }

    /// Consumes the next token if it is this word, case-insensitive and not quoted.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let matches = is_word(self.peek(), word);
        self.next += usize::from(matches);
        matches
    }

    pub(super) fn location_of(&self, index: usize) -> Location {
        match self.tokens.get(index) {
            Some(token) => token.span.start,
            None => end_location(self.text),
        }
    }

    pub(super) fn text_of(&self, range: Range<usize>) -> Option<&'a str> {
        let tokens = self.tokens.get(range)?;
        let (first, last) = (tokens.first()?.span.start, tokens.last()?.span.end);
        self.text
            .get(byte_offset(self.text, first)..byte_offset(self.text, last))
    }

    /// Returns the first of `words` that occurs in a range of tokens, other than as a part of a dotted name.
    pub(super) fn find_word(
        &self,
        range: Range<usize>,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let is_separate = |index: usize, word: &str| {
            is_word(self.get(index), word)
                && *self.get(index.wrapping_sub(1)) != Token::Period
                && *self.get(index + 1) != Token::Period
        };
        let mut words = words.iter().copied();
        words.find(|word| range.clone().any(|index| is_separate(index, word)))
    }

    /// Returns all words in lower case.
    pub(super) fn words(self) -> impl Iterator<Item = String> {
        self.tokens
            .into_iter()
            .filter_map(|token| match token.token {
                Token::Word(word) => Some(word.value.to_lowercase()),
                _ => None,
            })
    }

    /// Parses a range of tokens as one expression.
    pub(super) fn expression(&self, range: Range<usize>) -> Result<Expr, ParseError> {
        let end = range.end.min(self.tokens.len());
        let tokens = self.tokens.get(range.start..end).unwrap_or_default();
        let too_deep =
            || ParseError::TooDeep(format!("{MAX_DEPTH} nested levels in an expression"));
        if max_open_parentheses(tokens) > MAX_DEPTH {
            return Err(too_deep());
        }
        if max_operator_depth(tokens) > MAX_OPERATORS {
            let message = format!(
                "an expression may have at most {MAX_OPERATORS} operators: write it as several conditions"
            );
            return Err(ParseError::Other(Error::invalid(
                "formula.too_long",
                message,
            )));
        }
        let mut parser = Parser::new(&Sql)
            .with_recursion_limit(MAX_DEPTH)
            .with_tokens_with_locations(tokens.to_vec());
        let root = parser.parse_expr().map_err(|cause| match cause {
            ParserError::RecursionLimitExceeded => too_deep(),
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
                self.syntax_error(&message, end)
            }
        })?;
        let next = parser.peek_token();
        match next.token {
            Token::EOF => Ok(root),
            token => Err(ParseError::Syntax(
                next.span.start,
                format!("expected AND, OR or the end, found {}", display(&token)),
            )),
        }
    }

    /// Returns the error for tokens that `sqlparser` does not parse.
    fn syntax_error(&self, message: &str, end: usize) -> ParseError {
        let (message, reported) = match message.rsplit_once(" at Line: ") {
            Some((message, text)) => (message, parse_location(text)),
            None => (message, None),
        };
        let message = match message.strip_prefix("Expected: ") {
            Some(expected) => {
                let (expected, actual) =
                    expected.rsplit_once(", found: ").unwrap_or((expected, ""));
                let expected = match expected {
                    "an expression" => "a column or a value",
                    after_is if after_is.ends_with("after IS") => {
                        "NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"
                    }
                    other => other,
                };
                let actual = match actual {
                    "EOF" => display(self.get(end)),
                    actual => clipped(actual),
                };
                format!("expected {expected}, found {actual}")
            }
            None => message.chars().take(200).collect(),
        };
        ParseError::Syntax(reported.unwrap_or_else(|| self.location_of(end)), message)
    }

    pub(super) fn unexpected(&self, expected: &str) -> ParseError {
        let actual = display(self.peek());
        let message = format!("expected {expected}, found {actual}");
        ParseError::Syntax(self.location_of(self.next), message)
    }
}

fn display(token: &Token) -> String {
    match token {
        Token::EOF => "the end".to_owned(),
        other => clipped(&other.to_string()),
    }
}

/// Parses the location in an error of `sqlparser`, such as `1, Column: 2`.
fn parse_location(text: &str) -> Option<Location> {
    let (line, column) = text.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.parse().ok()?))
}

/// Returns `true` if a token is this word, case-insensitive and not quoted.
pub(super) fn is_word(token: &Token, word: &str) -> bool {
    match token {
        Token::Word(keyword) => {
            keyword.quote_style.is_none() && keyword.value.eq_ignore_ascii_case(word)
        }
        _ => false,
    }
}

/// Rewrites literals that `sqlparser` does not know: numbers with a type suffix, such as `1.5D` and `10BD`,
/// to casts, and `TIMESTAMP_LTZ '…'` to `TIMESTAMP '…'`.
fn rewrite_literals(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut rewritten: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if matches!(token.token, Token::SingleQuotedString(_))
            && let Some(before) = rewritten.last_mut()
            && is_word(&before.token, "TIMESTAMP_LTZ")
        {
            before.token = Token::make_word("TIMESTAMP", None);
        }
        match rewritten.last().and_then(|before| cast(before, &token)) {
            Some(cast) => {
                rewritten.pop(); // the number
                rewritten.extend(cast);
            }
            None => rewritten.push(token),
        }
    }
    rewritten
}

/// Returns a number with a type suffix as a cast; `None` if the tokens are something else.
fn cast(number: &TokenWithSpan, suffix: &TokenWithSpan) -> Option<Vec<TokenWithSpan>> {
    let (Token::Number(digits, false), Token::Word(word)) = (&number.token, &suffix.token) else {
        return None;
    };
    if number.span.end != suffix.span.start {
        return None;
    }
    let type_tokens = suffix_type(digits, &word.value)?;
    let span = number.span.union(&suffix.span);
    let word = |text: &str| Token::make_word(text, None);
    let mut cast = vec![
        word("CAST"),
        Token::LParen,
        number.token.clone(),
        word("AS"),
    ];
    cast.extend(type_tokens);
    cast.push(Token::RParen);
    let cast = cast.into_iter();
    Some(cast.map(|token| TokenWithSpan { token, span }).collect())
}

/// Returns the tokens of the type that a suffix gives to a number.
fn suffix_type(digits: &str, suffix: &str) -> Option<Vec<Token>> {
    let name = match suffix.to_ascii_uppercase().as_str() {
        "D" => "DOUBLE",
        "F" => "FLOAT",
        "S" => "SMALLINT",
        "Y" => "TINYINT",
        "BD" => {
            let decimal = Decimal::parse(digits)?;
            let number = |value: u8| Token::Number(value.to_string(), false);
            return Some(vec![
                Token::make_word("DECIMAL", None),
                Token::LParen,
                number(decimal.precision()),
                Token::Comma,
                number(decimal.scale()),
                Token::RParen,
            ]);
        }
        _ => return None,
    };
    Some(vec![Token::make_word(name, None)])
}

/// Returns the maximum number of parentheses open at once.
fn max_open_parentheses(tokens: &[TokenWithSpan]) -> usize {
    let (mut open, mut max_depth) = (0_usize, 0);
    for token in tokens {
        match token.token {
            Token::LParen => open += 1,
            Token::RParen => open = open.saturating_sub(1),
            _ => {}
        }
        max_depth = max_depth.max(open);
    }
    max_depth
}

/// The depth of operators within one pair of parentheses, up to a token.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The number of operators since the last comma, without those in nested parentheses.
    operators: usize,
    /// The maximum depth of nested parentheses since the last comma.
    nested: usize,
    /// The maximum depth of the parts before that comma.
    before_comma: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.before_comma.max(self.operators + self.nested)
    }
}

/// Returns the maximum depth of operators in the tree that the tokens will form.
fn max_operator_depth(tokens: &[TokenWithSpan]) -> usize {
    let mut above: Vec<Level> = Vec::new();
    let mut level = Level::default();
    for token in tokens {
        match &token.token {
            Token::LParen => above.push(std::mem::take(&mut level)),
            Token::RParen => {
                let depth = level.depth();
                level = above.pop().unwrap_or_default();
                level.nested = level.nested.max(depth);
            }
            Token::Comma => {
                level = Level {
                    before_comma: level.depth(),
                    ..Level::default()
                };
            }
            other => level.operators += usize::from(is_operator(other)),
        }
    }
    // parentheses that are not closed
    let open = above.into_iter().rev();
    open.fold(level.depth(), |nested, level| level.depth() + nested)
}

/// Returns `true` if a token may be an operator, which makes the expression before it an operand.
fn is_operator(token: &Token) -> bool {
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
        Token::Number(..) | Token::SingleQuotedString(_) | Token::HexStringLiteral(_) => false,
        _ => true,
    }
}

/// Converts a line or column number, which counts from 1, to an index.
fn zero_based(number: u64) -> usize {
    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn byte_offset(text: &str, location: Location) -> usize {
    let lines = text.split_inclusive('\n');
    let above: usize = lines.take(zero_based(location.line)).map(str::len).sum();
    let line = text.get(above..).unwrap_or_default();
    let characters = line.chars().take(zero_based(location.column));
    above + characters.map(char::len_utf8).sum::<usize>()
}

fn end_location(text: &str) -> Location {
    let line = text.matches('\n').count() as u64 + 1;
    let last = text.rsplit('\n').next().unwrap_or_default();
    Location::new(line, last.chars().count() as u64 + 1)
}

/// Returns the line of a location with a caret below it; long lines are shortened.
fn with_caret(text: &str, location: Location) -> String {
    const BEFORE: usize = 60;
    const MAX_WIDTH: usize = 100;
    let Some(line) = text.split('\n').nth(zero_based(location.line)) else {
        return String::new();
    };
    let column = zero_based(location.column);
    let from = column.saturating_sub(BEFORE);
    // one space for each invisible character, so that the caret is below its position
    let visible = |character: char| {
        if is_invisible(character) {
            ' '
        } else {
            character
        }
    };
    let excerpt: String = line
        .chars()
        .skip(from)
        .take(MAX_WIDTH)
        .map(visible)
        .collect();
    let caret = " ".repeat(column - from);
    format!("\n  {excerpt}\n  {caret}^")
}
