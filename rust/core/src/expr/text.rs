//! Texts as values of other types, as Spark's `CAST` reads them in ANSI mode.

use std::str::FromStr;

use crate::expr::literal::Decimal;
use crate::spec::values::Excess;

/// A whole number: a sign and digits.
pub(super) fn integer(text: &str) -> Option<i64> {
    trimmed(text).parse().ok()
}

/// A floating-point number: also `inf`, `Infinity` and `NaN` in any case, and Java's suffixes, as in `2.5d`.
pub(super) fn float<T: FromStr>(text: &str) -> Option<T> {
    let text = trimmed(text);
    if text.ends_with(|last: char| last.eq_ignore_ascii_case(&'n')) && text.starts_with(['+', '-'])
    {
        return None; // NaN has no sign
    }
    let number = text
        .strip_suffix(['d', 'D', 'f', 'F'])
        .filter(|rest| rest.ends_with(|last: char| last.is_ascii_digit() || last == '.'));
    number.unwrap_or(text).parse().ok()
}

/// The words that mean yes and no, in any case.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match trimmed(text).to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// The unscaled value of a decimal number of this type, rounded half up.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Option<Decimal> {
    let value = Decimal::with_scale(trimmed(text), scale, Excess::Round)?;
    let limit = 10_u128.checked_pow(u32::from(precision))?;
    (value.unscaled().unsigned_abs() < limit).then_some(value)
}

/// Without the blanks and control characters around it.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|letter: char| letter == ' ' || letter.is_control())
}
