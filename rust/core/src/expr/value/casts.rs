//! Parses strings as values of other types, as Spark's `CAST` in ANSI mode.

use std::str::FromStr;

use arrow_schema::TimeUnit;

use crate::expr::value::literal::Decimal;
use crate::spec::values::{self, ExcessDigits};

/// Parses an integer: an optional sign and digits.
pub(in crate::expr) fn integer(text: &str) -> Option<i64> {
    trimmed(text).parse().ok()
}

/// Parses a floating-point number, including `inf`, `Infinity` and `NaN` in any case, and Java's suffixes,
/// as in `2.5d`.
pub(in crate::expr) fn float<T: FromStr>(text: &str) -> Option<T> {
    let text = trimmed(text);
    if text.ends_with(|last: char| last.eq_ignore_ascii_case(&'n')) && text.starts_with(['+', '-'])
    {
        return None; // NaN has no sign
    }
    let without_suffix = text
        .strip_suffix(['d', 'D', 'f', 'F'])
        .filter(|rest| rest.ends_with(|last: char| last.is_ascii_digit() || last == '.'));
    without_suffix.unwrap_or(text).parse().ok()
}

/// Parses the literals of booleans, in any case.
pub(in crate::expr) fn boolean(text: &str) -> Option<bool> {
    match trimmed(text).to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Parses a decimal number, and rounds it to this scale, half away from zero; `None` if it exceeds the
/// precision.
pub(in crate::expr) fn decimal(text: &str, precision: u8, scale: u8) -> Option<Decimal> {
    let limit = 10_u128.checked_pow(u32::from(precision))?;
    Decimal::parse_with_scale(trimmed(text), scale, ExcessDigits::Round)
        .filter(|value| value.unscaled().unsigned_abs() < limit)
}

/// Parses a date as Spark's cast does: `2026-01-31`, `2026-1-31`, `2026-01`, `2026`; a full date may be
/// followed by `T` or a space and any text.
pub(in crate::expr) fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    let (day, rest) = match text.find(['T', ' ']) {
        Some(at) => text.split_at_checked(at)?,
        None => (text, ""),
    };
    let is_full = day.trim_start_matches(['+', '-']).split('-').count() == 3;
    if !is_full && !rest.is_empty() {
        return None;
    }
    values::date(&padded(day))
}

/// Parses a timestamp as Spark's cast does: a date and, after `T` or a space, a time whose fields may have
/// one digit. Returns microseconds since the epoch; `utc` as in [`values::timestamp`].
pub(in crate::expr) fn timestamp(text: &str, utc: bool) -> Option<i64> {
    values::timestamp(&padded(text), TimeUnit::Microsecond, utc)
}

/// Adds the missing month and day, and pads all fields to two digits, as in the log.
fn padded(text: &str) -> String {
    let text = text.trim();
    let unsigned = text.trim_start_matches(['+', '-']);
    let sign = text.strip_suffix(unsigned).unwrap_or_default();
    let at = unsigned.find(['T', ' ']).unwrap_or(unsigned.len());
    let (date, time) = unsigned.split_at_checked(at).unwrap_or((unsigned, ""));
    let pad = |part: &str| match part.find(|character: char| !character.is_ascii_digit()) {
        Some(1) => format!("0{part}"),
        None if part.len() == 1 => format!("0{part}"),
        _ => part.to_owned(),
    };
    let mut parts: Vec<String> = date.split('-').map(pad).collect();
    while (1..3).contains(&parts.len()) {
        parts.push("01".to_owned());
    }
    let mut characters = time.chars();
    let separator: String = characters.next().into_iter().collect();
    let time = characters.as_str();
    let zone = |character: char| character.is_ascii_alphabetic() || "+- ".contains(character);
    let at = time.find(zone).unwrap_or(time.len());
    let (clock, zone) = time.split_at_checked(at).unwrap_or((time, ""));
    let clock: Vec<String> = clock.split(':').map(pad).collect();
    let (date, clock) = (parts.join("-"), clock.join(":"));
    format!("{sign}{date}{separator}{clock}{zone}")
}

/// Strips surrounding spaces and control characters.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character == ' ' || character.is_control())
}
