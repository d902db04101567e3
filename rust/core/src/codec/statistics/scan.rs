//! A forward-only reader of one JSON text: tokens out, nothing built.
//!
//! What is taken is checked strictly (keys, scalars, commas, escapes, control characters), with one
//! mercy: the bare words `NaN`, `Infinity` and `-Infinity` pass as numbers, because some writers
//! emit them. What is skipped is only checked to have its strings ended and its brackets closed.
//! Nothing recurses, whatever the nesting.
//!
//! `None` always means malformed: the caller drops the whole text.

use super::mask;

/// One scalar as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    /// A string, without its quotes.
    Text(Text<'a>),
    /// A number, or one of the bare words for numbers that JSON cannot spell.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// The inside of a string: as it stands, escapes not yet resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// The text with its escapes resolved, in `scratch` only where there are any. `None` where an
    /// escape stands for half a surrogate pair: no such string exists in UTF-8.
    pub(super) fn resolve<'b>(self, scratch: &'b mut String) -> Option<&'b str>
    where
        'a: 'b,
    {
        if !self.escaped {
            return Some(self.raw);
        }
        scratch.clear();
        let mut rest = self.raw;
        while let Some((plain, escape)) = rest.split_once('\\') {
            scratch.push_str(plain);
            let mut chars = escape.chars();
            match chars.next()? {
                'b' => scratch.push('\u{8}'),
                'f' => scratch.push('\u{c}'),
                'n' => scratch.push('\n'),
                'r' => scratch.push('\r'),
                't' => scratch.push('\t'),
                'u' => {
                    let unit = hex4(&mut chars)?;
                    let code = match unit {
                        0xD800..=0xDBFF => {
                            let low = chars.as_str().strip_prefix("\\u")?;
                            chars = low.chars();
                            let low = hex4(&mut chars)?.checked_sub(0xDC00)?;
                            (low < 0x400).then_some(0x10000 + ((unit - 0xD800) << 10) + low)?
                        }
                        unit => unit,
                    };
                    scratch.push(char::from_u32(code)?);
                }
                other => scratch.push(other),
            }
            rest = chars.as_str();
        }
        scratch.push_str(rest);
        Some(scratch)
    }
}

fn hex4(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut unit = 0;
    for _ in 0..4 {
        unit = unit << 4 | chars.next()?.to_digit(16)?;
    }
    Some(unit)
}

/// A place in one JSON text.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no whitespace, not taken.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Takes the next byte that is no whitespace if it is `wanted`.
    #[inline]
    pub(super) fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// Whether only whitespace is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Takes a key and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Option<Text<'a>> {
        self.take(b'"')?;
        let key = self.rest_of_string()?;
        self.take(b':')?;
        Some(key)
    }

    /// Takes what parts two members: true for a comma, false for `close`.
    #[inline]
    pub(super) fn more(&mut self, close: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(true),
            byte if byte == close => Some(false),
            _ => None,
        }
    }

    /// Takes a scalar.
    #[inline]
    pub(super) fn scalar(&mut self) -> Option<Scalar<'a>> {
        if self.peek()? == b'"' {
            self.at += 1;
            return self.rest_of_string().map(Scalar::Text);
        }
        let start = self.at;
        let tail = self.text.as_bytes().get(start..)?;
        let length = tail
            .iter()
            .position(|byte| !is_word(*byte))
            .unwrap_or(tail.len());
        self.at += length;
        let word = self.text.get(start..self.at)?;
        if is_number(word.as_bytes()) {
            return Some(Scalar::Number(word));
        }
        match word {
            "true" => Some(Scalar::Bool(true)),
            "false" => Some(Scalar::Bool(false)),
            "null" => Some(Scalar::Null),
            _ => None,
        }
    }

    /// Takes `expected`, which must be a key with its quotes and colon, if that stands here.
    #[inline]
    pub(super) fn take_key(&mut self, expected: &[u8]) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let found = rest.starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Passes over a value of any kind.
    #[inline]
    pub(super) fn skip_value(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' | b'[' => {
                self.at += 1;
                self.skip_rest()
            }
            _ => self.scalar().map(|_| ()),
        }
    }

    /// From within an object or list, between its members, to behind its closing bracket.
    pub(super) fn skip_rest(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += mask::end_of_container(rest)?;
        Some(())
    }

    /// From behind the opening quote to behind the closing one.
    #[inline]
    fn rest_of_string(&mut self) -> Option<Text<'a>> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        loop {
            self.at += mask::plain_prefix(bytes.get(self.at..)?);
            match bytes.get(self.at)? {
                b'"' => {
                    let raw = self.text.get(start..self.at)?;
                    self.at += 1;
                    return Some(Text { raw, escaped });
                }
                b'\\' => {
                    escaped = true;
                    match bytes.get(self.at + 1)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
                        b'u' => {
                            let digits = bytes.get(self.at + 2..self.at + 6)?;
                            digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                            self.at += 6;
                        }
                        _ => return None,
                    }
                }
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
    }
}

/// The bytes that a scalar other than a string is made of.
#[inline]
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Whether this is a number by JSON's grammar, or a word for one that JSON cannot spell.
#[inline]
fn is_number(word: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unsigned = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(unsigned);
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    if whole == 0 {
        return matches!(word, b"NaN" | b"Infinity" | b"-Infinity");
    }
    if whole > 1 && unsigned.first() == Some(&b'0') {
        return false;
    }
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
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether a text is one value with nothing behind it.
    fn passes(text: &str) -> bool {
        let mut scanner = Scanner::new(text);
        scanner.skip_value().is_some() && scanner.at_end()
    }

    fn serde_says(text: &str) -> bool {
        serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    }

    #[test]
    fn takes_what_json_allows() {
        for text in [
            "{}",
            " [ ] ",
            "0",
            "-0.5e+10",
            r#""""#,
            r#"{"a":[1,{"b":null}],"c":"\u00e9\"\\"}"#,
            "[[[]],{},true]",
            r#""abcdefghijklmnop\"q""#,
            r#"{"a":"}]\\"}"#,
        ] {
            assert!(serde_says(text), "{text}");
            assert!(passes(text), "{text}");
        }
    }

    #[test]
    fn refuses_what_json_does_not() {
        for text in [
            "",
            "{",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "tru",
            "\"\n\"",
            r#""\x""#,
            r#""\u12g4""#,
            "[1}]",
            "1 1",
            "\"abc",
            r#"{"a":"}"#,
            r#"["\"]"#,
            "nan",
            "-NaN",
        ] {
            assert!(!serde_says(text), "{text}");
            assert!(!passes(text), "{text}");
        }
    }

    #[test]
    fn passes_the_words_for_no_number() {
        for word in ["NaN", "Infinity", "-Infinity"] {
            assert_eq!(Scanner::new(word).scalar(), Some(Scalar::Number(word)));
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let depth = 1_000_000;
        assert!(passes(&("[".repeat(depth) + &"]".repeat(depth))));
        assert!(!passes(&"{\"a\":".repeat(depth)));
    }

    #[test]
    fn resolves_escapes() {
        let resolve = |text: &str| {
            let Some(Scalar::Text(inside)) = Scanner::new(text).scalar() else {
                panic!("no string: {text}");
            };
            inside.resolve(&mut String::new()).map(str::to_owned)
        };
        assert_eq!(
            resolve(r#""a\/\b\f\n\r\t\u0041\\\"z""#).unwrap(),
            "a/\u{8}\u{c}\n\r\tA\\\"z"
        );
        assert_eq!(resolve(r#""\ud83d\uDE80!""#).unwrap(), "🚀!");
        for half in [
            r#""\ud83d""#,
            r#""\ud83dx""#,
            r#""\ude80""#,
            r#""\ud83d\u0041""#,
        ] {
            assert_eq!(resolve(half), None, "{half}");
        }
    }

    proptest! {
        #[test]
        fn scalars_as_serde(text in r#"("a\\?"|[0-9eE.+\-]{1,5}|true|null|"\\u00[0-9a-g]{2}")"#) {
            prop_assert_eq!(passes(&text), serde_says(&text));
        }

        #[test]
        fn skips_exactly_one_value(
            text in r#"([\[\]{},: ]|"[a{\[}]{0,70}(\\["\\])*"|[0-9]|true){0,40}"#,
            tail in "[ ,}]",
        ) {
            if serde_says(&text) {
                let longer = format!("{text}{tail}1");
                let mut scanner = Scanner::new(&longer);
                prop_assert_eq!(scanner.skip_value(), Some(()));
                let rest = &longer[scanner.at..];
                let expected = format!("{tail}1");
                prop_assert_eq!(rest.trim_start(), expected.trim_start());
            }
        }

        #[test]
        fn strings_survive(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let Some(Scalar::Text(inside)) = Scanner::new(&json).scalar() else {
                panic!("no string: {json}");
            };
            let mut scratch = String::new();
            prop_assert_eq!(inside.resolve(&mut scratch), Some(text.as_str()));
        }
    }
}
