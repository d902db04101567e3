//! Formats values as Spark's JSON writer does.

use std::fmt::{Display, LowerExp};
use std::io::Write;

use arrow_schema::TimeUnit;

use crate::spec::calendar::date_from_days;
use crate::spec::json::plain_prefix;

const SECONDS_PER_DAY: i64 = 86_400;

/// Appends an integer.
#[inline]
pub(super) fn integer(out: &mut Vec<u8>, value: i64) {
    let mut digits = [b'0'; 20];
    let mut rest = value.unsigned_abs();
    let mut start = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        start -= 1;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// Appends a floating-point number with the fewest digits that round-trip, formatted as in Java: plain from
/// 0.001 up to 10 million, otherwise with an exponent; NaN and infinities as quoted words.
pub(super) fn float<F>(out: &mut Vec<u8>, value: F)
where
    F: Display + LowerExp + Into<f64> + serde::Serialize + Copy,
{
    let size: f64 = value.into();
    if !size.is_finite() {
        out.extend_from_slice(match size {
            size if size.is_nan() => b"\"NaN\"",
            size if size > 0.0 => b"\"Infinity\"",
            _ => b"\"-Infinity\"",
        });
        return;
    }
    // Writing to a vector cannot fail.
    if size == 0.0 || (1e-3..1e7).contains(&size.abs()) {
        let _ = serde_json::to_writer(out, &value);
        return;
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let _ = write!(out, "{mantissa}{point}E{exponent}");
}

/// Appends a decimal like Java's `BigDecimal.toString`: plain digits with the full scale, and an exponent
/// only if more than five zeros would follow the decimal point (`1E-7`).
pub(super) fn decimal(out: &mut Vec<u8>, unscaled: i128, scale: i8) {
    let mut digits = unscaled.unsigned_abs().to_string();
    let scale = i32::from(scale);
    let exponent = digits.len() as i32 - 1 - scale;
    if unscaled < 0 {
        out.push(b'-');
    }
    if scale == 0 {
        out.extend_from_slice(digits.as_bytes());
    } else if scale > 0 && exponent >= -6 {
        let length = scale as usize + 1;
        if digits.len() < length {
            digits.insert_str(0, &"0".repeat(length - digits.len()));
        }
        let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
        out.extend_from_slice(whole.as_bytes());
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    } else {
        let (first, others) = digits.split_at(1);
        out.extend_from_slice(first.as_bytes());
        if !others.is_empty() {
            out.push(b'.');
            out.extend_from_slice(others.as_bytes());
        }
        let _ = write!(out, "E{exponent:+}");
    }
}

/// Appends `yyyy-MM-dd`; negative years and years with more than four digits have a sign.
pub(super) fn date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = date_from_days(days);
    match year {
        0..=9999 => padded(out, year, 4),
        year => {
            out.push(if year < 0 { b'-' } else { b'+' });
            if year < 0 {
                padded(out, -year, 4);
            } else {
                integer(out, year);
            }
        }
    }
    out.push(b'-');
    padded(out, month, 2);
    out.push(b'-');
    padded(out, day, 2);
}

/// Appends `yyyy-MM-ddTHH:mm:ss.SSS`, truncated to milliseconds, and `Z` if `utc`.
pub(super) fn timestamp(out: &mut Vec<u8>, value: i64, unit: TimeUnit, utc: bool) {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let seconds = value.div_euclid(per_second);
    let millis = value.rem_euclid(per_second) * 1000 / per_second;
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    date(out, seconds.div_euclid(SECONDS_PER_DAY));
    for (sign, part, width) in [
        (b'T', second / 3600, 2),
        (b':', second / 60 % 60, 2),
        (b':', second % 60, 2),
        (b'.', millis, 3),
    ] {
        out.push(sign);
        padded(out, part, width);
    }
    if utc {
        out.push(b'Z');
    }
}

/// Appends a quoted string; only characters that JSON requires to be escaped are escaped.
#[inline]
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest
            .split_at_checked(plain_prefix(rest))
            .unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        let Some((byte, tail)) = tail.split_first() else {
            break;
        };
        rest = tail;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..0x20 => {
                let _ = write!(out, "\\u{byte:04X}");
            }
            plain => out.push(*plain),
        }
    }
    out.push(b'"');
}

/// Appends the bytes as a quoted base 64 string, padded.
pub(super) fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b'"');
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for index in 0..4 {
            let sextet = (bits >> (18 - 6 * index) & 63) as usize;
            match ALPHABET.get(sextet) {
                Some(character) if index <= group.len() => out.push(*character),
                _ => out.push(b'='),
            }
        }
    }
    out.push(b'"');
}

/// Appends a non-negative number with at least `width` digits.
#[inline]
fn padded(out: &mut Vec<u8>, value: i64, width: u32) {
    let mut power = 10i64.pow(width);
    if value >= power {
        return integer(out, value);
    }
    while power > 1 {
        out.push(b'0' + (value % power * 10 / power) as u8);
        power /= 10;
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
