//! Parses conditions with `AND`, `OR`, `NOT` and parentheses: recursive descent to a bounded depth.

use std::ops::Range;
use std::sync::Arc;

use recursive::recursive;
use sqlparser::tokenizer::Token;

use super::CurrentTime;
use super::current_time::current_time_function;
use super::simple::Simplifier;
use super::tokens::{ParseError, Tokens, is_word};
use crate::error::Result;
use crate::expr::node::formula::Formula;
use crate::expr::node::predicate::{Expr, MAX_DEPTH, MAX_FORMULAS};

type Parsed<T> = std::result::Result<T, ParseError>;

/// Parses the condition in one text.
pub(super) struct ConditionParser<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    current_time: CurrentTime,
    depth: usize,
    formulas: usize,
}

impl<'a> ConditionParser<'a> {
    pub(super) fn new(text: &'a str, current_time: CurrentTime) -> Result<Self> {
        Ok(Self {
            text,
            tokens: Tokens::new(text).map_err(|error| error.into_filter_error(text))?,
            current_time,
            depth: 0,
            formulas: 0,
        })
    }

    /// Parses one condition up to the end of the text.
    pub(super) fn parse(mut self) -> Result<Expr> {
        let root = self.condition().and_then(|root| match self.tokens.peek() {
            Token::EOF => Ok(root),
            _ => Err(self.tokens.unexpected("AND, OR or the end")),
        });
        root.map_err(|error| error.into_filter_error(self.text))
    }

    /// `a OR b OR c`
    #[recursive]
    fn condition(&mut self) -> Parsed<Expr> {
        let mut parts = vec![self.conjunction()?];
        while self.tokens.take_word("OR") {
            parts.push(self.conjunction()?);
        }
        Ok(Expr::any(parts))
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let mut parts = vec![self.negation()?];
        while self.tokens.take_word("AND") {
            parts.push(self.negation()?);
        }
        Ok(Expr::all(parts))
    }

    #[recursive]
    fn negation(&mut self) -> Parsed<Expr> {
        let is_bang = *self.tokens.peek() == Token::ExclamationMark;
        if is_bang || is_word(self.tokens.peek(), "NOT") {
            self.tokens.advance();
            return self.nested(|parser| Ok(parser.negation()?.negated()));
        }
        self.term()
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        if self.depth >= MAX_DEPTH {
            let limit = format!("{MAX_DEPTH} levels of parentheses and NOT");
            return Err(ParseError::TooDeep(limit));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Parses a condition in parentheses, optionally followed by `IS`, or an expression.
    fn term(&mut self) -> Parsed<Expr> {
        let is_query = is_word(self.tokens.get(self.tokens.next_index() + 1), "SELECT");
        if *self.tokens.peek() == Token::LParen && !is_query {
            let Some(closing) = self.closing_parenthesis() else {
                return self.in_parentheses(); // reports the missing parenthesis
            };
            if self.ends_at(closing + 1) {
                return self.in_parentheses();
            }
            if let Some((condition, negated, end)) = self.suffix_at(closing + 1) {
                let parsed = condition(Box::new(self.in_parentheses()?));
                self.tokens.go_to(end);
                return Ok(parsed.negated_if(negated));
            }
        }
        self.expression()
    }

    /// Returns the condition of the suffix `IS [NOT] ...` at an index, `true` if it is negated, and the index
    /// after it; `None` if there is none of [`IS_CONDITIONS`], or if the condition continues after it.
    fn suffix_at(&self, index: usize) -> Option<(IsCondition, bool, usize)> {
        if !is_word(self.tokens.get(index), "IS") {
            return None;
        }
        let negated = is_word(self.tokens.get(index + 1), "NOT");
        let last = index + 1 + usize::from(negated);
        let mut conditions = IS_CONDITIONS.into_iter();
        let (_, condition) = conditions.find(|(word, _)| is_word(self.tokens.get(last), word))?;
        let end = last + 1;
        self.ends_at(end).then_some((condition, negated, end))
    }

    /// Parses an expression, with `sqlparser`.
    fn expression(&mut self) -> Parsed<Expr> {
        let from = self.tokens.next_index();
        let end = self.end_of_expression();
        if end == from || *self.tokens.peek() == Token::DoubleExclamationMark {
            return Err(self.tokens.unexpected("a column or a value"));
        }
        let root = self.tokens.expression(from..end)?;
        let start = self.tokens.location_of(from);
        let parsed = match Simplifier::new(start).condition(&root)? {
            Some(simple) => simple,
            None => self.formula(root, from..end)?,
        };
        self.tokens.go_to(end);
        Ok(parsed)
    }

    fn in_parentheses(&mut self) -> Parsed<Expr> {
        self.tokens.advance();
        let inner = self.nested(Self::condition)?;
        match self.tokens.peek() {
            Token::RParen => self.tokens.advance(),
            _ => return Err(self.tokens.unexpected(")")),
        }
        Ok(inner)
    }

    /// Returns the index of the parenthesis that closes the next one.
    fn closing_parenthesis(&self) -> Option<usize> {
        let mut open = 0_usize;
        for index in self.tokens.next_index().. {
            match self.tokens.get(index) {
                Token::LParen => open += 1,
                Token::RParen if open <= 1 => return Some(index),
                Token::RParen => open -= 1,
                Token::EOF => return None,
                _ => {}
            }
        }
        None
    }

    /// Returns `true` if a condition ends before the token at an index.
    fn ends_at(&self, index: usize) -> bool {
        match self.tokens.get(index) {
            Token::EOF | Token::RParen => true,
            word => is_word(word, "AND") || is_word(word, "OR"),
        }
    }

    /// Returns the index of the first token after the next expression: `AND`, `OR`, `)` or the end.
    fn end_of_expression(&self) -> usize {
        let mut open = Vec::new();
        let mut pending_betweens = 0_usize; // each takes the next `AND`
        let mut follows_period = false; // after one, a keyword is a name
        for index in self.tokens.next_index().. {
            let token = self.tokens.get(index);
            let is_keyword = |keyword: &str| !follows_period && is_word(token, keyword);
            if *token == Token::LParen {
                open.push(Opened::Parenthesis);
            } else if is_keyword("CASE") {
                open.push(Opened::Case);
            } else if *token == Token::RParen {
                if open.pop() != Some(Opened::Parenthesis) {
                    return index;
                }
            } else if is_keyword("END") && open.last() == Some(&Opened::Case) {
                open.pop();
            } else if *token == Token::EOF {
                return index;
            } else if open.is_empty() && is_keyword("BETWEEN") {
                pending_betweens += 1;
            } else if open.is_empty() && is_keyword("AND") && pending_betweens > 0 {
                pending_betweens -= 1;
            } else if open.is_empty() && (is_keyword("AND") || is_keyword("OR")) {
                return index;
            }
            follows_period = *token == Token::Period;
        }
        self.tokens.next_index()
    }

    /// Builds a condition that must be evaluated for each row.
    fn formula(&mut self, root: sqlparser::ast::Expr, range: Range<usize>) -> Parsed<Expr> {
        const QUERIES: [&str; 2] = ["SELECT", "EXISTS"];
        let start = self.tokens.location_of(range.start);
        let refused = |construct: &str| Err(ParseError::Unsupported(start, construct.to_owned()));
        match self.tokens.find_word(range.clone(), &QUERIES) {
            Some("SELECT") => return refused("subqueries"),
            Some(word) => return refused(word),
            None => {}
        }
        if self.current_time == CurrentTime::Refused
            && let Some(word) = current_time_function(&self.tokens, range.clone())
        {
            return refused(&format!(
                "the function {word} (fix the current time with deltareplay.filter_at)"
            ));
        }
        self.formulas += 1;
        if self.formulas > MAX_FORMULAS {
            return refused(&format!(
                "more than {MAX_FORMULAS} conditions with arithmetic or functions"
            ));
        }
        let text = self.tokens.text_of(range).unwrap_or_default();
        Formula::check_length(text).map_err(ParseError::Other)?;
        Ok(Expr::Formula(Arc::new(Formula::new(text, root))))
    }
}

/// A construct whose end is still to come.
#[derive(PartialEq)]
enum Opened {
    Parenthesis,
    Case,
}

/// Builds the condition of an `IS` suffix.
type IsCondition = fn(Box<Expr>) -> Expr;

/// The words after `IS`, and the condition of each.
const IS_CONDITIONS: [(&str, IsCondition); 4] = [
    ("NULL", Expr::IsNull),
    ("UNKNOWN", Expr::IsNull),
    ("TRUE", |inner| Expr::Is(inner, true)),
    ("FALSE", |inner| Expr::Is(inner, false)),
];
