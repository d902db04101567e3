//! Days of the proleptic Gregorian calendar, counted from 1970-01-01.
//!
//! Years begin in March, so that the leap day comes last. An era of 400 years has 146,097 days; 1970-01-01
//! is 719,468 days after 0000-03-01.

use std::fmt::{self, Display, Formatter};

use super::interval::MICROS_PER_DAY;

/// Returns the days since 1970-01-01; `None` if the date does not exist.
pub(crate) fn days_from_date(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Returns year, month and day from days since 1970-01-01.
pub(crate) fn date_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The text of a date, given in days since 1970-01-01: `2026-01-31`, with a sign if the year is negative or
/// has more than four digits.
pub(crate) struct DateText(pub i64);

impl Display for DateText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_from_days(self.0);
        let sign = match year {
            ..0 => "-",
            0..=9_999 => "",
            _ => "+",
        };
        write!(f, "{sign}{:04}-{month:02}-{day:02}", year.abs())
    }
}

/// The text of a timestamp, given in microseconds since 1970-01-01T00:00:00: date and time with the
/// character between them, and six fractional digits.
pub(crate) struct TimestampText(pub i64, pub char);

impl Display for TimestampText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(micros, separator) = self;
        let date = DateText(micros.div_euclid(MICROS_PER_DAY));
        let of_day = micros.rem_euclid(MICROS_PER_DAY);
        let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(
            f,
            "{date}{separator}{hour:02}:{minute:02}:{second:02}.{fraction:06}"
        )
    }
}
