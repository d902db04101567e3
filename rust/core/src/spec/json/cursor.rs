//! Parses one JSON text on demand: keys, strings, numbers and skips.

use super::bytes::{end_of_container, plain_prefix};
use super::{JsonError, RawString};

/// The maximum nesting of skipped values.
const MAX_DEPTH: usize = 1_000;

type Result<T> = std::result::Result<T, JsonError>;

/// A position in one JSON text.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the byte offset.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the text from here to a later position.
    pub(crate) fn up_to(&self, end: &Self) -> &'a str {
        self.text.get(self.at..end.at).unwrap_or_default()
    }

    fn error<T>(&self, message: &'static str) -> Result<T> {
        Err(JsonError {
            offset: self.at,
            message,
        })
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the next byte that is not white space, without consuming it.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    fn take(&mut self, byte: u8, message: &'static str) -> Result<()> {
        if self.take_byte(byte) {
            return Ok(());
        }
        self.error(message)
    }

    /// Consumes the next byte that is not white space, if it is `byte`.
    #[inline]
    pub(crate) fn take_byte(&mut self, byte: u8) -> bool {
        let matches = self.peek() == Some(byte);
        if matches {
            self.at += 1;
        }
        matches
    }

    /// Consumes `prefix` if it is next, byte by byte.
    #[inline]
    pub(crate) fn take_exact(&mut self, prefix: &[u8]) -> bool {
        let matches = self.rest().starts_with(prefix);
        if matches {
            self.at += prefix.len();
        }
        matches
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Fails unless only white space is left.
    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.error("there is more text after the end of the JSON object"),
        }
    }

    /// Calls `read` with each field of the object at the cursor that is not null. `read` returns `false` if
    /// it did not consume the value, which is then skipped.
    pub(crate) fn each_field(
        &mut self,
        mut read: impl FnMut(&mut Self, &str) -> Result<bool>,
    ) -> Result<()> {
        self.begin_object()?;
        let mut first = true;
        while let Some(key) = self.next_key(&mut first)? {
            if !self.null()? && !read(self, &key.decode())? {
                self.skip()?;
            }
        }
        Ok(())
    }

    /// Consumes the `{` of an object; then call [`Cursor::next_key`] until it returns `None`.
    pub fn begin_object(&mut self) -> Result<()> {
        self.take(b'{', "expected an object")
    }

    /// Consumes the next key of the object and its `:`, or `}` and returns `None`. `first` is true before
    /// the first key; the caller keeps it.
    pub fn next_key(&mut self, first: &mut bool) -> Result<Option<RawString<'a>>> {
        let more = match self.peek() {
            Some(byte) if *first && byte != b'}' => {
                *first = false;
                true
            }
            _ => self.more(b'}')?,
        };
        if more { self.key().map(Some) } else { Ok(None) }
    }

    /// Consumes a key and its `:`.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<RawString<'a>> {
        let key = self.string()?;
        self.take(b':', "expected ':' after the key")?;
        Ok(key)
    }

    /// Returns whether another value follows; consumes the comma before it, or `close`.
    #[inline]
    pub(crate) fn more(&mut self, close: u8) -> Result<bool> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            None => self.error("the text ends inside a value"),
            Some(_) => self.error("expected ',' or the end of the value"),
        }
    }

    /// Consumes `null` if it is next.
    pub fn null(&mut self) -> Result<bool> {
        if self.peek() == Some(b'n') {
            self.literal("null")?;
            return Ok(true);
        }
        Ok(false)
    }

    pub(super) fn literal(&mut self, word: &'static str) -> Result<()> {
        if self.take_exact(word.as_bytes()) {
            return Ok(());
        }
        self.error("expected a JSON value")
    }

    /// Parses a boolean.
    pub fn bool(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.literal("true").map(|()| true),
            Some(b'f') => self.literal("false").map(|()| false),
            _ => self.error("expected true or false"),
        }
    }

    /// Parses an integer; `7.0` and `7e0` are integers, too.
    pub fn i64(&mut self) -> Result<i64> {
        self.peek();
        let start = self.at;
        let text = self.number()?;
        if let Ok(value) = text.parse() {
            return Ok(value);
        }
        match text.parse::<f64>() {
            // a double represents integers exactly up to 2^53
            Ok(value) if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 => {
                Ok(value as i64)
            }
            _ => Err(JsonError {
                offset: start,
                message: "expected a 64-bit integer",
            }),
        }
    }

    /// Consumes a number and returns its text; [`is_number`] checks it.
    pub fn number(&mut self) -> Result<&'a str> {
        self.peek();
        let text = self.word(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        if text.is_empty() {
            return self.error("expected a number");
        }
        Ok(text)
    }

    /// Consumes bytes while `is_part` accepts them; it must accept ASCII only.
    #[inline]
    pub(crate) fn word(&mut self, is_part: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.byte().is_some_and(&is_part) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Parses a string.
    #[inline]
    pub fn string(&mut self) -> Result<RawString<'a>> {
        self.take(b'"', "expected a string")?;
        self.string_body()
    }

    /// Parses a string of JSON, or an object that a writer left unquoted, as its text.
    pub(crate) fn string_or_object(&mut self) -> Result<RawString<'a>> {
        if self.peek() != Some(b'{') {
            return self.string();
        }
        Ok(RawString {
            raw: self.skip()?,
            escaped: false,
            control: false,
        })
    }

    /// Parses a string after the opening quote, up to and including the closing one.
    fn string_body(&mut self) -> Result<RawString<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let (mut escaped, mut control) = (false, false);
        loop {
            self.at += plain_prefix(self.rest());
            match bytes.get(self.at) {
                Some(b'"') => {
                    let raw = self.text.get(start..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(RawString {
                        raw,
                        escaped,
                        control,
                    });
                }
                Some(b'\\') => {
                    escaped = true;
                    match bytes.get(self.at + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 2
                        }
                        Some(b'u') => {
                            let digits = bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                            if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                                return self.error("\\u is not followed by four hex digits");
                            }
                            self.at += 6;
                        }
                        _ => return self.error("an unknown escape sequence"),
                    }
                }
                Some(byte) => {
                    control |= *byte < 0x20;
                    self.at += 1;
                }
                None => return self.error("the text ends inside a string"),
            }
        }
    }

    /// Skips one value of any kind and returns its text. Brackets and strings are checked; nesting is
    /// bounded by [`MAX_DEPTH`].
    pub fn skip(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        let mut closers: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.string_body()?;
                }
                Some(open @ (b'{' | b'[')) => {
                    if closers.len() >= MAX_DEPTH {
                        return self.error("values are nested more than 1,000 deep");
                    }
                    closers.push(if open == b'{' { b'}' } else { b']' });
                    self.at += 1;
                    if self.peek() != closers.last().copied() {
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'n') => self.literal("null")?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                None => return self.error("the text ends inside a value"),
                Some(_) => {
                    self.number()?;
                }
            }
            // after a value: close what ends here, or continue after a comma
            loop {
                let Some(close) = closers.last().copied() else {
                    return Ok(self.text.get(start..self.at).unwrap_or_default());
                };
                match self.peek() {
                    Some(byte) if byte == close => {
                        self.at += 1;
                        closers.pop();
                    }
                    Some(b',') => {
                        self.at += 1;
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    None => return self.error("the text ends inside a value"),
                    Some(_) => return self.error("expected ',' or the end of the value"),
                }
            }
        }
    }

    /// Skips the rest of an object or array, between two members, including its closing bracket. Only
    /// strings and brackets are checked, 64 bytes at a time.
    #[inline]
    pub(crate) fn skip_open(&mut self) -> Result<()> {
        match end_of_container(self.rest()) {
            Some(length) => {
                self.at += length;
                Ok(())
            }
            None => self.error("the text ends inside a value"),
        }
    }
}

/// Returns `true` if this is a number in JSON's grammar.
#[inline]
pub(crate) fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = text.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = fraction.get(length..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            exponent => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
