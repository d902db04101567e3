use super::*;
use proptest::prelude::*;

use crate::spec::values::{self, ExcessDigits};

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn floats_as_java_writes_them() {
    // From Java 21's Double.toString and Float.toString.
    for (value, expected) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1.234, "1.234"),
        (100.0, "100.0"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12_345_678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (-1.5e-10, "-1.5E-10"),
        (1e300, "1.0E300"),
        (f64::MAX, "1.7976931348623157E308"),
        (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        (f64::NAN, "\"NaN\""),
        (f64::INFINITY, "\"Infinity\""),
        (f64::NEG_INFINITY, "\"-Infinity\""),
    ] {
        assert_eq!(text(|out| float(out, value)), expected);
    }
    for (value, expected) in [
        (0.1f32, "0.1"),
        (2.5e-3, "0.0025"),
        (16_777_216.0, "1.6777216E7"),
        (f32::MAX, "3.4028235E38"),
    ] {
        assert_eq!(text(|out| float(out, value)), expected);
    }
}

#[test]
fn decimals_as_java_writes_them() {
    // From Java's BigDecimal.toString.
    for (unscaled, scale, expected) in [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (0, 5, "0.00000"),
        (0, 10, "0E-10"),
        (1, 6, "0.000001"),
        (1, 7, "1E-7"),
        (-12, 8, "-1.2E-7"),
        (-567_800, 5, "-5.67800"),
        (12_345, 2, "123.45"),
        (5, 1, "0.5"),
        (123, -2, "1.23E+4"),
        (
            -(10i128.pow(38) - 1),
            18,
            "-99999999999999999999.999999999999999999",
        ),
    ] {
        assert_eq!(text(|out| decimal(out, unscaled, scale)), expected);
    }
}

#[test]
fn dates_and_times() {
    for (days, expected) in [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (11_016, "2000-02-29"),
        (-719_162, "0001-01-01"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (-719_529, "-0001-12-31"),
    ] {
        assert_eq!(text(|out| date(out, days)), expected, "{days}");
    }
    for (micros, expected) in [
        (0, "1970-01-01T00:00:00.000"),
        (-1, "1969-12-31T23:59:59.999"),
        (1_666_652_376_177_999, "2022-10-24T22:59:36.177"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999"),
    ] {
        assert_eq!(
            text(|out| timestamp(out, micros, TimeUnit::Microsecond, false)),
            expected
        );
        assert_eq!(
            text(|out| timestamp(out, micros, TimeUnit::Microsecond, true)),
            format!("{expected}Z")
        );
    }
    for unit in [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ] {
        text(|out| timestamp(out, i64::MIN, unit, true));
        text(|out| timestamp(out, i64::MAX, unit, true));
    }
    let nanos = text(|out| timestamp(out, -1, TimeUnit::Nanosecond, true));
    assert_eq!(nanos, "1969-12-31T23:59:59.999Z");
}

#[test]
fn strings_and_bytes() {
    assert_eq!(
        text(|out| string(out, "a\"\\/\n\r\t\u{8}\u{c}\0\u{1f}\u{7f}ü漢🚀")),
        "\"a\\\"\\\\/\\n\\r\\t\\b\\f\\u0000\\u001F\u{7f}ü漢🚀\""
    );
    // RFC 4648, section 10.
    for (bytes, expected) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
    ] {
        assert_eq!(
            text(|out| base64(out, bytes.as_bytes())),
            format!("\"{expected}\"")
        );
    }
}

proptest! {
    #[test]
    fn integers_match_std(value: i64) {
        prop_assert_eq!(text(|out| integer(out, value)), value.to_string());
    }

    #[test]
    fn decimals_round_trip(value in -(10i128.pow(30))..10i128.pow(30), scale in 0i8..20) {
        let written = text(|out| decimal(out, value, scale));
        prop_assert_eq!(values::decimal(&written, 38, scale, ExcessDigits::Refuse), Some(value));
    }

    #[test]
    fn dates_round_trip(days in -3_000_000i32..3_000_000) {
        let written = text(|out| date(out, days.into()));
        prop_assert_eq!(values::date(&written), Some(days));
    }

    #[test]
    fn floats_round_trip(bits: u64) {
        let value = f64::from_bits(bits);
        if value.is_finite() {
            let written = text(|out| float(out, value));
            prop_assert_eq!(written.parse::<f64>().unwrap().to_bits(), bits);
        }
    }

    #[test]
    fn strings_round_trip_through_serde(value: String) {
        let written = text(|out| string(out, &value));
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), value);
    }

    #[test]
    fn dates_match_chrono(days in -700_000i32..2_900_000) {
        let expected = chrono::NaiveDate::from_num_days_from_ce_opt(days + 719_163).unwrap();
        prop_assert_eq!(text(|out| date(out, days.into())), expected.to_string());
    }
}
