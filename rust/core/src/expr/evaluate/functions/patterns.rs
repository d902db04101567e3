//! Translates regular expressions of Java, for `RLIKE`, to those of Rust.
//!
//! The two languages share most of their syntax, but it differs in meaning: in Java, `\d` matches only ASCII
//! digits, `$` also matches before a final line break, `.` matches no kind of line break. Constructs without an
//! equivalent, or whose meaning depends on the version of Java, are refused by name, and so are lookaround
//! and back references, which Rust's engine does not support.

use std::fmt::Write;

use regex::Regex;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, GroupKind, Literal,
    LiteralKind, SpecialLiteralKind,
};

/// Java's line breaks, for use in a class.
const LINE_BREAKS: &str = r"\n\r\x{85}\x{2028}\x{2029}";

/// Translates a pattern of Java to Rust; the error is the reason why it is not supported.
pub(in crate::expr) fn java_regex(pattern: &str) -> Result<Regex, String> {
    let (flags, pattern) = leading_flags(pattern);
    let ast = Parser::new()
        .parse(pattern)
        .map_err(|cause| cause.kind().to_string())?;
    let mut writer = Writer {
        pattern,
        output: String::with_capacity(pattern.len() + 16),
        ignores_case: flags.contains('i'),
        dot_matches_line_breaks: flags.contains('s'),
    };
    writer.part(&ast, true)?;
    Regex::new(&writer.output).map_err(|_| "it is too large".to_owned())
}

/// Splits the leading flags `i` and `s` of a pattern, which apply to all of it, from the rest.
fn leading_flags(pattern: &str) -> (&str, &str) {
    let split = pattern
        .strip_prefix("(?")
        .and_then(|rest| rest.split_once(')'));
    match split {
        Some((flags, rest))
            if !flags.is_empty() && flags.bytes().all(|flag| b"is".contains(&flag)) =>
        {
            (flags, rest)
        }
        _ => ("", pattern),
    }
}

struct Writer<'a> {
    pattern: &'a str,
    output: String,
    /// True for `(?i)`, which affects only ASCII letters in Java.
    ignores_case: bool,
    /// True for `(?s)`.
    dot_matches_line_breaks: bool,
}

type WriteResult = Result<(), String>;

fn refused<T>(construct: &str) -> Result<T, String> {
    Err(format!("it has {construct}"))
}

impl Writer<'_> {
    /// Writes a part; `is_last` if nothing follows it.
    fn part(&mut self, ast: &Ast, is_last: bool) -> WriteResult {
        match ast {
            Ast::Empty(_) => {}
            Ast::Flags(_) => return refused("flags other than i and s at its start"),
            Ast::Literal(literal) => {
                let character = character(literal)?;
                self.character(character);
            }
            Ast::Dot(_) if self.dot_matches_line_breaks => self.output.push_str(r"(?s:.)"),
            Ast::Dot(_) => {
                let _ = write!(self.output, "[^{LINE_BREAKS}]");
            }
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine | AssertionKind::StartText => self.output.push_str(r"\A"),
                AssertionKind::EndText => self.output.push_str(r"\z"),
                AssertionKind::EndLine if is_last => {
                    let _ = write!(self.output, r"(?:\r\n|[{LINE_BREAKS}])?\z");
                }
                AssertionKind::EndLine => return refused("$ before its end"),
                _ => return refused("word boundaries, which differ between versions of Java"),
            },
            Ast::ClassUnicode(_) => {
                return refused(r"\p, whose members differ between versions of Java");
            }
            Ast::ClassPerl(class) => {
                let negated = if class.negated { "^" } else { "" };
                let _ = write!(self.output, "[{negated}{}]", members(class));
            }
            Ast::ClassBracketed(class) => {
                self.output.push_str(if class.negated { "[^" } else { "[" });
                match &class.kind {
                    ClassSet::Item(item) => self.item(item)?,
                    ClassSet::BinaryOp(_) => return refused("&&, -- or ~~ in a class"),
                }
                self.output.push(']');
            }
            Ast::Repetition(repeated) => {
                if matches!(*repeated.ast, Ast::Repetition(_)) {
                    return refused("a possessive quantifier");
                }
                let span = repeated.op.span;
                let op = self.pattern.get(span.start.offset..span.end.offset);
                let op = op.unwrap_or_default();
                if op.contains(char::is_whitespace) {
                    return refused("white space in a quantifier");
                }
                self.output.push_str("(?:");
                self.part(&repeated.ast, false)?;
                self.output.push(')');
                self.output.push_str(op);
            }
            Ast::Group(group) => {
                match &group.kind {
                    GroupKind::CaptureIndex(_) => {}
                    GroupKind::CaptureName { starts_with_p, .. } if !starts_with_p => {}
                    GroupKind::NonCapturing(flags) if flags.items.is_empty() => {}
                    _ => return refused("a group with flags or with P"),
                }
                self.output.push_str("(?:");
                self.part(&group.ast, is_last)?;
                self.output.push(')');
            }
            Ast::Alternation(either) => {
                for (number, alternative) in either.asts.iter().enumerate() {
                    if number > 0 {
                        self.output.push('|');
                    }
                    self.part(alternative, is_last)?;
                }
            }
            Ast::Concat(parts) => {
                for (number, part) in parts.asts.iter().enumerate() {
                    self.part(part, is_last && number + 1 == parts.asts.len())?;
                }
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &ClassSetItem) -> WriteResult {
        match item {
            ClassSetItem::Empty(_) => {}
            ClassSetItem::Literal(literal) => {
                let character = in_class(literal)?;
                self.range(character, character);
            }
            ClassSetItem::Range(range) => {
                self.range(in_class(&range.start)?, in_class(&range.end)?);
            }
            ClassSetItem::Perl(class) if class.negated => {
                return refused(r"\D, \S or \W in a class");
            }
            ClassSetItem::Perl(class) => self.output.push_str(members(class)),
            ClassSetItem::Union(union) => {
                for item in &union.items {
                    self.item(item)?;
                }
            }
            _ => return refused("a class in a class, or a class by its name"),
        }
        Ok(())
    }

    fn character(&mut self, character: char) {
        if self.ignores_case && character.is_ascii_alphabetic() {
            let (lower, upper) = (
                character.to_ascii_lowercase(),
                character.to_ascii_uppercase(),
            );
            let _ = write!(self.output, "[{lower}{upper}]");
        } else {
            let _ = write!(self.output, "\\x{{{:x}}}", u32::from(character));
        }
    }

    /// Writes a range of a class.
    fn range(&mut self, first: char, last: char) {
        let mut plain = |first: char, last: char| {
            let (first, last) = (u32::from(first), u32::from(last));
            let _ = write!(self.output, "\\x{{{first:x}}}-\\x{{{last:x}}}");
        };
        plain(first, last);
        if !self.ignores_case {
            return;
        }
        for (from, to, other) in [('a', 'z', 'A'), ('A', 'Z', 'a')] {
            let (low, high) = (first.max(from), last.min(to));
            if low <= high {
                let other_case = |character: char| {
                    let code = u32::from(character) - u32::from(from) + u32::from(other);
                    char::from_u32(code).unwrap_or(character)
                };
                plain(other_case(low), other_case(high));
            }
        }
    }
}

/// Returns the characters of `\d`, `\s` and `\w`, for use in a class.
fn members(class: &ClassPerl) -> &'static str {
    match class.kind {
        ClassPerlKind::Digit => "0-9",
        ClassPerlKind::Space => r" \t\n\x0B\f\r",
        ClassPerlKind::Word => "a-zA-Z_0-9",
    }
}

fn character(literal: &Literal) -> Result<char, String> {
    match literal.kind {
        LiteralKind::Special(SpecialLiteralKind::VerticalTab) => refused(r"\v"),
        LiteralKind::HexFixed(_) | LiteralKind::HexBrace(_) if literal.c > '\u{ffff}' => {
            refused("the code of a character beyond U+FFFF")
        }
        _ => Ok(literal.c),
    }
}

fn in_class(literal: &Literal) -> Result<char, String> {
    match (&literal.kind, literal.c) {
        (LiteralKind::Verbatim, ']' | '&') => refused("] or & in a class: put \\ before it"),
        _ => character(literal),
    }
}

#[cfg(test)]
mod tests;
