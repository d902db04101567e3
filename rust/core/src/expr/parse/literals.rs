//! Values in SQL text: numbers with their suffixes, typed texts, casts.

use sqlparser::tokenizer::Token;

use super::grammar::Parser;
use super::tokens::{Place, is_word};
use crate::error::Result;
use crate::expr::literal::{Decimal, Literal};
use crate::expr::quoted;
use crate::expr::text;
use crate::spec::values::{self, Excess};

const TYPED: [&str; 4] = ["DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"];

impl Parser<'_> {
    /// A literal, if one comes next.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>> {
        let place = self.tokens.place();
        let behind = self.tokens.peek_at(1);
        let literal = match self.tokens.peek() {
            Token::Number(..) => self.number("", place)?,
            Token::Minus | Token::Plus if matches!(behind, Token::Number(..)) => {
                let minus = *self.tokens.peek() == Token::Minus;
                self.tokens.advance();
                self.number(if minus { "-" } else { "" }, place)?
            }
            Token::SingleQuotedString(_) => match self.tokens.next() {
                Token::SingleQuotedString(text) => Literal::String(quoted::value(&text)),
                _ => return Ok(None),
            },
            Token::HexStringLiteral(_) => self.bytes(place)?,
            Token::Word(word) if word.quote_style.is_none() => {
                let quoted = matches!(behind, Token::SingleQuotedString(_));
                let bracket = *behind == Token::LParen;
                let word = word.value.to_ascii_uppercase();
                match word.as_str() {
                    "TRUE" => self.word(Literal::Boolean(true)),
                    "FALSE" => self.word(Literal::Boolean(false)),
                    "NULL" => self.word(Literal::Null),
                    "CAST" if bracket => return self.cast().map(Some),
                    "INTERVAL" if quoted || matches!(behind, Token::Number(..)) => {
                        return Err(self.tokens.unsupported(place, "intervals"));
                    }
                    name if quoted && TYPED.contains(&name) => {
                        self.tokens.advance();
                        let text = self.tokens.next();
                        let Token::SingleQuotedString(text) = text else {
                            return Ok(None);
                        };
                        self.convert(Literal::String(quoted::value(&text)), &word, place)?
                    }
                    _ if quoted => {
                        let what = format!("values of the kind {word}'…'");
                        return Err(self.tokens.unsupported(place, &what));
                    }
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(literal))
    }

    fn word(&mut self, literal: Literal) -> Literal {
        self.tokens.advance();
        literal
    }

    /// Digits, and the suffix that says their type: `10L`, `1.5D`, `2BD`.
    fn number(&mut self, sign: &str, place: Place) -> Result<Literal> {
        let Token::Number(digits, long) = self.tokens.next() else {
            return Err(self.tokens.unexpected("a number"));
        };
        let text = format!("{sign}{digits}");
        let suffix = ["D", "F", "BD", "S", "Y", "L"]
            .into_iter()
            .find(|suffix| !long && self.tokens.touches() && is_word(self.tokens.peek(), suffix));
        if suffix.is_some() {
            self.tokens.advance();
        } else if !long && self.tokens.touches() && matches!(self.tokens.peek(), Token::Word(_)) {
            return Err(self.tokens.unexpected("a space behind the number"));
        }
        let whole = digits.bytes().all(|digit| digit.is_ascii_digit());
        let literal = match suffix {
            Some("D") => float(&text).map(Literal::Double),
            Some("F") => single(&text).map(Literal::Double),
            Some("BD") => Decimal::parse(&text).map(Literal::Decimal),
            Some(_) => text.parse().ok().map(Literal::Integer),
            None if long => text.parse().ok().map(Literal::Integer),
            None if digits.contains(['e', 'E']) => float(&text).map(Literal::Double),
            None => whole
                .then(|| text.parse().ok().map(Literal::Integer))
                .flatten()
                .or_else(|| Decimal::parse(&text).map(Literal::Decimal)),
        };
        literal.ok_or_else(|| {
            self.tokens
                .literal(place, "this number is too large or too exact for its type")
        })
    }

    /// `X'00ff'`
    fn bytes(&mut self, place: Place) -> Result<Literal> {
        let width = self.tokens.width();
        let Token::HexStringLiteral(digits) = self.tokens.next() else {
            return Err(self.tokens.unexpected("bytes"));
        };
        if width < digits.len() as u64 + 3 {
            return Err(self.tokens.unsupported(place, "numbers by 0x"));
        }
        let digit = |letter: &u8| char::from(*letter).to_digit(16);
        let pair = |pair: &[u8]| match pair {
            [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
            _ => None,
        };
        let bytes = digits.as_bytes().chunks(2).map(pair).collect();
        let bytes: Option<Vec<u8>> = bytes;
        bytes.map(Literal::Binary).ok_or_else(|| {
            self.tokens
                .literal(place, "bytes are an even number of hexadecimal digits")
        })
    }

    /// `CAST(literal AS type)`
    fn cast(&mut self) -> Result<Literal> {
        let place = self.tokens.place();
        self.tokens.advance();
        self.expect(&Token::LParen, "(")?;
        let inner = self.tokens.place();
        let literal = match self.literal()? {
            Some(literal) => literal,
            None => {
                return Err(self
                    .tokens
                    .unsupported(inner, "CAST of anything but a value"));
            }
        };
        if !self.tokens.take_word("AS") {
            return Err(self.tokens.unexpected("AS"));
        }
        let at = self.tokens.place();
        let Token::Word(name) = self.tokens.next() else {
            return Err(self.tokens.syntax(at, "expected the name of a type"));
        };
        let mut name = name.value.to_ascii_uppercase();
        if self.tokens.take(&Token::LParen) {
            let mut arguments = Vec::new();
            while !self.tokens.take(&Token::RParen) {
                if !arguments.is_empty() {
                    self.expect(&Token::Comma, ", or )")?;
                }
                match self.tokens.next() {
                    Token::Number(digits, false) if arguments.len() < 2 => arguments.push(digits),
                    _ => return Err(self.tokens.syntax(at, "a type takes one or two numbers")),
                }
            }
            name = format!("{name}({})", arguments.join(","));
        }
        self.expect(&Token::RParen, ")")?;
        self.convert(literal, &name, place)
    }

    /// The literal in another type, by the type's name.
    fn convert(&self, literal: Literal, name: &str, place: Place) -> Result<Literal> {
        if literal == Literal::Null {
            return Ok(literal);
        }
        match converted(&literal, name) {
            Some(Some(literal)) => Ok(literal),
            Some(None) => {
                let what = format!("{literal} is no value of the type {name}");
                Err(self.tokens.literal(place, &what))
            }
            None => {
                let what = format!("CAST of {} as {name}", literal.kind());
                Err(self.tokens.unsupported(place, &what))
            }
        }
    }
}

fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn single(text: &str) -> Option<f64> {
    let value: f32 = text.parse().ok()?;
    value.is_finite().then_some(f64::from(value))
}

/// `None` where the types do not go together, `Some(None)` where the value does not fit.
fn converted(literal: &Literal, name: &str) -> Option<Option<Literal>> {
    let (base, arguments) = match name.split_once('(') {
        Some((base, arguments)) => (base, arguments.trim_end_matches(')')),
        None => (name, ""),
    };
    let integer = |min: i64, max: i64| {
        let value = match literal {
            Literal::Integer(value) => i128::from(*value),
            Literal::Boolean(value) => i128::from(*value),
            Literal::Decimal(value) => value.truncated(),
            Literal::Double(value) if value.is_finite() && value.abs() < 1e19 => *value as i128,
            Literal::Double(_) => return Some(None),
            Literal::String(value) => match text::integer(value) {
                Some(value) => i128::from(value),
                None => return Some(None),
            },
            _ => return None,
        };
        let value = i64::try_from(value).ok();
        Some(
            value
                .filter(|value| (min..=max).contains(value))
                .map(Literal::Integer),
        )
    };
    match base {
        "TINYINT" | "BYTE" => integer(i8::MIN.into(), i8::MAX.into()),
        "SMALLINT" | "SHORT" => integer(i16::MIN.into(), i16::MAX.into()),
        "INT" | "INTEGER" => integer(i32::MIN.into(), i32::MAX.into()),
        "BIGINT" | "LONG" => integer(i64::MIN, i64::MAX),
        "DOUBLE" => Some(to_double(literal)?.map(Literal::Double)),
        "FLOAT" | "REAL" => {
            let single = |value| f64::from(value as f32);
            Some(to_double(literal)?.map(|value| Literal::Double(single(value))))
        }
        "DECIMAL" | "DEC" | "NUMERIC" => to_decimal(literal, arguments),
        "BOOLEAN" => Some(match literal {
            Literal::Boolean(_) => Some(literal.clone()),
            Literal::String(value) => text::boolean(value).map(Literal::Boolean),
            _ => return None,
        }),
        "STRING" => Some(Some(Literal::String(match literal {
            Literal::String(text) => text.clone(),
            Literal::Integer(value) => value.to_string(),
            Literal::Decimal(value) => value.to_string(),
            Literal::Boolean(value) => value.to_string(),
            _ => return None,
        }))),
        "BINARY" => Some(Some(Literal::Binary(match literal {
            Literal::String(text) => text.clone().into_bytes(),
            Literal::Binary(bytes) => bytes.clone(),
            _ => return None,
        }))),
        "DATE" => Some(match literal {
            Literal::String(text) => text::date(text).map(Literal::Date),
            Literal::Date(_) => Some(literal.clone()),
            Literal::TimestampNtz(micros) | Literal::LocalTimestamp(micros) => {
                let days = micros.div_euclid(86_400_000_000);
                i32::try_from(days).ok().map(Literal::Date)
            }
            _ => return None,
        }),
        "TIMESTAMP" | "TIMESTAMP_LTZ" => {
            let has_zone = match literal {
                Literal::String(text) => values::has_zone(text),
                Literal::Timestamp(_) => true,
                _ => false,
            };
            let kind = if has_zone {
                Literal::Timestamp
            } else {
                Literal::LocalTimestamp
            };
            Some(to_micros(literal, true)?.map(kind))
        }
        // which clock time a moment is, its time zone tells
        "TIMESTAMP_NTZ" if matches!(literal, Literal::Timestamp(_)) => None,
        "TIMESTAMP_NTZ" => Some(to_micros(literal, false)?.map(Literal::TimestampNtz)),
        _ => None,
    }
}

fn to_double(literal: &Literal) -> Option<Option<f64>> {
    Some(match literal {
        Literal::Integer(value) => Some(*value as f64),
        Literal::Decimal(value) => Some(value.to_f64()),
        Literal::Double(value) => Some(*value),
        Literal::String(value) => text::float(value),
        _ => return None,
    })
}

fn to_decimal(literal: &Literal, arguments: &str) -> Option<Option<Literal>> {
    let mut numbers = arguments.split(',').map(str::parse::<u8>);
    let (precision, scale) = match (numbers.next(), numbers.next()) {
        (Some(Ok(precision)), Some(Ok(scale))) => (precision, scale),
        (Some(Ok(precision)), None) => (precision, 0),
        _ if arguments.is_empty() => (10, 0),
        _ => return None,
    };
    if precision == 0 || precision > Decimal::DIGITS || scale > precision {
        return None;
    }
    let text = match literal {
        Literal::Integer(value) => value.to_string(),
        Literal::Decimal(value) => value.to_string(),
        Literal::Double(value) => format!("{value:e}"),
        Literal::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    let value = Decimal::with_scale(&text, scale, Excess::Round);
    let fits = |value: &Decimal| {
        value.unscaled().unsigned_abs()
            < 10u128
                .checked_pow(u32::from(precision))
                .unwrap_or(u128::MAX)
    };
    Some(value.filter(fits).map(Literal::Decimal))
}

fn to_micros(literal: &Literal, utc: bool) -> Option<Option<i64>> {
    Some(match literal {
        Literal::String(text) => text::timestamp(text, utc),
        Literal::Date(days) => i64::from(*days).checked_mul(86_400_000_000),
        Literal::Timestamp(micros)
        | Literal::TimestampNtz(micros)
        | Literal::LocalTimestamp(micros) => Some(*micros),
        _ => return None,
    })
}
