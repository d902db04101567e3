//! Conversion of days and timestamps from the hybrid calendar, Julian before 1582-10-15, to the proleptic
//! Gregorian one.
//!
//! Spark 2 counted days and timestamps in the calendar of `java.util`, and Spark 3 still does if the
//! session requests it. The same count is then another date, or another time of the day: `java.util` uses
//! the standard time of each zone before 1900, while local mean time differs from it by minutes. Rebasing keeps
//! the date and the time of the day in the zone, and changes the count, as Spark does when it reads these files.

use std::fmt;

use super::interval::MICROS_PER_DAY;

/// Zones as `standard first switch difference ... | names`: the zone's standard time and the difference before
/// the first switch, then timestamps at which the difference changes, each with the new one, all in seconds. A
/// line ends with the names of its zones. Generated from Spark's own tables by `zones.py`.
const ZONES: &str = include_str!("legacy_calendar/zones.txt");

/// 1582-10-15: the calendars agree from here on.
pub(crate) const GREGORIAN_DAY: i32 = -141_427;

/// 1900-01-01, in seconds: all zones agree from here on.
pub(crate) const MODERN_SECOND: i64 = -2_208_988_800;

/// An upper bound on the difference of all zones just before [`MODERN_SECOND`], in seconds. Where the date line
/// has moved, that is a day and some minutes.
pub(crate) const MAX_LATE_DIFFERENCE: i64 = 2 * SECONDS_PER_DAY;

/// The maximum length of a zone name in messages; real names are shorter.
const MAX_NAME_LENGTH: usize = 60;

const SECONDS_PER_DAY: i64 = MICROS_PER_DAY / 1_000_000;

/// The time zone in which timestamps were counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LegacyZone {
    Known(KnownZone),
    /// There is no zone of this name.
    Unknown(String),
    /// The file does not state it.
    Unnamed,
}

/// A zone with a known history, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownZone {
    /// Its standard time, east of UTC.
    standard: i64,
    /// The difference before the first switch.
    first_difference: i64,
    /// The times at which the difference changes, and the new differences.
    switches: Vec<(i64, i64)>,
}

/// A timestamp that depends on an unknown zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZoneMissing(LegacyZone);

impl LegacyZone {
    /// Returns the zone of a name, as Spark interprets it.
    pub(crate) fn named(name: &str) -> Self {
        zone_of_table(name)
            .or_else(|| fixed_offset(name))
            .map_or_else(
                || Self::Unknown(name.chars().take(MAX_NAME_LENGTH).collect()),
                Self::Known,
            )
    }

    /// Returns the seconds to add to the count for the same date and time of the day.
    ///
    /// # Errors
    ///
    /// [`ZoneMissing`]: the timestamp is before 1900, and the zone is unknown.
    pub(crate) fn difference_at(&self, second: i64) -> Result<i64, ZoneMissing> {
        if second >= MODERN_SECOND {
            return Ok(0);
        }
        let Self::Known(zone) = self else {
            return Err(ZoneMissing(self.clone()));
        };
        let day = second
            .saturating_add(zone.standard)
            .div_euclid(SECONDS_PER_DAY);
        let mut switches = zone.switches.iter().rev();
        let switch = switches.find(|(switch, _)| *switch <= second);
        let difference = switch.map_or(zone.first_difference, |(_, difference)| *difference);
        Ok(julian_difference(day) * SECONDS_PER_DAY + difference)
    }
}

/// Converts a day to the same date in the proleptic Gregorian calendar; a date that it lacks, such as
/// 1500-02-29, becomes the first day of the next month.
pub(crate) fn rebase_day(day: i32) -> i32 {
    let rebased = i64::from(day) + julian_difference(day.into());
    i32::try_from(rebased).unwrap_or(day) // no overflow: the earliest days increase
}

/// Returns the days to add to the count for the same date in the proleptic Gregorian calendar.
fn julian_difference(day: i64) -> i64 {
    if day >= i64::from(GREGORIAN_DAY) {
        return 0;
    }
    // days since March 1st of the year 0, in the Julian calendar: 1,461 make four years
    let since_march = day + 719_470;
    let year = (4 * since_march + 3).div_euclid(1461);
    // leap days that only the Julian calendar has
    2 - (year.div_euclid(100) - year.div_euclid(400))
}

fn zone_of_table(name: &str) -> Option<KnownZone> {
    let zones = ZONES.lines().filter_map(|line| line.split_once(" | "));
    let mut named = zones.filter(|(_, names)| names.split(' ').any(|known| known == name));
    let (numbers, _) = named.next()?;
    let mut numbers = numbers
        .split(' ')
        .map_while(|number| number.parse::<i64>().ok());
    let (standard, first_difference) = (numbers.next()?, numbers.next()?);
    let mut switches = Vec::new();
    while let (Some(switch), Some(difference)) = (numbers.next(), numbers.next()) {
        switches.push((switch, difference));
    }
    Some(KnownZone {
        standard,
        first_difference,
        switches,
    })
}

/// Parses `GMT+5` and `GMT+05:30`. `java.util` interprets other spellings of offsets as UTC, and Spark
/// writes and reads accordingly.
fn fixed_offset(name: &str) -> Option<KnownZone> {
    let known = |standard| KnownZone {
        standard,
        ..KnownZone::default()
    };
    if name == "Z" {
        return Some(known(0));
    }
    let prefixes = ["GMT", "UTC", "UT", ""];
    let prefix = prefixes
        .into_iter()
        .find(|prefix| name.starts_with(prefix))?;
    let offset = name.strip_prefix(prefix)?;
    let (sign, offset) = match offset.strip_prefix('-') {
        Some(offset) => (-1, offset),
        None => (1, offset.strip_prefix('+')?),
    };
    let (hours, minutes) = match (offset.split_once(':'), offset.split_at_checked(2)) {
        (Some((hours, minutes)), _) if minutes.len() == 2 => (hours, minutes),
        (None, Some((hours, minutes))) if minutes.len() == 2 => (hours, minutes),
        (None, _) => (offset, "0"),
        _ => return None,
    };
    let number = |text: &str, max: i64| {
        let digits = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<i64>().ok();
        number.filter(|number| digits && *number <= max)
    };
    let seconds = number(hours, 23)? * 3600 + number(minutes, 59)? * 60;
    Some(known(if prefix == "GMT" { sign * seconds } else { 0 }))
}

impl fmt::Display for ZoneMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            LegacyZone::Unknown(name) => write!(f, "the time zone {name:?}, which is not known"),
            _ => write!(f, "a time zone that the file does not name"),
        }
    }
}

impl std::error::Error for ZoneMissing {}

#[cfg(test)]
mod tests;
