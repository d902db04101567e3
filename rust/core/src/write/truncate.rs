//! Truncation of string bounds.
//!
//! Protocol: "Per-file Statistics"; strings are truncated as in the reference implementation.

const GREATEST: char = '\u{10FFFF}';
const TIE_BREAKER: char = '\u{7F}';

/// Returns the first `units` UTF-16 code units of a text, one more if a surrogate pair would be split.
fn cut(value: &str, units: usize) -> &str {
    let mut seen = 0;
    for (at, letter) in value.char_indices() {
        if seen >= units {
            return value.get(..at).unwrap_or(value);
        }
        seen += letter.len_utf16();
    }
    value
}

/// Returns a prefix of the value, which is not greater than it; `None` if `units` is 0.
pub(super) fn lower_bound(value: &str, units: usize) -> Option<String> {
    (units > 0).then(|| cut(value, units).to_owned())
}

/// Returns a short text that is not less than the value; `None` if there is none.
pub(super) fn upper_bound(value: &str, units: usize) -> Option<String> {
    if value.len() <= units || value.encode_utf16().count() <= units {
        return (units > 0).then(|| value.to_owned());
    }
    if units == 0 {
        return None;
    }
    let kept = cut(value, units);
    let mut length = kept.encode_utf16().count();
    let rest = value.get(kept.len()..).unwrap_or_default();
    let mut end = kept.len();
    for letter in rest.chars() {
        if length > 2 * units {
            return None;
        }
        if letter != GREATEST {
            let mut bound = value.get(..end).unwrap_or_default().to_owned();
            bound.push(if letter < TIE_BREAKER {
                TIE_BREAKER
            } else {
                GREATEST
            });
            return Some(bound);
        }
        length += letter.len_utf16();
        end += letter.len_utf8();
    }
    (length <= 2 * units).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the protocol digest, 5.2.
    #[test]
    fn upper_bounds_of_the_reference() {
        let greatest = GREATEST.to_string();
        for (value, units, expected) in [
            ("abcdef".to_owned(), 6, Some("abcdef".to_owned())),
            (
                "abcdef-abcdef".to_owned(),
                6,
                Some("abcdef\u{7F}".to_owned()),
            ),
            (
                "漢字仮名한글தமி".to_owned(),
                6,
                Some(format!("漢字仮名한글{greatest}")),
            ),
            ("abcdef🚀".to_owned(), 6, Some(format!("abcdef{greatest}"))),
            (
                format!("a{greatest}d"),
                2,
                Some(format!("a{greatest}\u{7F}")),
            ),
            (greatest.repeat(4), 1, None),
            (greatest.repeat(4), 4, Some(greatest.repeat(4))),
            ("abcd".to_owned(), 0, None),
        ] {
            let actual = upper_bound(&value, units);
            assert_eq!(actual, expected, "{value} {units}");
            assert!(actual.is_none_or(|bound| bound >= value), "{value}");
        }
    }

    #[test]
    fn lower_bounds_are_prefixes() {
        assert_eq!(lower_bound("abcdef", 3).as_deref(), Some("abc"));
        assert_eq!(lower_bound("ab", 3).as_deref(), Some("ab"));
        assert_eq!(lower_bound("a🚀b", 2).as_deref(), Some("a🚀"));
        assert_eq!(lower_bound("abc", 0), None);
    }
}
