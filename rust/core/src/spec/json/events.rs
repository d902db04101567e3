//! Reads one JSON text as events. The open brackets are in a list, not on the stack.
//!
//! Used where nesting is not bounded by the writer (schemas, hints, checksums), and where the text of a
//! number, a repeated key or a byte offset matters.

use std::borrow::Cow;

use super::cursor::is_number;
use super::{Cursor, JsonError};
use crate::error::{Error, Result};

/// The default maximum nesting of brackets.
pub(crate) const MAX_DEPTH: usize = 2_000;

/// The next part of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    BeginObject,
    EndObject,
    BeginArray,
    EndArray,
    Key(Cow<'a, str>),
    String(Cow<'a, str>),
    /// The text of a number.
    Number(&'a str),
    Bool(bool),
    Null,
    /// The end of the text.
    End,
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
    cursor: Cursor<'a>,
    open: Vec<Container>,
    expect: Expect,
    max_depth: usize,
}

impl<'a> JsonReader<'a> {
    /// Creates a reader that refuses more than `max_depth` levels of brackets.
    pub(crate) fn new(text: &'a str, max_depth: usize) -> Self {
        Self {
            cursor: Cursor::new(text),
            open: Vec::new(),
            expect: Expect::Value,
            max_depth,
        }
    }

    /// Returns the next event, with its text decoded.
    pub(crate) fn next(&mut self) -> Result<Event<'a>, JsonError> {
        self.advance(true)
    }

    /// Skips one value and returns its text, without surrounding whitespace. Strings in it may have control
    /// characters and lone surrogates.
    pub(crate) fn skip_value(&mut self) -> Result<&'a str, JsonError> {
        self.pass_comma();
        let start = self.cursor.clone();
        let depth = self.open.len();
        loop {
            match self.advance(false)? {
                Event::End => return Err(self.error("the text ends where a value is expected")),
                _ if self.open.len() < depth => {
                    return Err(self.error("a bracket closes where a value is expected"));
                }
                Event::Key(_) => {}
                _ if self.open.len() == depth => break,
                _ => {}
            }
        }
        Ok(start.up_to(&self.cursor))
    }

    /// Returns `true` if the closing bracket of an array is next.
    pub(crate) fn at_end_of_array(&mut self) -> bool {
        self.expect != Expect::Value
            && self.open.last() == Some(&Container::Array)
            && self.cursor.peek() == Some(b']')
    }

    /// Returns the byte offset up to which the text is read.
    pub(crate) fn offset(&self) -> usize {
        self.cursor.offset()
    }

    /// Returns an error at this position.
    pub(crate) fn error(&self, message: &'static str) -> JsonError {
        JsonError {
            offset: self.offset(),
            message,
        }
    }

    fn advance(&mut self, decode: bool) -> Result<Event<'a>, JsonError> {
        self.pass_comma();
        if self.expect == Expect::Separator {
            return self.close();
        }
        match (self.expect, self.cursor.peek()) {
            (Expect::End, None) => Ok(Event::End),
            (Expect::End, Some(_)) => Err(self.error("more text after the end of the value")),
            (Expect::FirstKey, Some(b'}')) | (Expect::FirstValue, Some(b']')) => self.close(),
            (Expect::FirstKey | Expect::Key, Some(b'"')) => {
                let key = self.string(decode)?;
                if !self.cursor.take_byte(b':') {
                    return Err(self.error("no colon after a key"));
                }
                self.expect = Expect::Value;
                Ok(Event::Key(key))
            }
            (Expect::FirstKey | Expect::Key, _) => Err(self.error("expected a key")),
            (_, byte) => self.value(byte, decode),
        }
    }

    /// Advances to the first byte of the next event, unless a bracket should close there.
    fn pass_comma(&mut self) {
        self.cursor.peek();
        if self.expect == Expect::Separator && self.cursor.take_byte(b',') {
            self.cursor.peek();
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
            Some(b't') => self.cursor.literal("true").map(|()| Event::Bool(true))?,
            Some(b'f') => self.cursor.literal("false").map(|()| Event::Bool(false))?,
            Some(b'n') => self.cursor.literal("null").map(|()| Event::Null)?,
            Some(b'-' | b'0'..=b'9') => {
                let malformed = self.error("a malformed number");
                let number = self.cursor.number()?;
                if !is_number(number.as_bytes()) {
                    return Err(malformed);
                }
                Event::Number(number)
            }
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the text ends where a value is expected")),
        };
        self.after_value();
        Ok(event)
    }

    fn begin(&mut self, container: Container) -> Result<Event<'a>, JsonError> {
        if self.open.len() >= self.max_depth {
            return Err(self.error("brackets are nested too deep"));
        }
        self.open.push(container);
        Ok(match container {
            Container::Object => {
                self.cursor.take_byte(b'{');
                self.expect = Expect::FirstKey;
                Event::BeginObject
            }
            Container::Array => {
                self.cursor.take_byte(b'[');
                self.expect = Expect::FirstValue;
                Event::BeginArray
            }
        })
    }

    fn close(&mut self) -> Result<Event<'a>, JsonError> {
        let event = match self.open.last() {
            Some(Container::Object) if self.cursor.take_byte(b'}') => Event::EndObject,
            Some(Container::Array) if self.cursor.take_byte(b']') => Event::EndArray,
            _ if self.cursor.peek().is_none() => {
                return Err(self.error("the text ends inside a value"));
            }
            _ => return Err(self.error("no comma or closing bracket after a value")),
        };
        self.open.pop();
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

    /// Parses a string; errors have the offset of its beginning.
    fn string(&mut self, decode: bool) -> Result<Cow<'a, str>, JsonError> {
        let malformed = self.error("a malformed string");
        let string = self.cursor.string();
        let string = string.map_err(|error| JsonError {
            offset: malformed.offset,
            ..error
        })?;
        if decode {
            string.strict_cow().ok_or(malformed)
        } else {
            Ok(Cow::Borrowed(""))
        }
    }
}

/// Calls `visit` with each key of one JSON object and the text of its value; null entries are skipped.
/// `fail` creates the caller's error if the text is not an object.
pub(crate) fn for_each_entry<'a>(
    text: &'a str,
    fail: impl Fn(JsonError) -> Error,
    mut visit: impl FnMut(&str, &'a str) -> Result<()>,
) -> Result<()> {
    let mut reader = JsonReader::new(text, MAX_DEPTH);
    if reader.next().map_err(&fail)? != Event::BeginObject {
        return Err(fail(JsonError {
            offset: 0,
            message: "expected a JSON object",
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
                // the object is closed: only whitespace may follow
                return reader.next().map(|_| ()).map_err(&fail);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
