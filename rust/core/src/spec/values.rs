//! Parses strings as scalars, in the spellings of Delta writers for bounds and partition values.
//!
//! `None` means that the text is not a value of the type. Decimals are never parsed via a floating-point
//! number.

use arrow_schema::TimeUnit;

use crate::spec::calendar::days_from_date;

/// The treatment of digits beyond a decimal's scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ExcessDigits {
    /// The text does not parse, unless these digits are zeros.
    Refuse,
    /// Round half away from zero, as a cast does.
    Round,
}

/// Parses the unscaled value of a decimal, e.g. `12345` for `123.45` with scale 2.
pub(crate) fn decimal(text: &str, precision: u8, scale: i8, excess: ExcessDigits) -> Option<i128> {
    let (negative, text) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let end = text
        .iter()
        .position(|byte| matches!(byte, b'e' | b'E'))
        .unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at_checked(end)?;
    let exponent = match exponent {
        [] => 0,
        [_, digits @ ..] => i64::from(std::str::from_utf8(digits).ok()?.parse::<i32>().ok()?),
    };
    let point = mantissa
        .iter()
        .position(|byte| *byte == b'.')
        .unwrap_or(mantissa.len());
    // the power of ten of the next digit, in units of the last digit kept
    let mut power = point as i64 - 1 + exponent + i64::from(scale);
    let mut value = 0i128;
    let (mut digits, mut round_up) = (0usize, false);
    for (at, byte) in mantissa.iter().enumerate() {
        if at == point {
            continue;
        }
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        digits += 1;
        if power >= 0 {
            value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
        } else if excess == ExcessDigits::Refuse && digit != 0 {
            return None;
        } else if power == -1 {
            round_up = digit >= 5;
        }
        power -= 1;
    }
    if digits == 0 {
        return None;
    }
    if power >= 0 && value != 0 {
        let zeros = u32::try_from(power + 1).ok()?;
        value = value.checked_mul(10i128.checked_pow(zeros)?)?;
    }
    value = value.checked_add(i128::from(round_up))?;
    let limit = 10i128.checked_pow(u32::from(precision))?;
    if value >= limit {
        return None;
    }
    Some(if negative { -value } else { value })
}

/// Parses a date as days since 1970-01-01. Month and day may lack their leading zero; a time of day is
/// ignored.
pub(crate) fn date(text: &str) -> Option<i32> {
    let mut rest = Reader(text.as_bytes());
    let days = rest.date()?;
    match rest.0 {
        [] | [b'T' | b' ', ..] => i32::try_from(days).ok(),
        _ => None,
    }
}

/// Parses a timestamp as the number of `unit`s since 1970-01-01T00:00:00, truncated.
///
/// Date and time are separated by `T` or a space; a date alone is its midnight. With `utc`, an offset (`Z`,
/// `+01:00`, `UTC`, `GMT+1`) is applied and a text without one is in UTC. Otherwise the text is a local time,
/// and only an offset of zero is allowed.
pub(crate) fn timestamp(text: &str, unit: TimeUnit, utc: bool) -> Option<i64> {
    let (local, nanos, offset) = local_time(text)?;
    if !utc && offset != 0 {
        return None;
    }
    in_units(local - offset, nanos, unit)
}

/// As [`timestamp`], as a local time: an offset is ignored, as by Spark's cast.
pub(crate) fn local_timestamp(text: &str, unit: TimeUnit) -> Option<i64> {
    let (local, nanos, _) = local_time(text)?;
    in_units(local, nanos, unit)
}

/// Parses the seconds of a local time since 1970-01-01T00:00:00, its nanoseconds, and its offset from UTC.
fn local_time(text: &str) -> Option<(i64, i64, i64)> {
    let mut rest = Reader(text.as_bytes());
    let days = rest.date()?;
    let (mut second, mut nanos, mut offset) = (0, 0, 0);
    if rest.take(b'T') || rest.take(b' ') {
        (second, nanos) = rest.time()?;
        offset = rest.offset()?;
    }
    let local = days.checked_mul(86_400)?.checked_add(second)?;
    rest.0.is_empty().then_some((local, nanos, offset))
}

fn in_units(seconds: i64, nanos: i64, unit: TimeUnit) -> Option<i64> {
    let (per_second, fraction) = match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, nanos / 1_000_000),
        TimeUnit::Microsecond => (1_000_000, nanos / 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, nanos),
    };
    let units = i128::from(seconds) * i128::from(per_second) + i128::from(fraction);
    i64::try_from(units).ok()
}

/// Returns `true` if the text of a timestamp has a time zone.
pub(crate) fn has_zone(text: &str) -> bool {
    let time = text.trim().split_once(['T', ' ']);
    let zone = |character: char| character.is_ascii_alphabetic() || matches!(character, '+' | '-');
    time.is_some_and(|(_, time)| time.contains(zone))
}

/// The rest of a date or time.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    #[inline]
    fn take(&mut self, expected: u8) -> bool {
        match self.0.split_first() {
            Some((byte, rest)) if *byte == expected => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Parses all following digits; returns their value and their count, which must be in `length`.
    #[inline]
    fn number(&mut self, length: std::ops::RangeInclusive<usize>) -> Option<(i64, usize)> {
        let mut value = 0;
        let mut count = 0;
        while let Some((digit @ b'0'..=b'9', rest)) = self.0.split_first() {
            if count == *length.end() {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
            count += 1;
            self.0 = rest;
        }
        (count >= *length.start()).then_some((value, count))
    }

    fn date(&mut self) -> Option<i64> {
        let negative = self.take(b'-');
        if !negative {
            self.take(b'+');
        }
        let (year, _) = self.number(4..=7)?;
        let year = if negative { -year } else { year };
        self.0 = self.0.strip_prefix(b"-")?;
        let (month, _) = self.number(1..=2)?;
        self.0 = self.0.strip_prefix(b"-")?;
        let (day, _) = self.number(1..=2)?;
        days_from_date(year, month, day)
    }

    /// Parses a time of day; returns its second and nanoseconds. Minutes and seconds may be missing.
    fn time(&mut self) -> Option<(i64, i64)> {
        let (hour, _) = self.number(1..=2)?;
        let (mut minute, mut second, mut nanos) = (0, 0, 0);
        if self.take(b':') {
            (minute, _) = self.number(1..=2)?;
            if self.take(b':') {
                (second, _) = self.number(1..=2)?;
                if self.take(b'.') {
                    nanos = self.nanos();
                }
            }
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        Some((hour * 3600 + minute * 60 + second, nanos))
    }

    /// Parses the digits after a decimal point as nanoseconds, truncated; there may be none.
    fn nanos(&mut self) -> i64 {
        let (mut nanos, mut unit) = (0, 100_000_000);
        while let Some((digit @ b'0'..=b'9', rest)) = self.0.split_first() {
            nanos += i64::from(digit - b'0') * unit;
            unit /= 10;
            self.0 = rest;
        }
        nanos
    }

    /// Parses an offset in seconds east of UTC; 0 if there is none.
    fn offset(&mut self) -> Option<i64> {
        while self.take(b' ') {}
        if let [b'Z' | b'z'] = self.0 {
            self.0 = &[];
        }
        for name in ["UTC", "GMT", "UT"] {
            if let Some(rest) = self.0.strip_prefix(name.as_bytes()) {
                self.0 = rest;
                break;
            }
        }
        let sign = match self.0 {
            [] => return Some(0),
            [b'+', rest @ ..] => {
                self.0 = rest;
                1
            }
            [b'-', rest @ ..] => {
                self.0 = rest;
                -1
            }
            _ => return None,
        };
        let (first, digits) = self.number(1..=4)?;
        let (hours, mut minutes, mut seconds) = match digits {
            1 | 2 => (first, 0, 0),
            4 => (first / 100, first % 100, 0),
            _ => return None,
        };
        if digits <= 2 && self.take(b':') {
            (minutes, _) = self.number(2..=2)?;
            if self.take(b':') {
                (seconds, _) = self.number(2..=2)?;
            }
        }
        if hours > 18 || minutes > 59 || seconds > 59 {
            return None;
        }
        Some(sign * (hours * 3600 + minutes * 60 + seconds))
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
