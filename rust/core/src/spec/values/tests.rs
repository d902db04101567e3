use super::*;
use proptest::prelude::*;

#[test]
fn parses_decimals_exactly() {
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
            decimal(text, precision, scale, ExcessDigits::Refuse),
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
        assert_eq!(decimal(text, 3, 2, ExcessDigits::Round), expected, "{text}");
    }
    let overflowing = format!("{}.5", i128::MAX);
    assert_eq!(decimal(&overflowing, 38, 0, ExcessDigits::Round), None);
}

#[test]
fn parses_dates() {
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
fn parses_timestamps() {
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
        ("2022-10-24T12:00:00.Z", Some(noon)),
        ("2022-10-24T12:00:00.12345678901Z", Some(noon + 123_456)),
        ("2022-10-24T12:00:00+19:00", None),
        ("2022-10-24T12:00:00Zx", None),
        ("2022-10-24T12", Some(noon)),
        ("2022-10-24 14 GMT+2", Some(noon)),
        ("2022-10-24T12:00:00UT", Some(noon)),
        ("2022-10-24T12:00:00Z+2", None),
        ("2022-10-24T12:", None),
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
fn local_timestamps_have_no_offset() {
    for (text, expected) in [
        ("1970-01-01 00:00:01", Some(1)),
        ("1970-01-01T00:00:01Z", Some(1)),
        ("1970-01-01", Some(0)),
        ("1970-01-01T00:00:01+01:00", None),
    ] {
        assert_eq!(timestamp(text, TimeUnit::Second, false), expected, "{text}");
        let ignored = local_timestamp(text, TimeUnit::Second);
        assert_eq!(ignored, expected.or(Some(1)), "{text}");
    }
}

proptest! {
    #[test]
    fn parses_timestamps_as_chrono(seconds in -62_135_596_800i64..253_402_300_799, micros in 0u32..1_000_000, east in -1000i32..1000) {
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
        decimal(&text, 38, 10, ExcessDigits::Round);
        decimal(&text, 10, -5, ExcessDigits::Refuse);
    }
}
