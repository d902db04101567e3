//! Spark's grammar of conditions, by recursive descent to a bounded depth.

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::tokenizer::Token;

use super::tokens::{Place, Tokens, is_word};
use crate::error::{Error, Result};
use crate::expr::formula::Formula;
use crate::expr::like::{DEFAULT_ESCAPE, Matcher, escaped};
use crate::expr::literal::Literal;
use crate::expr::predicate::{Computed, Expr, MAX_DEPTH, MAX_FORMULAS, Op, Operand, Path};
use crate::expr::quoted;
use crate::spec::json::clipped;

/// Reads one text.
pub(super) struct Parser<'a> {
    pub(super) tokens: Tokens<'a>,
    depth: usize,
    formulas: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        Ok(Self {
            tokens: Tokens::new(text)?,
            depth: 0,
            formulas: 0,
        })
    }

    /// Reads one thing, behind which nothing may stand.
    pub(super) fn whole<T>(mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let read = read(&mut self)?;
        match self.tokens.peek() {
            Token::EOF => Ok(read),
            _ => Err(self
                .beyond()
                .unwrap_or_else(|| self.tokens.unexpected("AND, OR or the end of the filter"))),
        }
    }

    /// `a OR b OR c`
    pub(super) fn condition(&mut self) -> Result<Expr> {
        let mut parts = vec![self.conjunction()?];
        while self.tokens.take_word("OR") {
            parts.push(self.conjunction()?);
        }
        Ok(Expr::any(parts))
    }

    fn conjunction(&mut self) -> Result<Expr> {
        let mut parts = vec![self.negation()?];
        while self.tokens.take_word("AND") {
            parts.push(self.negation()?);
        }
        Ok(Expr::all(parts))
    }

    fn negation(&mut self) -> Result<Expr> {
        if self.tokens.take_word("NOT") || self.tokens.take(&Token::ExclamationMark) {
            return self.deeper(|parser| Ok(parser.negation()?.negated()));
        }
        self.predicate()
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!(
                "the filter nests more than {MAX_DEPTH} levels of parentheses and NOT: write it flatter"
            );
            return Err(Error::invalid("filter.too_deep", message));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// A condition of the grammar; what it cannot say as a formula.
    fn predicate(&mut self) -> Result<Expr> {
        let from = self.tokens.at();
        match self.plain() {
            Err(refused) if refused.code() == "filter.unsupported" => {
                self.tokens.back_to(from);
                let computed = self.computed().unwrap_or(Err(refused))?;
                Ok(Expr::Computed(Arc::new(computed)))
            }
            read => read,
        }
    }

    /// A formula up to the next `AND`, `OR` or parenthesis that is not its own.
    fn computed(&mut self) -> Option<Result<Computed>> {
        // a filter travels as text, and is read again where there is another time
        const REFUSED: [&str; 7] = [
            "SELECT",
            "EXISTS",
            "INTERVAL",
            "NOW",
            "CURDATE",
            "CURRENT_DATE",
            "CURRENT_TIMESTAMP",
        ];
        self.formulas += 1;
        if self.formulas > MAX_FORMULAS {
            return None;
        }
        let from = self.tokens.at();
        // what is open: a parenthesis, or a CASE
        let (mut open, mut between) = (Vec::new(), 0_usize);
        let mut words = BTreeSet::new();
        loop {
            let token = self.tokens.peek();
            let word = |wanted: &str| is_word(token, wanted);
            let inside = !open.is_empty();
            if *token == Token::LParen || word("CASE") {
                open.push(word("CASE"));
            } else if *token == Token::RParen || word("END") {
                match open.pop() {
                    None => break,
                    Some(case) if case == word("END") => {}
                    Some(_) => return None,
                }
            } else if *token == Token::EOF {
                break;
            } else if !inside && word("BETWEEN") {
                between += 1;
            } else if !inside && word("AND") && between > 0 {
                between -= 1;
            } else if !inside && (word("AND") || word("OR") || *token == Token::Comma) {
                break;
            } else if REFUSED.into_iter().any(word) {
                return None;
            } else if let Token::Word(name) = token {
                words.insert(name.value.to_lowercase());
            }
            self.tokens.advance();
        }
        if !open.is_empty() {
            return None;
        }
        let text = self.tokens.text_of(from, self.tokens.at())?;
        match Formula::parse(text) {
            Ok(formula) => Some(Ok(Computed { formula, words })),
            // what is too long is no fault of the operator that the grammar does not have
            Err(error) if error.code() == "formula.too_long" => Some(Err(error)),
            Err(_) => None,
        }
    }

    /// A value alone, compared, or with one of the words that follow values.
    fn plain(&mut self) -> Result<Expr> {
        let place = self.tokens.place();
        let mut left = self.value()?;
        if let Some(op) = self.comparison() {
            let left_side = self.side(left, place)?;
            let right = self.operand()?;
            left = Expr::Compare(left_side, op, right);
        }
        if let Some(error) = self.beyond() {
            return Err(error);
        }
        if self.tokens.take_word("IS") {
            return self.is(left, place);
        }
        let negated = is_word(self.tokens.peek(), "NOT");
        let word = self.tokens.peek_at(usize::from(negated));
        let read: fn(&mut Self, Expr, Place) -> Result<Expr> = if is_word(word, "IN") {
            Self::within
        } else if is_word(word, "BETWEEN") {
            Self::between
        } else if is_word(word, "LIKE") {
            Self::like
        } else if negated {
            self.tokens.advance();
            return Err(self
                .beyond()
                .unwrap_or_else(|| self.tokens.unexpected("IN, BETWEEN or LIKE")));
        } else {
            return Ok(left);
        };
        for _ in 0..=usize::from(negated) {
            self.tokens.advance();
        }
        let read = read(self, left, place)?;
        Ok(if negated { read.negated() } else { read })
    }

    fn comparison(&mut self) -> Option<Op> {
        let op = match self.tokens.peek() {
            Token::Eq | Token::DoubleEq => Op::Eq,
            Token::Neq => Op::NotEq,
            Token::Lt => Op::Lt,
            Token::LtEq => Op::LtEq,
            Token::Gt => Op::Gt,
            Token::GtEq => Op::GtEq,
            Token::Spaceship => Op::NullSafeEq,
            _ => return None,
        };
        self.tokens.advance();
        Some(op)
    }

    /// Behind `IS`.
    fn is(&mut self, left: Expr, place: Place) -> Result<Expr> {
        let negated = self.tokens.take_word("NOT");
        let read = if self.tokens.take_word("NULL") || self.tokens.take_word("UNKNOWN") {
            Expr::IsNull(Box::new(left))
        } else if self.tokens.take_word("TRUE") {
            Expr::Is(Box::new(left), true)
        } else if self.tokens.take_word("FALSE") {
            Expr::Is(Box::new(left), false)
        } else if self.tokens.take_word("DISTINCT") {
            if !self.tokens.take_word("FROM") {
                return Err(self.tokens.unexpected("FROM"));
            }
            let left = self.side(left, place)?;
            let same = Expr::Compare(left, Op::NullSafeEq, self.operand()?);
            return Ok(if negated { same } else { same.negated() });
        } else {
            return Err(self
                .tokens
                .unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"));
        };
        Ok(if negated { read.negated() } else { read })
    }

    /// Behind `IN`.
    fn within(&mut self, left: Expr, place: Place) -> Result<Expr> {
        let column = self.column(left, place, "IN")?;
        self.expect(&Token::LParen, "(")?;
        let (mut list, mut columns) = (Vec::new(), Vec::new());
        while !self.tokens.take(&Token::RParen) {
            if !(list.is_empty() && columns.is_empty()) {
                self.expect(&Token::Comma, ", or )")?;
            }
            match self.operand()? {
                Operand::Literal(literal) => list.push(literal),
                other => columns.push(other),
            }
        }
        if columns.is_empty() {
            return Ok(Expr::In(column, list));
        }
        let equal = |other| Expr::Compare(Operand::Column(column.clone()), Op::Eq, other);
        let mut parts: Vec<Expr> = columns.into_iter().map(equal).collect();
        if !list.is_empty() {
            parts.push(Expr::In(column, list));
        }
        Ok(Expr::any(parts))
    }

    /// Behind `BETWEEN`.
    fn between(&mut self, left: Expr, place: Place) -> Result<Expr> {
        let left = self.side(left, place)?;
        let low = self.operand()?;
        if !self.tokens.take_word("AND") {
            return Err(self.tokens.unexpected("AND"));
        }
        let high = self.operand()?;
        Ok(Expr::And(vec![
            Expr::Compare(left.clone(), Op::GtEq, low),
            Expr::Compare(left, Op::LtEq, high),
        ]))
    }

    /// Behind `LIKE`.
    fn like(&mut self, left: Expr, place: Place) -> Result<Expr> {
        let column = self.column(left, place, "LIKE")?;
        let at = self.tokens.place();
        let pattern = match self.operand()? {
            Operand::Literal(Literal::String(pattern)) => pattern,
            Operand::Literal(Literal::Null) => return Ok(Expr::Value(null())),
            _ => return Err(self.tokens.unsupported(at, "LIKE with anything but a text")),
        };
        let mut escape = DEFAULT_ESCAPE;
        if self.tokens.take_word("ESCAPE") {
            let place = self.tokens.place();
            let text = match self.tokens.next() {
                Token::SingleQuotedString(text) => quoted::value(&text),
                _ => String::new(),
            };
            let mut letters = text.chars();
            escape = match (letters.next(), letters.next()) {
                (Some(letter), None) => letter,
                _ => return Err(self.tokens.syntax(place, "expected one letter in quotes")),
            };
        }
        if let Err(what) = Matcher::new(&pattern, escape) {
            return Err(self.tokens.literal(at, what));
        }
        Ok(Expr::Like {
            column,
            pattern,
            escape,
        })
    }

    /// A column, a literal, a function of one, or a condition in parentheses.
    fn value(&mut self) -> Result<Expr> {
        if *self.tokens.peek() == Token::LParen {
            if is_word(self.tokens.peek_at(1), "SELECT") {
                return Err(self.tokens.unsupported(self.tokens.place(), "subqueries"));
            }
            self.tokens.advance();
            let inner = self.deeper(Self::condition)?;
            self.expect(&Token::RParen, ")")?;
            return Ok(inner);
        }
        if let Some(literal) = self.literal()? {
            return Ok(Expr::Value(Operand::Literal(literal)));
        }
        if *self.tokens.peek_at(1) == Token::LParen
            && let Token::Word(word) = self.tokens.peek()
        {
            let name = word.value.to_lowercase();
            return self.function(&name);
        }
        Ok(Expr::Value(Operand::Column(self.path()?)))
    }

    fn function(&mut self, name: &str) -> Result<Expr> {
        const KNOWN: [&str; 5] = ["isnull", "isnotnull", "isnan", "startswith", "starts_with"];
        if !KNOWN.contains(&name) {
            let what = match name {
                "exists" => "EXISTS".to_owned(),
                _ => format!("the function {}", clipped(name)),
            };
            return Err(self.tokens.unsupported(self.tokens.place(), &what));
        }
        self.tokens.advance();
        self.tokens.advance();
        let place = self.tokens.place();
        let read = match name {
            "isnull" => Expr::IsNull(Box::new(self.deeper(Self::condition)?)),
            "isnotnull" => Expr::IsNull(Box::new(self.deeper(Self::condition)?)).negated(),
            "isnan" => {
                let nan = Operand::Literal(Literal::Double(f64::NAN));
                Expr::Is(Box::new(Expr::Compare(self.operand()?, Op::Eq, nan)), true)
            }
            _ => {
                let text = self.value()?;
                let column = self.column(text, place, name)?;
                self.expect(&Token::Comma, ",")?;
                let place = self.tokens.place();
                match self.operand()? {
                    Operand::Literal(Literal::String(prefix)) => Expr::Like {
                        column,
                        pattern: escaped(&prefix) + "%",
                        escape: DEFAULT_ESCAPE,
                    },
                    Operand::Literal(Literal::Null) => Expr::Value(null()),
                    _ => {
                        let what = format!("{name} with anything but a text");
                        return Err(self.tokens.unsupported(place, &what));
                    }
                }
            }
        };
        self.expect(&Token::RParen, ")")?;
        Ok(read)
    }

    /// A value that can be compared.
    fn operand(&mut self) -> Result<Operand> {
        let place = self.tokens.place();
        let value = self.value()?;
        if let Some(error) = self.beyond() {
            return Err(error);
        }
        self.side(value, place)
    }

    fn side(&self, expr: Expr, place: Place) -> Result<Operand> {
        match expr {
            Expr::Value(operand) => Ok(operand),
            _ => Err(self.tokens.unsupported(
                place,
                "the comparison of a condition (use IS TRUE, AND, OR, NOT)",
            )),
        }
    }

    fn column(&self, expr: Expr, place: Place, word: &str) -> Result<Path> {
        match expr {
            Expr::Value(Operand::Column(path)) => Ok(path),
            _ => Err(self
                .tokens
                .unsupported(place, &format!("{word} on anything but a column"))),
        }
    }

    /// Names with dots between them.
    pub(super) fn path(&mut self) -> Result<Path> {
        const NO_NAMES: [&str; 11] = [
            "AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "ESCAPE", "TRUE", "FALSE", "NULL",
        ];
        let mut names = Vec::new();
        loop {
            let reserved = |word: &str| is_word(self.tokens.peek(), word);
            if names.is_empty() && NO_NAMES.iter().any(|word| reserved(word)) {
                return Err(self.tokens.unexpected("a column or a value"));
            }
            for (word, what) in [
                ("CASE", "CASE"),
                ("SELECT", "subqueries"),
                ("EXISTS", "EXISTS"),
            ] {
                if names.is_empty() && reserved(word) {
                    return Err(self.tokens.unsupported(self.tokens.place(), what));
                }
            }
            match self.tokens.peek() {
                Token::Word(_) => {
                    if let Token::Word(word) = self.tokens.next() {
                        names.push(word.value);
                    }
                }
                Token::DoubleQuotedString(_) => {
                    let what = "double quotes hold a name in some SQL and a text in other: quote a \
                                name by ` and a text by '";
                    return Err(self.tokens.syntax(self.tokens.place(), what));
                }
                Token::Mul | Token::Placeholder(_) | Token::Plus | Token::Minus | Token::Tilde => {
                    let what = format!("{}", self.tokens.peek());
                    return Err(self.tokens.unsupported(self.tokens.place(), &what));
                }
                _ => return Err(self.tokens.unexpected("a column or a value")),
            }
            if !self.tokens.take(&Token::Period) {
                return Ok(Path(names));
            }
        }
    }

    /// The error for an operator that SQL has and filters have not, if one comes next.
    fn beyond(&self) -> Option<Error> {
        let what = match self.tokens.peek() {
            operator @ (Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::Mod
            | Token::StringConcat
            | Token::Pipe
            | Token::Ampersand
            | Token::Caret) => format!("arithmetic (`{operator}`)"),
            Token::DoubleColon => "casts by `::`".to_owned(),
            Token::LBracket => "elements of arrays and maps".to_owned(),
            Token::Colon => "paths by `:`".to_owned(),
            Token::Arrow | Token::LongArrow => "paths by arrows".to_owned(),
            word @ Token::Word(_) => {
                let word = ["RLIKE", "REGEXP", "ILIKE", "SIMILAR", "DIV", "COLLATE"]
                    .into_iter()
                    .find(|known| is_word(word, known))?;
                word.to_owned()
            }
            _ => return None,
        };
        Some(self.tokens.unsupported(self.tokens.place(), &what))
    }

    pub(super) fn expect(&mut self, token: &Token, shown: &str) -> Result<()> {
        if self.tokens.take(token) {
            return Ok(());
        }
        Err(self
            .beyond()
            .unwrap_or_else(|| self.tokens.unexpected(shown)))
    }
}

fn null() -> Operand {
    Operand::Literal(Literal::Null)
}
