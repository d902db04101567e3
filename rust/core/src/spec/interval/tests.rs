use super::*;

const DAY: i64 = 86_400_000;

#[test]
fn parses_intervals_as_milliseconds() {
    for (text, expected) in [
        ("interval 1 week", 7 * DAY),
        ("interval 30 days", 30 * DAY),
        ("INTERVAL 2 Weeks", 14 * DAY),
        ("36 hours", 36 * 3_600_000),
        ("  interval\t1 day   12 hours ", DAY + 12 * 3_600_000),
        ("interval 90 minutes 1 second", 90 * 60_000 + 1_000),
        ("interval 1500 milliseconds", 1_500),
        ("interval 1 millisecond 1999 microseconds", 2),
        ("interval 1.5 seconds", 1_500),
        ("interval .25 seconds", 250),
        ("interval 1. seconds", 1_000),
        ("interval 1 day -1 hour", 23 * 3_600_000),
        ("interval - 1 hour +  1 day", 23 * 3_600_000),
        ("interval -1.5 seconds 2 seconds", 500),
        ("interval 0 days", 0),
    ] {
        assert_eq!(parse_interval(text), Ok(expected), "{text}");
    }
}

#[test]
fn invalid_intervals_have_a_reason() {
    for (text, expected) in [
        ("", "number"),
        ("interval", "number"),
        ("interval 1 month", "months"),
        ("interval 2 years 1 day", "months"),
        ("interval 7", "unit"),
        ("interval seven days", "seven"),
        ("interval 1.5 days", "1.5"),
        ("interval 1 fortnight", "fortnight"),
        ("interval 1 dayss", "dayss"),
        ("interval -1 day", "negative"),
        ("interval 9223372036854775807 weeks", "long"),
        ("interval 99999999999999999999 days", "99999999999999999999"),
        ("interval . seconds", "."),
        ("interval - seconds", "-"),
        ("interval 1day", "unit"),
        ("604800000", "unit"),
    ] {
        let reason = parse_interval(text).unwrap_err();
        assert!(reason.contains(expected), "{text}: {reason}");
    }
}
