//! A pull reader over one JSON text: what the log's lines are read with.
//!
//! Takes bytes that are valid UTF-8; gives keys, strings, numbers and skips as the caller asks. It
//! builds no tree, copies nothing until a string is decoded, and never recurses, so that neither
//! depth nor length of hostile input costs memory.

use std::borrow::Cow;

/// Values nested deeper than this are refused, also where they are only skipped.
pub const MAX_DEPTH: u32 = 1_000;

/// What is wrong, and at which byte of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Byte position in the text, 0-based.
    pub offset: usize,
    /// What was found or expected there.
    pub what: &'static str,
}

type Result<T> = std::result::Result<T, JsonError>;

/// A string as it stands between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawString<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> RawString<'a> {
    /// The string itself; borrowed when it holds no escape.
    pub fn decode(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        self.decode_into(&mut out);
        Cow::Owned(out)
    }

    /// Appends the string itself. An escape that names half a surrogate pair becomes U+FFFD.
    pub fn decode_into(self, out: &mut String) {
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (plain, tail) = rest.split_at(at);
            out.push_str(plain);
            let mut chars = tail.chars();
            chars.next();
            match chars.next() {
                Some('u') => {
                    let (unit, after) = hex4(chars.as_str());
                    rest = after;
                    out.push(match unit {
                        0xD800..=0xDBFF => match low_surrogate(rest) {
                            Some((low, after)) => {
                                rest = after;
                                let point = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                                char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)
                            }
                            None => char::REPLACEMENT_CHARACTER,
                        },
                        unit => char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                    });
                    continue;
                }
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some(other) => out.push(other),
                None => {}
            }
            rest = chars.as_str();
        }
        out.push_str(rest);
    }
}

/// Four hex digits (checked when the string was read) and what follows them.
fn hex4(text: &str) -> (u32, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(0xFFFD), rest)
}

fn low_surrogate(text: &str) -> Option<(u32, &str)> {
    let (unit, rest) = hex4(text.strip_prefix("\\u")?);
    (0xDC00..=0xDFFF).contains(&unit).then_some((unit, rest))
}

/// A position in one JSON text.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte position.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn error<T>(&self, what: &'static str) -> Result<T> {
        Err(JsonError {
            offset: self.at,
            what,
        })
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space, without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    fn take(&mut self, wanted: u8, what: &'static str) -> Result<()> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            return Ok(());
        }
        self.error(what)
    }

    /// Fails unless only white space is left.
    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.error("something stands behind the end of the JSON object"),
        }
    }

    /// Takes the `{` of an object; then call [`Cursor::next_key`] until it gives `None`.
    pub fn begin_object(&mut self) -> Result<()> {
        self.take(b'{', "expected an object")
    }

    /// The next key of the object and its `:`, or `None` (and its `}` is taken). `first` is true
    /// before the first key; the caller keeps it.
    pub fn next_key(&mut self, first: &mut bool) -> Result<Option<RawString<'a>>> {
        if !self.next_item(first, b'}')? {
            return Ok(None);
        }
        let key = self.string()?;
        self.take(b':', "expected ':' behind the key")?;
        Ok(Some(key))
    }

    /// Takes the `[` of an array; then call [`Cursor::next_element`] before each element.
    pub fn begin_array(&mut self) -> Result<()> {
        self.take(b'[', "expected an array")
    }

    /// Whether another element follows; takes the comma before it, or the `]`.
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool> {
        self.next_item(first, b']')
    }

    fn next_item(&mut self, first: &mut bool, close: u8) -> Result<bool> {
        match self.peek() {
            Some(found) if found == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !*first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if *first => {
                *first = false;
                Ok(true)
            }
            None => self.error("the text ends inside a value"),
            Some(_) => self.error("expected ',' or the end of the value"),
        }
    }

    /// Takes `null` if it stands here.
    pub fn null(&mut self) -> Result<bool> {
        if self.peek() == Some(b'n') {
            self.literal("null")?;
            return Ok(true);
        }
        Ok(false)
    }

    fn literal(&mut self, word: &'static str) -> Result<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        self.error("expected a JSON value")
    }

    /// A boolean.
    pub fn bool(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.literal("true").map(|()| true),
            Some(b'f') => self.literal("false").map(|()| false),
            _ => self.error("expected true or false"),
        }
    }

    /// A whole number; `7.0` and `7e0` are whole too.
    pub fn i64(&mut self) -> Result<i64> {
        self.peek();
        let start = self.at;
        let text = self.number()?;
        if let Ok(value) = text.parse() {
            return Ok(value);
        }
        match text.parse::<f64>() {
            // 2^53 bounds what a double says exactly
            Ok(value) if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 => {
                #[allow(clippy::cast_possible_truncation)] // bounded in the line above
                Ok(value as i64)
            }
            _ => Err(JsonError {
                offset: start,
                what: "expected a whole number of 64 bits",
            }),
        }
    }

    /// The text of a number.
    pub fn number(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.byte() {
            self.at += 1;
        }
        match self.text.get(start..self.at) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => self.error("expected a number"),
        }
    }

    /// A string.
    pub fn string(&mut self) -> Result<RawString<'a>> {
        self.take(b'"', "expected a string")?;
        let start = self.at;
        let escaped = self.skip_string_body()?;
        let raw = self.text.get(start..self.at - 1).unwrap_or_default();
        Ok(RawString { raw, escaped })
    }

    /// Moves behind the closing quote; tells whether there was an escape.
    fn skip_string_body(&mut self) -> Result<bool> {
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        loop {
            self.at = quote_or_backslash(bytes, self.at);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
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
                        _ => return self.error("a backslash begins no known escape"),
                    }
                }
                _ => {
                    self.at = bytes.len();
                    return self.error("the text ends inside a string");
                }
            }
        }
    }

    /// Moves over one value of any kind and gives its text. Brackets and strings are checked;
    /// nesting is bounded by [`MAX_DEPTH`].
    pub fn skip(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        let mut closers: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.skip_string_body()?;
                }
                Some(open @ (b'{' | b'[')) => {
                    if closers.len() >= MAX_DEPTH as usize {
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
            // behind a value: close what ends here, or go on behind a comma
            loop {
                let Some(close) = closers.last().copied() else {
                    return Ok(self.text.get(start..self.at).unwrap_or_default());
                };
                match self.peek() {
                    Some(found) if found == close => {
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

    fn key(&mut self) -> Result<()> {
        self.take(b'"', "expected a key")?;
        self.skip_string_body()?;
        self.take(b':', "expected ':' behind the key")
    }
}

/// The position of the next `"` or `\` at or after `at`, eight bytes a step.
fn quote_or_backslash(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let hits = zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &str) -> String {
        Cursor::new(text).string().unwrap().decode().into_owned()
    }

    #[test]
    fn reads_an_object_as_asked() {
        let mut cursor = Cursor::new(
            r#" {"a": 1, "b":{"x":[1,2,{"y":null}]}, "c":"t\"é\ud83d\ude80", "d":true} "#,
        );
        cursor.begin_object().unwrap();
        let mut first = true;
        let mut seen = Vec::new();
        while let Some(key) = cursor.next_key(&mut first).unwrap() {
            let key = key.decode().into_owned();
            let value = match key.as_str() {
                "a" => cursor.i64().unwrap().to_string(),
                "c" => cursor.string().unwrap().decode().into_owned(),
                _ => cursor.skip().unwrap().to_owned(),
            };
            seen.push((key, value));
        }
        cursor.end().unwrap();
        let pairs: Vec<_> = seen.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("a", "1"),
                ("b", r#"{"x":[1,2,{"y":null}]}"#),
                ("c", "t\"é🚀"),
                ("d", "true")
            ]
        );
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        assert_eq!(decoded(r#""a\ud83dz""#), "a\u{FFFD}z");
        assert_eq!(decoded(r#""\ud83d\u0041""#), "\u{FFFD}A");
        assert_eq!(decoded(r#""\udc00""#), "\u{FFFD}");
    }

    #[test]
    fn whole_numbers_may_be_written_as_doubles() {
        assert_eq!(Cursor::new("7.0").i64(), Ok(7));
        assert_eq!(Cursor::new("-9223372036854775808").i64(), Ok(i64::MIN));
        assert!(Cursor::new("7.5").i64().is_err());
        assert!(Cursor::new("99999999999999999999").i64().is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Cursor::new(&deep(1_000)).skip().is_ok());
        assert!(Cursor::new(&deep(1_001)).skip().is_err());
        assert!(Cursor::new(&"{\"a\":".repeat(10_000)).skip().is_err());
    }

    #[test]
    fn every_proper_prefix_is_an_error() {
        let text = r#"{"a":[1,{"b":"c\n\u00e9"},true,null],"d":-1.5e3}"#;
        assert_eq!(Cursor::new(text).skip(), Ok(text));
        for end in 0..text.len() {
            if let Some(prefix) = text.get(..end) {
                assert!(Cursor::new(prefix).skip().is_err(), "{prefix}");
            }
        }
    }

    proptest! {
        #[test]
        fn strings_come_back(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(decoded(&json), text);
        }

        #[test]
        fn accepts_what_serde_json_accepts(text in r#"[\[\]{}:,"\\a0-9tnu. -]{0,24}"#) {
            if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
                let mut cursor = Cursor::new(&text);
                prop_assert!(cursor.skip().is_ok() && cursor.end().is_ok());
            }
        }
    }
}
