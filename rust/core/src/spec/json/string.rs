//! Strings as encoded in a JSON text, and their decoding.

use std::borrow::Cow;

/// The text between the quotes of a string; its escapes are well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawString<'a> {
    pub(super) raw: &'a str,
    pub(super) escaped: bool,
    /// True if it contains a control character that is not escaped, which JSON does not allow.
    pub(super) control: bool,
}

impl<'a> RawString<'a> {
    /// Decodes the string; borrowed if it has no escape. Control characters are accepted.
    pub fn decode(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        self.decode_into(&mut out);
        Cow::Owned(out)
    }

    /// Appends the decoded string. An escape of a lone surrogate becomes U+FFFD; returns `false` if there
    /// was one.
    pub fn decode_into(self, out: &mut String) -> bool {
        if !self.escaped {
            out.push_str(self.raw);
            return true;
        }
        let mut exact = true;
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (plain, tail) = rest.split_at(at);
            out.push_str(plain);
            let mut chars = tail.chars();
            chars.next();
            match chars.next() {
                Some('u') => {
                    let (unit, after) = hex4(chars.as_str());
                    let (point, after) = match (unit, low_surrogate(after)) {
                        (0xD800..=0xDBFF, Some((low, after))) => {
                            (0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), after)
                        }
                        _ => (unit, after),
                    };
                    rest = after;
                    let point = char::from_u32(point);
                    exact &= point.is_some();
                    out.push(point.unwrap_or(char::REPLACEMENT_CHARACTER));
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
        exact
    }

    /// Decodes the string, into `scratch` only if it has an escape. `None` if it is not valid JSON: a
    /// control character that is not escaped, a lone surrogate.
    pub(crate) fn strict<'b>(self, scratch: &'b mut String) -> Option<&'b str>
    where
        'a: 'b,
    {
        if self.control {
            return None;
        }
        if !self.escaped {
            return Some(self.raw);
        }
        scratch.clear();
        self.decode_into(scratch).then_some(scratch)
    }

    /// Decodes as [`Self::strict`] does; borrowed if there is no escape.
    pub(super) fn strict_cow(self) -> Option<Cow<'a, str>> {
        let mut scratch = String::new();
        match self.strict(&mut scratch) {
            None => None,
            Some(_) if !self.escaped => Some(Cow::Borrowed(self.raw)),
            Some(_) => Some(Cow::Owned(scratch)),
        }
    }

    /// Returns `true` if it has a control character that should be escaped.
    pub(crate) fn has_control(self) -> bool {
        self.control
    }
}

/// Parses four hex digits, checked already, and returns the rest.
fn hex4(text: &str) -> (u32, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(0xFFFD), rest)
}

fn low_surrogate(text: &str) -> Option<(u32, &str)> {
    let (unit, rest) = hex4(text.strip_prefix("\\u")?);
    (0xDC00..=0xDFFF).contains(&unit).then_some((unit, rest))
}
