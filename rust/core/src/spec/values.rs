//! Texts in, scalars out: the spellings that Delta writers use for bounds and partition values.
//!
//! `None` means that the text is no value of the type. Nothing here goes through a binary
//! floating-point number on its way to a decimal.

use arrow_schema::TimeUnit;

/// What happens to digits that a decimal's scale has no room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Excess {
    /// The text is no value of the type, unless these digits are zeros.
    Refuse,
    /// Rounded half away from zero, as a cast does.
    Round,
}

/// The unscaled value of a decimal, e.g. `12345` for `123.45` with scale 2.
pub(crate) fn decimal(text: &str, precision: u8, scale: i8, excess: Excess) -> Option<i128> {
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
    // The power of ten that the next digit counts, in units of the last place kept.
    let mut place = point as i64 - 1 + exponent + i64::from(scale);
    let mut value = 0i128;
    let (mut digits, mut round_up) = (0usize, false);
    for (at, byte) in mantissa.iter().enumerate() {
        if at == point {
            continue;
        }
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        digits += 1;
        if place >= 0 {
            value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
        } else if excess == Excess::Refuse && digit != 0 {
            return None;
        } else if place == -1 {
            round_up = digit >= 5;
        }
        place -= 1;
    }
    if digits == 0 {
        return None;
    }
    if place >= 0 && value != 0 {
        let zeros = u32::try_from(place + 1).ok()?;
        value = value.checked_mul(10i128.checked_pow(zeros)?)?;
    }
    value += i128::from(round_up);
    let limit = 10i128.checked_pow(u32::from(precision))?;
    (value < limit).then_some(if negative { -value } else { value })
}

/// Days since 1970-01-01. Month and day may lack their leading zero; a time of day is ignored.
pub(crate) fn date(text: &str) -> Option<i32> {
    let mut rest = Reader(text.as_bytes());
    let days = rest.date()?;
    matches!(rest.0, [] | [b'T' | b' ', ..]).then_some(())?;
    i32::try_from(days).ok()
}

/// The count of `unit`s since 1970-01-01T00:00:00, cut down to the unit.
///
/// The date and the time of day are parted by `T` or a blank; a date alone is its midnight. With
/// `utc`, an offset (`Z`, `+01:00`, `UTC`) is applied and a text without one is in UTC. Else the
/// text is a wall clock, and only an offset of zero may stand there.
pub(crate) fn timestamp(text: &str, unit: TimeUnit, utc: bool) -> Option<i64> {
    let mut rest = Reader(text.as_bytes());
    let days = rest.date()?;
    let (mut second, mut nanos, mut offset) = (0, 0, 0);
    if rest.take(b'T') || rest.take(b' ') {
        (second, nanos) = rest.time()?;
        offset = rest.offset()?;
    }
    if !rest.0.is_empty() || (!utc && offset != 0) {
        return None;
    }
    let seconds = days.checked_mul(86_400)?.checked_add(second - offset)?;
    let (per_second, fraction) = match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, nanos / 1_000_000),
        TimeUnit::Microsecond => (1_000_000, nanos / 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, nanos),
    };
    let units = i128::from(seconds) * i128::from(per_second) + i128::from(fraction);
    i64::try_from(units).ok()
}

/// Whether the text of a timestamp names a time zone.
pub(crate) fn has_zone(text: &str) -> bool {
    let time = text.trim().split_once(['T', ' ']);
    let zone = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '+' | '-');
    time.is_some_and(|(_, time)| time.contains(zone))
}

/// What is left of a date or time.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    #[inline]
    fn take(&mut self, wanted: u8) -> bool {
        match self.0.split_first() {
            Some((byte, rest)) if *byte == wanted => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// All digits that stand here: their value and number, which must be in `length`.
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
        self.take(b'-').then_some(())?;
        let (month, _) = self.number(1..=2)?;
        self.take(b'-').then_some(())?;
        let (day, _) = self.number(1..=2)?;
        days_from_civil(year, month, day)
    }

    /// Second of the day, and nanoseconds.
    fn time(&mut self) -> Option<(i64, i64)> {
        let (hour, _) = self.number(1..=2)?;
        self.take(b':').then_some(())?;
        let (minute, _) = self.number(1..=2)?;
        let (mut second, mut nanos) = (0, 0);
        if self.take(b':') {
            (second, _) = self.number(1..=2)?;
            if self.take(b'.') {
                let (fraction, digits) = self.number(1..=9)?;
                nanos = fraction * 10i64.pow(9 - digits as u32);
            }
        }
        (hour < 24 && minute < 60 && second < 60)
            .then_some((hour * 3600 + minute * 60 + second, nanos))
    }

    /// Seconds east of Greenwich; 0 where nothing stands.
    fn offset(&mut self) -> Option<i64> {
        while self.take(b' ') {}
        let sign = match self.0 {
            [] => return Some(0),
            [b'Z' | b'z'] | [b'U', b'T', b'C'] | [b'G', b'M', b'T'] => {
                self.0 = &[];
                return Some(0);
            }
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
        (hours <= 18 && minutes < 60 && seconds < 60)
            .then_some(sign * (hours * 3600 + minutes * 60 + seconds))
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar; `None` where there is no such day.
///
/// Counts years from March, so that the leap day comes last: 146,097 days make 400 years.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then_some(())?;
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_exactly() {
        for (text, precision, scale, expected) in [
            ("123.45", 5, 2, Some(12_345)),
            ("-123.4500", 5, 2, Some(-12_345)),
            ("123.456", 6, 2, None),
            ("1234.5", 5, 2, None),
            ("0E-10", 12, 10, Some(0)),
            ("1.2E-7", 12, 8, Some(12)),
            ("1.23E+4", 10, 2, Some(1_230_000)),
            ("1e38", 38, 0, None),
            ("1e2147483647", 38, 0, None),
            ("0e2147483647", 38, 0, Some(0)),
            ("1e-2147483648", 38, 0, None),
            ("0.1", 38, 38, Some(10i128.pow(37))),
            (
                "99999999999999999999.999999999999999999",
                38,
                18,
                Some(10i128.pow(38) - 1),
            ),
            ("100000000000000000000", 38, 18, None),
            (
                "000000000000000000000000000000000000000000000000001.50",
                3,
                2,
                Some(150),
            ),
            ("1200", 2, -2, Some(12)),
            (".5", 2, 1, Some(5)),
            ("5.", 2, 1, Some(50)),
            ("", 2, 1, None),
            (".", 2, 1, None),
            ("-", 2, 1, None),
            ("1.2.3", 5, 2, None),
            ("1e", 5, 2, None),
            ("NaN", 5, 2, None),
        ] {
            assert_eq!(
                decimal(text, precision, scale, Excess::Refuse),
                expected,
                "{text}"
            );
        }
        for (text, expected) in [
            ("1.245", Some(125)),
            ("1.2449", Some(124)),
            ("-1.245", Some(-125)),
            ("9.995", None),
            ("1e-9", Some(0)),
        ] {
            assert_eq!(decimal(text, 3, 2, Excess::Round), expected, "{text}");
        }
    }

    #[test]
    fn dates_in_every_spelling() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2022-10-24", Some(19_289)),
            ("2022-1-4", Some(18_996)),
            ("2022-10-24T23:59", Some(19_289)),
            ("0001-01-01", Some(-719_162)),
            ("+10000-01-01", Some(2_932_897)),
            ("-0001-12-31", Some(-719_529)),
            ("2023-02-29", None),
            ("2024-02-29", Some(19_782)),
            ("1900-02-29", None),
            ("2022-13-01", None),
            ("2022-00-01", None),
            ("2022-10-24x", None),
            ("2022-10", None),
            ("22-10-24", None),
            ("", None),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn timestamps_in_every_spelling() {
        let noon = 1_666_612_800_000_000; // 2022-10-24T12:00:00Z
        for (text, expected) in [
            ("2022-10-24T12:00:00.000Z", Some(noon)),
            ("2022-10-24T12:00:00", Some(noon)),
            ("2022-10-24 12:00:00", Some(noon)),
            ("2022-10-24 12:00:00.123456", Some(noon + 123_456)),
            ("2022-10-24T12:00:00.123456789Z", Some(noon + 123_456)),
            ("2022-10-24T12:00:00.1+00:00", Some(noon + 100_000)),
            ("2022-10-24T14:00:00.000+02:00", Some(noon)),
            ("2022-10-24T06:30:00-0530", Some(noon)),
            ("2022-10-24T04:00:00.000-08", Some(noon)),
            ("2022-10-24T12:09:21+00:09:21", Some(noon)),
            ("2022-10-24T12:00Z", Some(noon)),
            ("2022-10-24 12:00:00 UTC", Some(noon)),
            ("2022-10-24", Some(noon - 43_200_000_000)),
            ("1969-12-31T23:59:59.999Z", Some(-1_000)),
            ("2022-10-24T24:00:00Z", None),
            ("2022-10-24T12:60:00Z", None),
            ("2022-10-24T12:00:60Z", None),
            ("2022-10-24T12:00:00.Z", None),
            ("2022-10-24T12:00:00.1234567890Z", None),
            ("2022-10-24T12:00:00+19:00", None),
            ("2022-10-24T12:00:00Zx", None),
            ("2022-10-24T12", None),
            ("2022-10-24T", None),
            ("12:00:00", None),
            ("", None),
        ] {
            assert_eq!(
                timestamp(text, TimeUnit::Microsecond, true),
                expected,
                "{text}"
            );
        }
        assert_eq!(
            timestamp("1970-01-01T00:00:01.5Z", TimeUnit::Nanosecond, true),
            Some(1_500_000_000)
        );
        assert_eq!(
            timestamp("1970-01-01T00:00:01.5Z", TimeUnit::Second, true),
            Some(1)
        );
        assert_eq!(
            timestamp("9999-12-31T00:00:00Z", TimeUnit::Nanosecond, true),
            None
        );
    }

    #[test]
    fn a_wall_clock_takes_no_offset() {
        for (text, expected) in [
            ("1970-01-01 00:00:01", Some(1)),
            ("1970-01-01T00:00:01Z", Some(1)),
            ("1970-01-01", Some(0)),
            ("1970-01-01T00:00:01+01:00", None),
        ] {
            assert_eq!(timestamp(text, TimeUnit::Second, false), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn timestamps_as_chrono(seconds in -62_135_596_800i64..253_402_300_799, micros in 0u32..1_000_000, east in -1000i32..1000) {
            let zone = chrono::FixedOffset::east_opt(east * 60).unwrap();
            let time = chrono::DateTime::from_timestamp(seconds, micros * 1000).unwrap();
            let expected = Some(time.timestamp_micros());
            let zoned = time.with_timezone(&zone).naive_local().and_local_timezone(zone).unwrap();
            if (1..=9999).contains(&chrono::Datelike::year(&zoned)) {
                let text = zoned.to_rfc3339_opts(chrono::SecondsFormat::Micros, false);
                prop_assert_eq!(timestamp(&text, TimeUnit::Microsecond, true), expected);
            }
        }

        #[test]
        fn never_panics(text in "[-+0-9.:eETZ ]{0,30}", unit in 0..4) {
            let unit = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond][unit as usize];
            date(&text);
            timestamp(&text, unit, true);
            decimal(&text, 38, 10, Excess::Round);
            decimal(&text, 10, -5, Excess::Refuse);
        }
    }
}
