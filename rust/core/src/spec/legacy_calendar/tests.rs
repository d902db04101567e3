use super::*;

/// Days as stored and as intended, from the comments of Spark's `RebaseDateTime` and from
/// apache/spark#28067; then the last day of the Julian calendar.
#[test]
fn rebases_days_as_spark() {
    for (stored, expected) in [
        (-719_164, -719_162), // 0001-01-01
        (-171_595, -171_605), // 1500-03-01
        (-171_596, -171_605), // 1500-02-29, which is the day after 1500-02-28
        (-141_704, -141_714), // 1582-01-01
        (-141_428, -141_438), // 1582-10-04
        (-141_427, -141_427), // 1582-10-15
        (19_860, 19_860),
        (i32::MAX, i32::MAX),
    ] {
        assert_eq!(rebase_day(stored), expected, "{stored}");
    }
    assert_eq!(rebase_day(i32::MIN), i32::MIN + 44_084); // 5,877,521 BC, March 3rd
}

/// The days at which the differences of Spark's table change, and the differences, over its whole length.
#[test]
fn differences_of_days_equal_those_of_spark() {
    let switches = [
        -719_164, -682_945, -646_420, -609_895, -536_845, -500_320, -463_795, -390_745, -354_220,
        -317_695, -244_645, -208_120, -171_595, -141_427,
    ];
    let differences = [2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, 0];
    for day in -719_164..-140_000 {
        let index = switches.iter().rposition(|switch| *switch <= day);
        let expected = differences[index.unwrap()];
        assert_eq!(julian_difference(day), expected, "{day}");
    }
}

fn rebased(zone: &str, second: i64) -> i64 {
    second + LegacyZone::named(zone).difference_at(second).unwrap()
}

/// 1582-01-01 00:00:00 in Los Angeles, as in the comments of `RebaseDateTime`, and in other zones.
#[test]
fn timestamps_keep_their_local_time() {
    assert_eq!(
        rebased("America/Los_Angeles", -12_243_196_800),
        -12_244_061_222
    );
    assert_eq!(rebased("UTC", -12_243_225_600), -12_244_089_600);
    // before 1890-03-31, Berlin was 53 minutes and 28 seconds ahead of UTC
    assert_eq!(
        rebased("Europe/Berlin", -2_600_000_000),
        -2_600_000_000 + 3600 - 3208
    );
    assert_eq!(rebased("Europe/Berlin", -2_400_000_000), -2_400_000_000);
    for zone in ["America/Los_Angeles", "Asia/Manila", "Pacific/Apia"] {
        assert_eq!(rebased(zone, MODERN_SECOND), MODERN_SECOND);
    }
}

#[test]
fn differences_before_1900_are_below_the_maximum() {
    let mut zones = 0;
    for line in ZONES.lines() {
        let (_, names) = line.split_once(" | ").unwrap();
        for name in names.split(' ') {
            let zone = LegacyZone::named(name);
            let LegacyZone::Known(known) = &zone else {
                panic!("{name}");
            };
            let ascending = known.switches.is_sorted_by(|first, next| first.0 < next.0);
            assert!(ascending, "{name}");
            let difference = zone.difference_at(MODERN_SECOND - 1).unwrap();
            assert!(difference.abs() < MAX_LATE_DIFFERENCE, "{name}");
            zones += 1;
        }
    }
    assert!(zones > 600, "{zones}");
}

#[test]
fn parses_offsets_as_java_util() {
    let standard = |name: &str| match LegacyZone::named(name) {
        LegacyZone::Known(zone) => Some(zone.standard),
        _ => None,
    };
    for (name, offset) in [
        ("UTC", Some(0)),
        ("GMT+3", Some(10_800)),
        ("GMT+03:30", Some(12_600)),
        ("GMT-0330", Some(-12_600)),
        ("+03:00", Some(0)),
        ("UTC-8", Some(0)),
        ("UT+1", Some(0)),
        ("Z", Some(0)),
        ("GMT+24", None),
        ("GMT+1:60", None),
        ("GMT+1:1:1", None),
        ("GMT+", None),
        ("GMT+é", None),
        ("+", None),
        ("", None),
        ("|", None),
        ("Mars/Olympus", None),
        ("america/los_angeles", None),
    ] {
        assert_eq!(standard(name), offset, "{name:?}");
    }
}

#[test]
fn only_timestamps_before_1900_need_a_zone() {
    for zone in [LegacyZone::Unnamed, LegacyZone::named("Mars/Olympus")] {
        assert_eq!(zone.difference_at(MODERN_SECOND), Ok(0));
        assert!(zone.difference_at(MODERN_SECOND - 1).is_err());
    }
    let error = LegacyZone::named("Mars/Olympus")
        .difference_at(i64::MIN)
        .unwrap_err();
    assert!(error.to_string().contains("\"Mars/Olympus\""), "{error}");
    let utc = LegacyZone::named("UTC");
    assert!(utc.difference_at(i64::MIN / 1_000_000).is_ok());
}
