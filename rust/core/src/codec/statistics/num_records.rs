//! Extracts row counts from statistics.
//!
//! Nearly every writer puts `numRecords` first, so only a few bytes of each text are read. Otherwise the text
//! before it is scanned without building values.
//!
//! Protocol: "Per-file Statistics".

use arrow_array::{Int64Array, StringArrayType};

use super::scan::{self, Scalar};
use crate::spec::json::Cursor;

/// Returns the physical row count of each file; null if the text is null, not a JSON object, lacks the key,
/// or has a value other than an integer.
///
/// The first integer of duplicate top-level `numRecords` keys counts. The text after the number is ignored,
/// except that it must end like an object; `parse_stats` checks more of it.
pub fn num_records<'a, S: StringArrayType<'a>>(stats: S) -> Int64Array {
    stats.iter().map(|text| of_text(text?)).collect()
}

/// Returns the row count in one text.
fn of_text(text: &str) -> Option<i64> {
    if let Some(rest) = text.strip_prefix(r#"{"numRecords":"#)
        && let Some((count, rest)) = leading_digits(rest.as_bytes())
        && matches!(rest, [b'}'] | [b',', .., b'}'])
    {
        return Some(count);
    }
    search(text)
}

/// Parses up to 18 digits without a leading zero, which cannot overflow; other numbers are left to
/// [`search`].
#[inline]
fn leading_digits(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let length = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (digits, rest) = bytes.split_at_checked(length)?;
    if matches!(digits, [] | [b'0', _, ..]) || length > 18 {
        return None;
    }
    let count = digits
        .iter()
        .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some((count, rest))
}

fn search(text: &str) -> Option<i64> {
    if !text.trim_ascii_end().ends_with('}') {
        return None;
    }
    let mut scratch = String::new();
    let mut cursor = Cursor::new(text);
    cursor.begin_object().ok()?;
    loop {
        let key = scan::key(&mut cursor)?;
        if key.strict(&mut scratch) == Some("numRecords") && !matches!(cursor.peek()?, b'{' | b'[')
        {
            let count = match scan::scalar(&mut cursor)? {
                Scalar::Number(number) => number.parse().ok(),
                _ => None,
            };
            if !cursor.more(b'}').ok()? || count.is_some() {
                return count;
            }
            continue;
        }
        scan::skip(&mut cursor)?;
        if !cursor.more(b'}').ok()? {
            return None;
        }
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
