//! A pull reader for JSON text: one event at a time, nesting kept in a list, never on the stack.
//!
//! For the few places where text nests as deep as its writer likes (schemas, hints, checksums) and
//! where the text of a number, a repeated key or a byte offset matters. Everything else is serde's.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, Result};

/// Levels of brackets allowed where nothing asks for more.
pub(crate) const MAX_DEPTH: usize = 2_000;

/// What comes next in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    BeginObject,
    EndObject,
    BeginArray,
    EndArray,
    Key(Cow<'a, str>),
    String(Cow<'a, str>),
    /// The number as it is written.
    Number(&'a str),
    Bool(bool),
    Null,
    /// The text is over.
    End,
}

/// Where and why a text is not JSON, or nests too deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    /// Byte in the text.
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

impl JsonError {
    /// This failure as an error about bytes of a file that begins with the text.
    pub(crate) fn corrupt(self, code: &'static str, what: &str) -> Error {
        let offset = self.offset as u64;
        Error::corrupt(code, format!("{what}: {self}")).at_offset(offset)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    FirstKey,
    Key,
    FirstValue,
    Value,
    Separator,
    End,
}

/// Reads one JSON value and refuses anything after it.
pub(crate) struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Container>,
    expect: Expect,
    max_depth: usize,
}

impl<'a> JsonReader<'a> {
    /// A reader that refuses more than `max_depth` levels of brackets.
    pub(crate) fn new(text: &'a str, max_depth: usize) -> Self {
        Self {
            text,
            at: 0,
            open: Vec::new(),
            expect: Expect::Value,
            max_depth,
        }
    }

    /// The next event, with its text decoded.
    pub(crate) fn next(&mut self) -> Result<Event<'a>, JsonError> {
        self.advance(true)
    }

    /// Passes over one value and gives its text, without blanks around it. The escapes of strings
    /// inside are not checked.
    pub(crate) fn skip_value(&mut self) -> Result<&'a str, JsonError> {
        self.pass_comma();
        let start = self.at;
        let depth = self.open.len();
        loop {
            match self.advance(false)? {
                Event::End => return Err(self.error("the text ends where a value should stand")),
                _ if self.open.len() < depth => {
                    return Err(self.error("a bracket closes where a value should stand"));
                }
                Event::Key(_) => {}
                _ if self.open.len() == depth => break,
                _ => {}
            }
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Inside an array: whether its closing bracket comes next.
    pub(crate) fn at_end_of_array(&mut self) -> bool {
        self.skip_blanks();
        self.expect != Expect::Value
            && self.open.last() == Some(&Container::Array)
            && self.peek() == Some(b']')
    }

    /// Byte where the next event is looked for.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// A failure at this place.
    pub(crate) fn error(&self, message: impl Into<String>) -> JsonError {
        JsonError {
            offset: self.at.min(self.text.len()),
            message: message.into(),
        }
    }

    fn advance(&mut self, decode: bool) -> Result<Event<'a>, JsonError> {
        self.pass_comma();
        if self.expect == Expect::Separator {
            return self.close();
        }
        match (self.expect, self.peek()) {
            (Expect::End, None) => Ok(Event::End),
            (Expect::End, Some(_)) => Err(self.error("more text after the end of the value")),
            (Expect::FirstKey, Some(b'}')) | (Expect::FirstValue, Some(b']')) => self.close(),
            (Expect::FirstKey | Expect::Key, Some(b'"')) => {
                let key = self.string(decode)?;
                self.skip_blanks();
                if self.peek() != Some(b':') {
                    return Err(self.error("no colon after a key"));
                }
                self.at += 1;
                self.expect = Expect::Value;
                Ok(Event::Key(key))
            }
            (Expect::FirstKey | Expect::Key, _) => Err(self.error("no key where one should stand")),
            (_, byte) => self.value(byte, decode),
        }
    }

    /// Goes on to the first byte of the next event, unless a bracket should close there.
    fn pass_comma(&mut self) {
        self.skip_blanks();
        if self.expect == Expect::Separator && self.peek() == Some(b',') {
            self.at += 1;
            self.skip_blanks();
            self.expect = match self.open.last() {
                Some(Container::Object) => Expect::Key,
                _ => Expect::Value,
            };
        }
    }

    fn value(&mut self, byte: Option<u8>, decode: bool) -> Result<Event<'a>, JsonError> {
        let event = match byte {
            Some(b'{') => return self.begin(Container::Object),
            Some(b'[') => return self.begin(Container::Array),
            Some(b'"') => Event::String(self.string(decode)?),
            Some(b't') => self.literal("true", Event::Bool(true))?,
            Some(b'f') => self.literal("false", Event::Bool(false))?,
            Some(b'n') => self.literal("null", Event::Null)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => return Err(self.error("no value where one should stand")),
            None => return Err(self.error("the text ends where a value should stand")),
        };
        self.after_value();
        Ok(event)
    }

    fn begin(&mut self, container: Container) -> Result<Event<'a>, JsonError> {
        if self.open.len() >= self.max_depth {
            return Err(self.error(format!("more than {} nested brackets", self.max_depth)));
        }
        self.open.push(container);
        self.at += 1;
        Ok(match container {
            Container::Object => {
                self.expect = Expect::FirstKey;
                Event::BeginObject
            }
            Container::Array => {
                self.expect = Expect::FirstValue;
                Event::BeginArray
            }
        })
    }

    fn close(&mut self) -> Result<Event<'a>, JsonError> {
        let event = match (self.open.last(), self.peek()) {
            (Some(Container::Object), Some(b'}')) => Event::EndObject,
            (Some(Container::Array), Some(b']')) => Event::EndArray,
            (_, None) => return Err(self.error("the text ends inside a value")),
            _ => return Err(self.error("no comma or closing bracket after a value")),
        };
        self.open.pop();
        self.at += 1;
        self.after_value();
        Ok(event)
    }

    fn after_value(&mut self) {
        self.expect = if self.open.is_empty() {
            Expect::End
        } else {
            Expect::Separator
        };
    }

    fn literal(&mut self, word: &str, event: Event<'a>) -> Result<Event<'a>, JsonError> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.error("no value where one should stand"));
        }
        self.at += word.len();
        Ok(event)
    }

    fn number(&mut self) -> Result<Event<'a>, JsonError> {
        let length = self
            .rest()
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .unwrap_or(self.rest().len());
        let text = self.text.get(self.at..self.at + length).unwrap_or_default();
        if !is_number(text.as_bytes()) {
            return Err(self.error("a malformed number"));
        }
        self.at += length;
        Ok(Event::Number(text))
    }

    fn string(&mut self, decode: bool) -> Result<Cow<'a, str>, JsonError> {
        let start = self.at;
        let mut end = start + 1;
        let mut escaped = false;
        loop {
            let rest = self.text.as_bytes().get(end..).unwrap_or_default();
            let Some(hit) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(self.error("a string without its closing quote"));
            };
            if rest.get(hit) == Some(&b'"') {
                end += hit + 1;
                break;
            }
            escaped = true;
            end += hit + 2;
        }
        let quoted = self.text.get(start..end).unwrap_or_default();
        let bare = self.text.get(start + 1..end - 1).unwrap_or_default();
        let decoded = if !decode || (!escaped && bare.bytes().all(|byte| byte >= 0x20)) {
            Cow::Borrowed(bare)
        } else {
            let decoded = serde_json::from_str::<String>(quoted);
            Cow::Owned(decoded.map_err(|_| self.error("a string with a malformed escape"))?)
        };
        self.at = end;
        Ok(decoded)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}

fn is_number(text: &[u8]) -> bool {
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
        let exponent = exponent
            .strip_prefix(b"-")
            .or(exponent.strip_prefix(b"+"))
            .unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Text from outside as a message shows it: quoted, escaped, and cut where it runs on.
pub(crate) fn clipped(text: &str) -> String {
    match text
        .char_indices()
        .nth(100)
        .and_then(|(end, _)| text.get(..end))
    {
        Some(head) => format!("{head:?}…"),
        None => format!("{text:?}"),
    }
}

/// Goes through the entries of one JSON object: `visit` gets each key and the text of its value, and
/// entries that are null are passed over. `fail` makes the caller's error when the text is no object.
pub(crate) fn for_each_entry<'a>(
    text: &'a str,
    fail: impl Fn(JsonError) -> Error,
    mut visit: impl FnMut(&str, &'a str) -> Result<()>,
) -> Result<()> {
    let mut reader = JsonReader::new(text, MAX_DEPTH);
    if reader.next().map_err(&fail)? != Event::BeginObject {
        return Err(fail(JsonError {
            offset: 0,
            message: "no JSON object".to_owned(),
        }));
    }
    loop {
        match reader.next().map_err(&fail)? {
            Event::Key(key) => {
                let value = reader.skip_value().map_err(&fail)?;
                if value != "null" {
                    visit(&key, value)?;
                }
            }
            _ => {
                // the object is closed: only blanks may follow
                return reader.next().map(|_| ()).map_err(&fail);
            }
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accepts(text: &str) -> bool {
        let mut reader = JsonReader::new(text, MAX_DEPTH);
        loop {
            match reader.next() {
                Ok(Event::End) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    #[test]
    fn accepts_what_serde_accepts() {
        for text in [
            "1",
            " -0.5e+10 ",
            "01",
            "1.",
            ".5",
            "-",
            "1e",
            "1e5x",
            "+1",
            "true",
            "tru",
            "nullx",
            "\"a\"",
            "\"a",
            "\"\\u00e9\\n\"",
            "\"\\x\"",
            "\"\u{1}\"",
            "[]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{}",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":[{}, [true , null]]}",
            "[}",
            "{]",
            "",
            "  ",
            "[1]]",
            "{\"a\":1}{\"a\":2}",
            "[\"\\ud83d\\ude00\"]",
            "[\"\\ud83d\"]",
            "\u{feff}1",
        ] {
            let serde = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(accepts(text), serde, "{text:?}");
        }
    }

    #[test]
    fn every_proper_prefix_of_an_object_is_refused() {
        let text = r#"{"a":[1,"x\"y",{"b":null}],"c":{"d":false}}"#;
        assert!(accepts(text));
        for end in 0..text.len() {
            assert!(!accepts(&text[..end]), "{end}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_with_its_place() {
        let text = "[".repeat(1_000_000);
        let mut reader = JsonReader::new(&text, 500);
        let error = loop {
            if let Err(error) = reader.next() {
                break error;
            }
        };
        assert_eq!(error.offset, 500);
        assert!(error.message.contains("500"));
    }

    #[test]
    fn entries_come_with_their_text() {
        let mut seen = Vec::new();
        let fail = |error: JsonError| error.corrupt("x", "y");
        let text = r#" {"a": {"b":[1, 2]} , "n":null, "k\n":"v\"", "z":-1.50} "#;
        for_each_entry(text, fail, |key, value| {
            seen.push((key.to_owned(), value));
            Ok(())
        })
        .unwrap();
        let expected = [
            ("a", r#"{"b":[1, 2]}"#),
            ("k\n", r#""v\"""#),
            ("z", "-1.50"),
        ]
        .map(|(k, v)| (k.to_owned(), v));
        assert_eq!(seen, expected);
        assert!(for_each_entry("[1]", fail, |_, _| Ok(())).is_err());
        assert!(for_each_entry("{} x", fail, |_, _| Ok(())).is_err());
        assert!(for_each_entry(r#"{"a":}"#, fail, |_, _| Ok(())).is_err());
        assert!(for_each_entry(r#"{"a":"#, fail, |_, _| Ok(())).is_err());
    }

    proptest! {
        #[test]
        fn agrees_with_serde_on_any_text(text in r#"[\[\]{}",:0-9eE.+\-a-z\\ ]{0,24}"#) {
            prop_assert_eq!(accepts(&text), serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
