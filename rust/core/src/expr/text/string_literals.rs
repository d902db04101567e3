//! String literals in Spark's SQL: `'it\'s'`, `"a\tb"`, `r'\d+'`, `'one' 'two'`.
//!
//! Before an SQL text is tokenized, each such literal is converted to the form that the tokenizer expects: in
//! single quotes, with single quotes and backslashes doubled, and no other escapes.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use sqlparser::ast::ValueWithSpan;

/// Returns the same SQL with string literals in the canonical form; borrowed if nothing changes.
pub(super) fn canonical(sql: &str) -> Cow<'_, str> {
    let mut written = String::with_capacity(sql.len());
    if rewrite(sql, &mut written, &mut |_, _| ()).is_none() {
        // an unterminated literal is reported by the tokenizer
        written.push('\'');
    }
    if written == sql {
        return Cow::Borrowed(sql);
    }
    Cow::Owned(written)
}

/// Returns the values of the string literals in double quotes, which are names in other dialects; without raw
/// literals.
pub fn double_quoted(sql: &str) -> Vec<String> {
    let mut strings = Vec::new();
    rewrite(sql, &mut String::new(), &mut |quote, text| {
        if quote == '"' {
            strings.push(text.to_owned());
        }
    });
    strings
}

/// Returns the value of a literal of [`canonical`] SQL, from its token, in which only the backslashes are
/// still doubled.
pub(in crate::expr) fn value(token: &str) -> String {
    token.replace(r"\\", r"\")
}

/// Parses the digits of `X'00ff'`; `None` unless they are hexadecimal. As in Spark, the first digit may be
/// omitted if it is 0.
pub(in crate::expr) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |character: &u8| char::from(*character).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    let padded = match digits.len() % 2 {
        0 => Cow::Borrowed(digits),
        _ => Cow::Owned(format!("0{digits}")),
    };
    padded.as_bytes().chunks(2).map(byte).collect()
}

/// Returns `true` if a hexadecimal literal is a number, `0xff`, instead of bytes, `X'ff'`. The tokenizer
/// returns the same token for both: only its length tells them apart.
pub(in crate::expr) fn is_number(value: &ValueWithSpan, digits: &str) -> bool {
    let (from, to) = (value.span.start.column, value.span.end.column);
    let length_as_bytes = digits.len() as u64 + 3; // `X` and two quotes
    to.saturating_sub(from) < length_as_bytes
}

/// Writes the SQL with its literals in the canonical form; `None` if one is unterminated, after writing the
/// text before it. Calls `visit` with the quote and the value of each literal that is not raw.
fn rewrite(sql: &str, written: &mut String, visit: &mut dyn FnMut(char, &str)) -> Option<()> {
    let mut characters = sql.chars().peekable();
    // the end of a literal that is followed only by spaces and comments: the next literal continues it
    let mut ended = None;
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let is_raw = matches!(character, 'r' | 'R')
            && !in_word(before)
            && matches!(characters.peek(), Some('\'' | '"'));
        match character {
            '\'' | '"' if !in_word(before) => {
                let text = literal(&mut characters, character, false)?;
                visit(character, &text);
                append(written, &mut ended, &text);
            }
            // bytes, `X'00'`, and typed literals without a space do not continue another one
            '\'' | '"' => {
                let text = literal(&mut characters, character, false)?;
                visit(character, &text);
                append(written, &mut None, &text);
                ended = None;
            }
            _ if is_raw => {
                let quote = characters.next()?;
                let text = literal(&mut characters, quote, true)?;
                append(written, &mut ended, &text);
            }
            '`' => {
                ended = None;
                written.push(character);
                copy_to(&mut characters, written, '`');
            }
            '-' if characters.peek() == Some(&'-') => {
                written.push(character);
                copy_to(&mut characters, written, '\n');
            }
            '/' if characters.peek() == Some(&'*') => {
                written.push(character);
                written.extend(characters.next());
                copy_comment(&mut characters, written);
            }
            other => {
                if !other.is_whitespace() {
                    ended = None;
                }
                written.push(other);
            }
        }
        before = if is_raw { '\'' } else { character };
    }
    Some(())
}

fn in_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Copies characters up to and including `end`.
fn copy_to(characters: &mut Peekable<Chars<'_>>, written: &mut String, end: char) {
    for character in characters.by_ref() {
        written.push(character);
        if character == end {
            return;
        }
    }
}

/// Copies a comment after its `/*`, with the comments that are nested in it.
fn copy_comment(characters: &mut Peekable<Chars<'_>>, written: &mut String) {
    let mut depth = 1;
    while let Some(character) = characters.next() {
        written.push(character);
        let (second, change) = match character {
            '/' => ('*', 1),
            '*' => ('/', -1),
            _ => continue,
        };
        if characters.next_if_eq(&second).is_some() {
            written.push(second);
            depth += change;
            if depth == 0 {
                return;
            }
        }
    }
}

/// Writes a literal, or extends the previous one.
fn append(written: &mut String, ended: &mut Option<usize>, text: &str) {
    match *ended {
        Some(end) => written.truncate(end.saturating_sub(1)),
        None => written.push('\''),
    }
    for character in text.chars() {
        if matches!(character, '\'' | '\\') {
            written.push(character);
        }
        written.push(character);
    }
    written.push('\'');
    *ended = Some(written.len());
}

/// Returns the value of a literal after its opening quote; `None` if it is unterminated.
fn literal(characters: &mut Peekable<Chars<'_>>, quote: char, is_raw: bool) -> Option<String> {
    let mut text = String::new();
    loop {
        match characters.next()? {
            '\\' if !is_raw => escape(characters, &mut text)?,
            character if character == quote => {
                if is_raw || characters.next_if_eq(&quote).is_none() {
                    return Some(text);
                }
                text.push(quote);
            }
            character => text.push(character),
        }
    }
}

/// Decodes an escape sequence after its backslash; `None` if the text ends there.
fn escape(characters: &mut Peekable<Chars<'_>>, text: &mut String) -> Option<()> {
    let character = characters.next()?;
    match character {
        'u' | 'U' => match digits(characters, if character == 'u' { 4 } else { 8 }, 16) {
            Some(code) => text.push(unicode(characters, code)),
            None => text.push(character),
        },
        '0' | '1' => {
            let mut ahead = characters.clone();
            match digits(&mut ahead, 2, 8).zip(character.to_digit(8)) {
                Some((low, high)) => {
                    *characters = ahead;
                    text.extend(char::from_u32(high * 64 + low));
                }
                None => text.push(if character == '0' { '\0' } else { character }),
            }
        }
        'b' => text.push('\u{8}'),
        'n' => text.push('\n'),
        'r' => text.push('\r'),
        't' => text.push('\t'),
        'Z' => text.push('\u{1a}'),
        // LIKE patterns need both characters
        '%' | '_' => text.extend(['\\', character]),
        other => text.push(other),
    }
    Some(())
}

/// Parses `count` digits; consumes nothing if there are fewer.
fn digits(characters: &mut Peekable<Chars<'_>>, count: usize, radix: u32) -> Option<u32> {
    let mut ahead = characters.clone();
    let mut code: u32 = 0;
    for _ in 0..count {
        let digit = ahead.next()?.to_digit(radix)?;
        code = code.checked_mul(radix)?.checked_add(digit)?;
    }
    *characters = ahead;
    Some(code)
}

/// Returns the character of an escape: a surrogate pair is one character, a lone surrogate becomes a question
/// mark.
fn unicode(characters: &mut Peekable<Chars<'_>>, code: u32) -> char {
    if (0xD800..0xDC00).contains(&code) {
        let mut ahead = characters.clone();
        if ahead.next() == Some('\\')
            && ahead.next() == Some('u')
            && let Some(low @ 0xDC00..0xE000) = digits(&mut ahead, 4, 16)
        {
            *characters = ahead;
            let code = 0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            return char::from_u32(code).unwrap_or('?');
        }
    }
    char::from_u32(code).unwrap_or('?')
}

#[cfg(test)]
mod tests;
