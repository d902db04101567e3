//! The tokens of a text, and errors that point into it.

use std::any::TypeId;

use sqlparser::dialect::Dialect;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::error::{Error, Result};
use crate::expr::predicate::{MAX_TEXT, too_long};
use crate::spec::json::clipped;

/// Names in backticks, texts in single quotes without escapes but `''`.
#[derive(Debug)]
struct Filter;

impl Dialect for Filter {
    fn dialect(&self) -> TypeId {
        TypeId::of::<Self>()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        letter == '`'
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        letter.is_alphabetic() || letter == '_'
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        letter.is_alphanumeric() || letter == '_'
    }
}

/// The tokens of one text, without blanks and comments.
pub(super) struct Tokens<'a> {
    text: &'a str,
    tokens: Vec<TokenWithSpan>,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        if text.len() > MAX_TEXT {
            return Err(too_long());
        }
        let mut tokens = Vec::new();
        let blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
        let cut = Tokenizer::new(&Filter, text).tokenize_with_location_into_buf_with_mapper(
            &mut tokens,
            |token| match token.token {
                // what comments say is not kept
                Token::Whitespace(_) => TokenWithSpan {
                    token: Token::Whitespace(Whitespace::Space),
                    ..token
                },
                _ => token,
            },
        );
        if let Err(cause) = cut {
            let what = cause.message.trim_end_matches(" at ").to_owned();
            return Err(syntax(text, cause.location, &what));
        }
        tokens.retain(|token| !blank(token));
        Ok(Self {
            text,
            tokens,
            at: 0,
        })
    }

    /// The next token, `EOF` behind the last one.
    pub(super) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    /// A token further on.
    pub(super) fn peek_at(&self, ahead: usize) -> &Token {
        const END: &Token = &Token::EOF;
        self.tokens
            .get(self.at.saturating_add(ahead))
            .map_or(END, |token| &token.token)
    }

    /// Goes on to the token behind the next one.
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    /// Takes this token if it comes next.
    pub(super) fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    /// Takes this word if it comes next, in any case and without quotes.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = is_word(self.peek(), word);
        self.at += usize::from(found);
        found
    }

    /// Where the next token starts.
    pub(super) fn place(&self) -> Place {
        match self.tokens.get(self.at) {
            Some(token) => Place(token.span.start),
            None => Place(end_of(self.text)),
        }
    }

    /// Whether the next token stands right behind the one before.
    pub(super) fn touches(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        match (before, self.tokens.get(self.at)) {
            (Some(before), Some(next)) => before.span.end == next.span.start,
            _ => false,
        }
    }

    /// Letters that the next token has in the text.
    pub(super) fn width(&self) -> u64 {
        self.tokens.get(self.at).map_or(0, |token| {
            let span = token.span;
            span.end.column.saturating_sub(span.start.column)
        })
    }

    /// How many tokens came before.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes back to where [`Tokens::at`] was this.
    pub(super) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The text from one token to before another.
    pub(super) fn text_of(&self, from: usize, to: usize) -> Option<&'a str> {
        let first = self.tokens.get(from)?.span.start;
        let last = self.tokens.get(to.checked_sub(1)?)?.span.end;
        self.text
            .get(offset(self.text, first)..offset(self.text, last))
    }

    pub(super) fn syntax(&self, place: Place, what: &str) -> Error {
        syntax(self.text, place.0, what)
    }

    /// The error for a token that cannot stand where it does.
    pub(super) fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            Token::EOF => "the end".to_owned(),
            other => clipped(&other.to_string()),
        };
        self.syntax(self.place(), &format!("expected {wanted}, found {found}"))
    }

    /// The error for something that SQL has and filters have not.
    pub(super) fn unsupported(&self, place: Place, what: &str) -> Error {
        let message = format!(
            "filters do not support {what} here{}",
            marked(self.text, place.0)
        );
        Error::invalid("filter.unsupported", message)
    }

    pub(super) fn literal(&self, place: Place, what: &str) -> Error {
        let message = format!("{what}{}", marked(self.text, place.0));
        Error::invalid("filter.literal", message)
    }
}

/// A place in the text, for errors.
#[derive(Clone, Copy)]
pub(super) struct Place(Location);

/// Whether a token is this word, in any case and without quotes.
pub(super) fn is_word(token: &Token, word: &str) -> bool {
    match token {
        Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    }
}

fn syntax(text: &str, location: Location, what: &str) -> Error {
    let message = format!(
        "the filter does not parse: {what}{}",
        marked(text, location)
    );
    Error::invalid("filter.syntax", message)
}

/// Lines and columns count from 1.
fn index(number: u64) -> usize {
    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// The byte at which a place is.
fn offset(text: &str, place: Location) -> usize {
    let lines = text.split_inclusive('\n');
    let above: usize = lines.take(index(place.line)).map(str::len).sum();
    let line = text.get(above..).unwrap_or_default();
    let letters = line.chars().take(index(place.column));
    above + letters.map(char::len_utf8).sum::<usize>()
}

fn end_of(text: &str) -> Location {
    let line = text.matches('\n').count() as u64 + 1;
    let last = text.rsplit('\n').next().unwrap_or_default();
    Location::new(line, last.chars().count() as u64 + 1)
}

/// The line with the place, and a caret below it; of a long line what is around the place.
fn marked(text: &str, location: Location) -> String {
    const BEFORE: usize = 60;
    const SHOWN: usize = 100;
    let Some(line) = text.split('\n').nth(index(location.line)) else {
        return String::new();
    };
    let column = index(location.column);
    let from = column.saturating_sub(BEFORE);
    // One letter for each, so that the caret stays below its place.
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let shown: String = line.chars().skip(from).take(SHOWN).map(plain).collect();
    let caret = " ".repeat(column - from);
    format!("\n  {shown}\n  {caret}^")
}
