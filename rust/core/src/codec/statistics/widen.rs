//! Widens bounds, so that they hold in spite of the writer's truncation or rounding.
//!
//! Protocol: "Per-file Statistics".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};

use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::legacy_calendar::GREGORIAN_DAY;

/// The lower or the upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// No value is less.
    Min,
    /// No value is greater.
    Max,
}

/// Returns the bounds, widened by their maximum error.
///
/// Timestamps are truncated to milliseconds, and old ones lose the seconds of their zone offset; dates before the
/// Gregorian calendar may be those of the Julian one; decimals may have passed through a double; strings may end
/// in the middle of a character. With `was_single`, doubles were of single precision when the bounds were
/// written.
pub fn widen_bounds(values: &ArrayRef, was_single: bool, side: Side) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 if was_single => widen_singles(values, side),
        DataType::Decimal128(..) => widen_decimals(values, side),
        DataType::Date32 => widen_dates(values, side),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            widen_timestamps(values, zone.is_some(), side)
        }
        DataType::Utf8 => widen_strings(values, side),
        _ => Arc::clone(values),
    }
}

/// Widens a bound so that it holds for single-precision values: `0.1` may stand for a float that, as a
/// double, is slightly greater.
fn widen_singles(values: &ArrayRef, side: Side) -> ArrayRef {
    const RELATIVE: f64 = 1.2e-7;
    const SMALLEST: f64 = 1.5e-45;
    let widened = |value: f64| {
        let error = value.abs() * RELATIVE + SMALLEST;
        match side {
            Side::Min => value - error,
            Side::Max => value + error,
        }
    };
    let doubles = values.as_primitive::<Float64Type>();
    Arc::new(doubles.unary::<_, Float64Type>(widened))
}

fn widen_decimals(values: &ArrayRef, side: Side) -> ArrayRef {
    let all = values.as_primitive::<Decimal128Type>();
    if all
        .iter()
        .flatten()
        .all(|value| max_rounding_error(value) == 0)
    {
        return Arc::clone(values);
    }
    let widened = |value: i128| match side {
        Side::Min => value.saturating_sub(max_rounding_error(value)),
        Side::Max => value.saturating_add(max_rounding_error(value)),
    };
    let all = all.unary::<_, Decimal128Type>(widened);
    Arc::new(all.with_data_type(values.data_type().clone()))
}

/// Returns the maximum difference between an unscaled decimal and its value before conversion to a double:
/// deltalake writes such bounds (delta-io/delta-rs issue 4757). Zero if a double distinguishes all values of
/// the scale, and for more digits than a double's text has.
pub fn max_rounding_error(unscaled: i128) -> i128 {
    const EXACT_BITS: u32 = 52;
    const MAX_DIGITS: usize = 17;
    let size = unscaled.checked_abs().unwrap_or(i128::MAX);
    if size < 1 << EXACT_BITS || size.to_string().trim_end_matches('0').len() > MAX_DIGITS {
        return 0;
    }
    (size >> EXACT_BITS) + 1
}

/// The maximum difference of a date in the Julian and the proleptic Gregorian calendar, from the year 1 on.
const MAX_CALENDAR_DAYS: i32 = 10;

/// Widens old dates: Databricks 7 writes their text in the Julian calendar, and no marker into the file, so that
/// its values are those of the proleptic Gregorian calendar.
fn widen_dates(values: &ArrayRef, side: Side) -> ArrayRef {
    let all = values.as_primitive::<Date32Type>();
    if all.iter().flatten().all(|day| day >= GREGORIAN_DAY) {
        return Arc::clone(values);
    }
    let widened = |day: i32| match side {
        _ if day >= GREGORIAN_DAY => day,
        Side::Min => day.saturating_sub(MAX_CALENDAR_DAYS),
        Side::Max => day.saturating_add(MAX_CALENDAR_DAYS),
    };
    Arc::new(all.unary::<_, Date32Type>(widened))
}

/// Widens timestamps: a maximum may be almost a millisecond later. Until January 1972, when Liberia was the
/// last to drop the seconds of its zone offset, a text with only hours and minutes of the offset may be off
/// by almost a minute. Older ones may be in another calendar, as dates.
fn widen_timestamps(values: &ArrayRef, has_zone: bool, side: Side) -> ArrayRef {
    const MILLISECOND: i64 = 1_000;
    const MINUTE: i64 = 60_000_000;
    const NO_SECONDS_SINCE: i64 = 63_936_000_000_000;
    const GREGORIAN_SINCE: i64 = GREGORIAN_DAY as i64 * MICROS_PER_DAY;
    const CALENDAR_ERROR: i64 = MAX_CALENDAR_DAYS as i64 * MICROS_PER_DAY;
    let widened = |micros: i64| {
        let error = if !has_zone || micros >= NO_SECONDS_SINCE {
            0
        } else if micros >= GREGORIAN_SINCE {
            MINUTE
        } else {
            CALENDAR_ERROR + MINUTE
        };
        match side {
            Side::Min => micros.saturating_sub(error),
            Side::Max => micros.saturating_add(error + MILLISECOND),
        }
    };
    let all = values.as_primitive::<TimestampMicrosecondType>();
    let all = all.unary::<_, TimestampMicrosecondType>(widened);
    Arc::new(all.with_data_type(values.data_type().clone()))
}

/// The character that writers put where they truncate a string, or in place of half a surrogate pair. At the
/// end of a maximum, it sorts before the characters beyond U+FFFF.
const REPLACEMENT: char = '\u{FFFD}';

fn widen_strings(values: &ArrayRef, side: Side) -> ArrayRef {
    let all = values.as_string::<i32>();
    if !all.iter().flatten().any(|text| text.ends_with(REPLACEMENT)) {
        return Arc::clone(values);
    }
    let widened = |text: &str| {
        let Some(prefix) = text.strip_suffix(REPLACEMENT) else {
            return Some(text.to_owned());
        };
        // Java writes half a surrogate pair as a question mark
        let prefix = prefix.trim_end_matches([REPLACEMENT, '?']);
        match side {
            Side::Min => Some(prefix.to_owned()),
            Side::Max => prefix_successor(prefix),
        }
    };
    let all = all.iter().map(|text| text.and_then(widened));
    Arc::new(all.collect::<StringArray>())
}

/// Returns the least string that sorts after all strings with this prefix.
fn prefix_successor(prefix: &str) -> Option<String> {
    let mut successor = prefix.to_owned();
    while let Some(last) = successor.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            successor.push(next);
            return Some(successor);
        }
    }
    None
}

#[cfg(test)]
mod tests;
