//! Truncation of string bounds.
//!
//! Protocol: "Per-file Statistics"; strings are truncated as in delta-spark.

const GREATEST: char = '\u{10FFFF}';
const TIE_BREAKER: char = '\u{7F}';

/// Returns the first `units` UTF-16 code units of a text, one more if a surrogate pair would be split.
fn cut(value: &str, units: usize) -> &str {
    let mut seen = 0;
    for (at, character) in value.char_indices() {
        if seen >= units {
            return value.get(..at).unwrap_or(value);
        }
        seen += character.len_utf16();
    }
    value
}

/// Returns a prefix of the value, which is not greater than it; `None` if `units` is 0.
pub(super) fn lower_bound(value: &str, units: usize) -> Option<String> {
    (units > 0).then(|| cut(value, units).to_owned())
}

/// Returns a short text that is not less than the value; `None` if there is none.
pub(super) fn upper_bound(value: &str, units: usize) -> Option<String> {
    if units == 0 {
        return None;
    }
    if value.len() <= units || value.encode_utf16().count() <= units {
        return Some(value.to_owned());
    }
    let kept = cut(value, units);
    let mut length = kept.encode_utf16().count();
    let rest = value.get(kept.len()..).unwrap_or_default();
    let mut end = kept.len();
    for character in rest.chars() {
        if length > 2 * units {
            return None;
        }
        if character != GREATEST {
            let mut bound = value.get(..end).unwrap_or_default().to_owned();
            bound.push(if character < TIE_BREAKER {
                TIE_BREAKER
            } else {
                GREATEST
            });
            return Some(bound);
        }
        length += character.len_utf16();
        end += character.len_utf8();
    }
    (length <= 2 * units).then(|| value.to_owned())
}

#[cfg(test)]
mod tests;
