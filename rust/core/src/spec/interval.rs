//! Intervals in table properties: `interval 1 week 12 hours`; the word `interval` is optional.
//!
//! As in delta-spark, the syntax is that of Spark's `CalendarInterval`, without months and years,
//! which have no fixed length.

/// Microseconds in a day.
pub(crate) const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;

/// Milliseconds in a day.
pub(crate) const MILLIS_PER_DAY: i64 = MICROS_PER_DAY / 1_000;

/// Milliseconds in a minute.
pub(crate) const MILLIS_PER_MINUTE: i64 = 60 * 1_000;

const UNITS: [(&str, i64); 7] = [
    ("week", 7 * MICROS_PER_DAY),
    ("day", MICROS_PER_DAY),
    ("hour", 3_600 * 1_000_000),
    ("minute", 60 * 1_000_000),
    ("second", 1_000_000),
    ("millisecond", 1_000),
    ("microsecond", 1),
];

/// Returns the length of a unit of time in microseconds; `None` if the unit is unknown or, like months and
/// years, has no fixed length. The name of the unit is singular and in lower case.
pub(crate) fn micros_of_unit(unit: &str) -> Option<i64> {
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    known.map(|(_, length)| *length)
}

/// Parses an interval as milliseconds, rounded down; the error is the reason why it is invalid.
pub(crate) fn parse_interval(text: &str) -> Result<i64, String> {
    let lowered = text.to_ascii_lowercase();
    let mut words = lowered.split_ascii_whitespace().peekable();
    words.next_if_eq(&"interval");
    if words.peek().is_none() {
        return Err("an interval needs a number and a unit".to_owned());
    }
    let too_long = || "the interval is too long".to_owned();
    let mut micros: i128 = 0;
    while let Some(word) = words.next() {
        let number = match word {
            "+" | "-" => format!("{word}{}", words.next().unwrap_or_default()),
            _ => word.to_owned(),
        };
        let unit = words
            .next()
            .ok_or_else(|| format!("no unit after {number}"))?;
        let singular = unit.strip_suffix('s').unwrap_or(unit);
        if matches!(singular, "year" | "month") {
            return Err("months and years have no fixed length".to_owned());
        }
        let length =
            micros_of_unit(singular).ok_or_else(|| format!("{unit} is not a unit of time"))?;
        let part = if singular == "second" {
            parse_seconds(&number)
        } else {
            let count = number.parse::<i64>().ok();
            count.map(|count| i128::from(count) * i128::from(length))
        };
        let part = part.ok_or_else(|| format!("{number} is not a number of {unit}"))?;
        micros = micros.checked_add(part).ok_or_else(too_long)?;
    }
    if micros < 0 {
        return Err("an interval must not be negative".to_owned());
    }
    i64::try_from(micros / 1_000).map_err(|_| too_long())
}

/// Parses seconds with up to nine decimal places, as microseconds rounded towards zero.
pub(crate) fn parse_seconds(text: &str) -> Option<i128> {
    let Some((whole, fraction)) = text.split_once('.') else {
        return Some(i128::from(text.parse::<i64>().ok()?) * 1_000_000);
    };
    let seconds: i64 = match whole {
        "" | "-" | "+" if !fraction.is_empty() => 0,
        whole => whole.parse().ok()?,
    };
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let micros = format!("{fraction:0<9}").parse::<i128>().ok()? / 1_000;
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    Some(i128::from(seconds) * 1_000_000 + sign * micros)
}

#[cfg(test)]
mod tests;
