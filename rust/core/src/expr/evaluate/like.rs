//! `LIKE` patterns: `_` matches any character, `%` any number of characters.

use memchr::memmem;

/// The default escape character.
pub(in crate::expr) const DEFAULT_ESCAPE: char = '\\';

const MISPLACED_ESCAPE: &str = "the escape character of a pattern must precede %, _ or itself: double it to \
    match the character";

/// Escapes a text to a pattern that matches only this text.
pub(in crate::expr) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '%' | '_' | DEFAULT_ESCAPE) {
            pattern.push(DEFAULT_ESCAPE);
        }
        pattern.push(character);
    }
    pattern
}

/// A compiled pattern, split at its `%`.
#[derive(Clone, Debug)]
pub(in crate::expr) struct LikePattern {
    first: Segment,
    /// The segments between the first and the last `%`, each matched as early as possible.
    middle: Vec<Segment>,
    /// The segment after the last `%`; `None` for a pattern without `%`.
    last: Option<Segment>,
}

/// A part of a pattern without `%`.
type Segment = Vec<Piece>;

#[derive(Clone, Debug)]
enum Piece {
    Text(Vec<u8>),
    /// Any character.
    Character,
}

/// The literal start of a pattern, and whether it decides if a string matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::expr) enum Prefix<'a> {
    /// Only this string matches.
    Exact(&'a [u8]),
    /// A string matches if and only if it has this prefix.
    Sufficient(&'a [u8]),
    /// All matching strings have this prefix, but not all strings with it match.
    Necessary(&'a [u8]),
}

impl LikePattern {
    /// Compiles a pattern with its escape character; the error is the reason why it is invalid.
    pub(in crate::expr) fn new(pattern: &str, escape: char) -> Result<Self, &'static str> {
        let mut segments = Vec::new();
        let mut segment = Segment::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let character = if character == escape {
                match characters.next() {
                    Some(next) if next == '%' || next == '_' || next == escape => next,
                    Some(_) => return Err(MISPLACED_ESCAPE),
                    None => return Err("the pattern ends with its escape character: double it"),
                }
            } else if character == '%' {
                segments.push(std::mem::take(&mut segment));
                continue;
            } else if character == '_' {
                segment.push(Piece::Character);
                continue;
            } else {
                character
            };
            let bytes = character.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
            match segment.last_mut() {
                Some(Piece::Text(text)) => text.extend(bytes),
                _ => segment.push(Piece::Text(bytes)),
            }
        }
        segments.push(segment);
        let mut segments = segments.into_iter();
        let first = segments.next().unwrap_or_default();
        let last = segments.next_back();
        let middle = segments.filter(|segment| !segment.is_empty()).collect();
        Ok(Self {
            first,
            middle,
            last,
        })
    }

    /// Returns `true` if a string matches. The bytes are UTF-8.
    pub(in crate::expr) fn matches(&self, text: &[u8]) -> bool {
        let Some(mut rest) = strip_segment(&self.first, text) else {
            return false;
        };
        let Some(last) = &self.last else {
            return rest.is_empty();
        };
        for segment in &self.middle {
            match after_first(segment, rest) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        ends_with(last, rest)
    }

    /// Returns the literal start of the pattern.
    pub(in crate::expr) fn prefix(&self) -> Prefix<'_> {
        let start: &[u8] = match self.first.first() {
            Some(Piece::Text(text)) => text,
            _ => &[],
        };
        let all = matches!(self.first.as_slice(), [] | [Piece::Text(_)]);
        match &self.last {
            None if all => Prefix::Exact(start),
            Some(last) if all && last.is_empty() && self.middle.is_empty() => {
                Prefix::Sufficient(start)
            }
            _ => Prefix::Necessary(start),
        }
    }
}

/// Returns the rest of the text if it starts with the segment.
fn strip_segment<'a>(segment: &[Piece], text: &'a [u8]) -> Option<&'a [u8]> {
    segment.iter().try_fold(text, |rest, piece| match piece {
        Piece::Text(text) => rest.strip_prefix(text.as_slice()),
        Piece::Character => after_character(rest),
    })
}

fn after_character(text: &[u8]) -> Option<&[u8]> {
    let (_, mut rest) = text.split_first()?;
    while let Some((byte, after)) = rest.split_first()
        && is_continuation(*byte)
    {
        rest = after;
    }
    Some(rest)
}

/// Returns `true` if the text ends with the segment.
fn ends_with(segment: &[Piece], text: &[u8]) -> bool {
    let rest = segment.iter().rev().try_fold(text, |mut rest, piece| {
        if let Piece::Text(part) = piece {
            return rest.strip_suffix(part.as_slice());
        }
        loop {
            let (byte, before) = rest.split_last()?;
            rest = before;
            if !is_continuation(*byte) {
                return Some(rest);
            }
        }
    });
    rest.is_some()
}

/// Returns the text after the first match of the segment.
fn after_first<'a>(segment: &[Piece], text: &'a [u8]) -> Option<&'a [u8]> {
    if let [Piece::Text(part)] = segment {
        let end = memmem::find(text, part)?.checked_add(part.len())?;
        return text.get(end..);
    }
    let mut rest = text;
    loop {
        if let Some(after) = strip_segment(segment, rest) {
            return Some(after);
        }
        rest = after_character(rest)?;
    }
}

/// Returns `true` if a byte of UTF-8 is not the first one of a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Returns the first string after all strings with this prefix; `None` if there is none.
pub(in crate::expr) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut prefix = prefix.to_vec();
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}
