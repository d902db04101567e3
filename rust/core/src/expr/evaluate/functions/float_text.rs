//! Floating-point numbers as strings, as in Spark.

use std::fmt::LowerExp;
use std::str::FromStr;

/// Formats a number with the digits of `scientific`, its text in Rust's scientific notation: in decimal
/// notation from 0.001 to below 10,000,000, otherwise in scientific notation; with at least one digit after
/// the point.
fn with_digits(number: f64, scientific: &str) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits = mantissa.trim_start_matches('-').replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let size = number.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
        let rest = if rest.is_empty() { "0" } else { rest };
        return format!("{sign}{first}.{rest}E{exponent}");
    }
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = "0".repeat(exponent.unsigned_abs().saturating_sub(1) as usize);
        return format!("{sign}0.{zeros}{digits}");
    };
    let whole = exponent + 1;
    let digits = format!("{digits:0<whole$}");
    let (before, after) = digits.split_at_checked(whole).unwrap_or((&digits, ""));
    let after = if after.is_empty() { "0" } else { after };
    format!("{sign}{before}.{after}")
}

/// Formats a `FLOAT` or a `DOUBLE` as Spark does.
///
/// Uses the fewest digits that distinguish the number from its neighbours, but at least two: `4.9E-324`, not
/// `5.0E-324`. Java before 19 uses more for a few numbers: `1.9999999999999998E23` for `2.0E23`.
pub(super) fn format_float<T>(number: T) -> String
where
    T: Copy + FromStr + Into<f64> + LowerExp + PartialEq,
{
    let (two_digits, shortest) = (format!("{number:.1e}"), format!("{number:e}"));
    let is_single_digit = !shortest.contains('.');
    let uses_two_digits = is_single_digit && two_digits.parse().ok() == Some(number);
    with_digits(
        number.into(),
        if uses_two_digits {
            &two_digits
        } else {
            &shortest
        },
    )
}

#[cfg(test)]
mod tests;
