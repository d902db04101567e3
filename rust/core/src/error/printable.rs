//! Untrusted text, escaped for display.

use std::borrow::Cow;

/// Escapes characters that a terminal would interpret, that would forge another line of a log, or that could
/// disguise text: control characters, line separators, marks that reorder text, and zero-width spaces.
/// Joiners are kept, since some scripts need them; so is a line break before two spaces, by which messages
/// quote a line of the caller's own text.
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_invisible) else {
        return text.into();
    };
    let (plain, rest) = text.split_at(first);
    let mut safe = String::with_capacity(text.len() + 16);
    safe.push_str(plain);
    for (index, character) in rest.char_indices() {
        let number = u32::from(character);
        match character {
            '\n' if rest
                .get(index + 1..)
                .is_some_and(|rest| rest.starts_with("  ")) =>
            {
                safe.push(character)
            }
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            _ if !is_invisible(character) => safe.push(character),
            _ if number < 0x100 => safe.push_str(&format!("\\x{number:02x}")),
            _ => safe.push_str(&format!("\\u{number:04x}")),
        }
    }
    safe.into()
}

/// Returns `true` if this character is invisible, or interpreted by terminals: `INVISIBLE` of the Python
/// package, and the control characters below U+0020.
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
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
mod tests;
