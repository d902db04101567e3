//! Text of strangers, as it may be printed.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with nothing that a terminal would obey, that would forge another line of a log, or that nobody
/// sees: control characters, separators of lines, marks that reorder text, and characters without width are
/// written as escapes. Joiners stay, which some scripts need; so does a line break before two blanks, by
/// which messages quote a line of the caller's own text.
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_invisible) else {
        return text.into();
    };
    let (plain, rest) = text.split_at(first);
    let mut safe = String::with_capacity(text.len() + 16);
    safe.push_str(plain);
    for (at, letter) in rest.char_indices() {
        let number = u32::from(letter);
        // a String takes whatever is written to it
        let _always = match letter {
            '\n' if rest
                .get(at + 1..)
                .is_some_and(|rest| rest.starts_with("  ")) =>
            {
                safe.write_char(letter)
            }
            '\n' => safe.write_str("\\n"),
            '\r' => safe.write_str("\\r"),
            '\t' => safe.write_str("\\t"),
            _ if !is_invisible(letter) => safe.write_char(letter),
            _ if number < 0x100 => write!(safe, "\\x{number:02x}"),
            _ => write!(safe, "\\u{number:04x}"),
        };
    }
    safe.into()
}

/// Returns `true` if nobody sees this letter, or a terminal obeys it: as `INVISIBLE` of the Python
/// package, and what is below the blank.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fffe}'
                | '\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_as_an_escape() {
        for (text, safe) in [
            ("größe, 列, 👍🏽", "größe, 列, 👍🏽"),
            ("\u{1b}]52;c;eA==\u{7}", "\\x1b]52;c;eA==\\x07"),
            ("\u{9b}31m\u{85}\u{7f}\0", "\\x9b31m\\x85\\x7f\\x00"),
            (
                "gpj.\u{202e}exe\u{2066}\u{200b}",
                "gpj.\\u202eexe\\u2066\\u200b",
            ),
            ("a\r\nINFO: b\tc\u{2028}d", "a\\r\\nINFO: b\\tc\\u2028d"),
            ("quoted\n  a = \n      ^", "quoted\n  a = \n      ^"),
            ("a\u{200d}b\u{200c}c", "a\u{200d}b\u{200c}c"),
        ] {
            assert_eq!(printable(text), safe);
        }
    }
}
