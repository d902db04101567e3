use arrow_array::{Date32Array, Decimal128Array, TimestampMicrosecondArray};

use super::*;

fn text_bounds(text: &str) -> (Option<String>, Option<String>) {
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some(text), None]));
    let side = |side| {
        let widened = widen_bounds(&values, false, side);
        assert!(widened.is_null(1));
        let strings = widened.as_string::<i32>();
        strings.is_valid(0).then(|| strings.value(0).to_owned())
    };
    (side(Side::Min), side(Side::Max))
}

fn owned(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn strings_that_end_with_a_replacement_character() {
    assert_eq!(text_bounds("abc"), (owned("abc"), owned("abc")));
    assert_eq!(text_bounds("ab\u{FFFD}"), (owned("ab"), owned("ac")));
    assert_eq!(text_bounds("ab?\u{FFFD}"), (owned("ab"), owned("ac")));
    assert_eq!(text_bounds("ab?"), (owned("ab?"), owned("ab?")));
    assert_eq!(text_bounds("\u{FFFD}"), (owned(""), None));
    let last = "a\u{10FFFF}\u{FFFD}";
    assert_eq!(text_bounds(last).1, owned("b"));
    assert_eq!(text_bounds("\u{D7FF}\u{FFFD}").1, owned("\u{E000}"));
}

/// Values of delta-io/delta-rs issue 4757, as doubles and in full.
#[test]
fn decimals_written_as_doubles() {
    let bounds = |unscaled: i128, scale| {
        let bound = Decimal128Array::from(vec![unscaled]);
        let bound: ArrayRef = Arc::new(bound.with_precision_and_scale(38, scale).unwrap());
        let side = |side| {
            widen_bounds(&bound, false, side)
                .as_primitive::<Decimal128Type>()
                .value(0)
        };
        side(Side::Min)..=side(Side::Max)
    };
    // 1.2345678901234568e+16 and 0.12345678901234568
    assert!(bounds(1_234_567_890_123_456_800, 2).contains(&1_234_567_890_123_456_789));
    assert!(bounds(-1_234_567_890_123_456_800, 2).contains(&-1_234_567_890_123_456_789));
    assert!(bounds(123_456_789_012_345_680, 18).contains(&123_456_789_012_345_678));
    // more digits than a double is written with, and few enough that a double is exact
    let full = 123_456_789_012_345_678_901;
    assert_eq!(bounds(full, 2), full..=full);
    assert_eq!(bounds(1_234_567_890, 2), 1_234_567_890..=1_234_567_890);
}

/// Berlin had +00:53:28 before 1893: Java's `XXX` truncates that to +00:53.
#[test]
fn old_timestamps_with_a_time_zone() {
    let bounds = |micros: i64, zone: Option<&str>| {
        let bound = TimestampMicrosecondArray::from(vec![micros]);
        let bound: ArrayRef = Arc::new(bound.with_timezone_opt(zone));
        let side = |side| {
            widen_bounds(&bound, false, side)
                .as_primitive::<TimestampMicrosecondType>()
                .value(0)
        };
        side(Side::Min)..=side(Side::Max)
    };
    let old = -2_500_000_000_000_000;
    assert!(bounds(old, Some("UTC")).contains(&(old - 28_000_000)));
    assert!(bounds(old, Some("UTC")).contains(&(old + 58_000_999)));
    assert_eq!(bounds(old, None), old..=old + 1_000);
    let new = 1_700_000_000_000_000;
    assert_eq!(bounds(new, Some("UTC")), new..=new + 1_000);
}

/// The Julian 0100-01-01 is 0099-12-30 in the proleptic Gregorian calendar, the Julian 1582-10-04 is 1582-10-14.
#[test]
fn old_dates_of_the_julian_calendar() {
    let bounds = |day: i32| {
        let bound: ArrayRef = Arc::new(Date32Array::from(vec![day]));
        let side = |side| {
            widen_bounds(&bound, false, side)
                .as_primitive::<Date32Type>()
                .value(0)
        };
        side(Side::Min)..=side(Side::Max)
    };
    assert!(bounds(-683_003).contains(&-683_005));
    assert!(bounds(-141_438).contains(&-141_428));
    assert_eq!(bounds(-141_427), -141_427..=-141_427);
}
