//! Conversion of local times in predicates to instants.

use arrow_schema::TimeUnit;

use super::schema;
use crate::expr::Predicate;
use crate::spec::values::timestamp;

/// Converts a filter from a time zone that is two hours ahead of UTC; also returns its local times.
fn convert_from_utc_plus_two(text: &str) -> (Option<String>, Vec<String>) {
    let types = [
        ("at", "timestamp"),
        ("n", "timestamp_ntz"),
        ("d", "date"),
        ("s", "string"),
        ("p", "timestamp"),
        ("é", "timestamp"),
        ("at_count", "long"),
    ];
    let (schema, partitions) = (schema(&types), ["P".to_owned(), "é".to_owned()]);
    let predicate = Predicate::parse_sql(text).unwrap();
    let times = predicate.local_times(&schema, &partitions).unwrap();
    let timestamps = times.iter().map(|time| {
        let micros = timestamp(time, TimeUnit::Microsecond, true).unwrap();
        (time.clone(), micros - 7_200_000_000)
    });
    let converted = predicate.with_timestamps(&schema, &partitions, &timestamps.collect());
    let converted = converted.unwrap().map(|converted| converted.to_string());
    (converted, times.into_iter().collect())
}

#[test]
fn local_times_become_instants() {
    let evening = "TIMESTAMP '2025-12-31T22:00:00.000000Z'";
    for (text, expected) in [
        ("at > '2026-01-01'", format!("at > {evening}")),
        ("at > DATE '2026-01-01'", format!("at > {evening}")),
        (
            "TIMESTAMP '2026-01-01 00:00:00' < at",
            format!("{evening} < at"),
        ),
        (
            "at = TIMESTAMP_NTZ '2026-01-01 00:00:00'",
            format!("at = {evening}"),
        ),
        (
            "NOT at IN ('2026-01-01', NULL)",
            format!("NOT at IN ({evening}, NULL)"),
        ),
        (
            "s = 's3' AND (at < '2026-01-01' OR at_count = 1)",
            format!("s = 's3' AND (at < {evening} OR at_count = 1)"),
        ),
    ] {
        let expected = Predicate::parse_sql(&expected).unwrap().to_string();
        let (converted, local_times) = convert_from_utc_plus_two(text);
        assert_eq!(converted, Some(expected), "{text}");
        assert_eq!(local_times.len(), 1, "{text}");
    }
}

#[test]
fn keeps_conditions_that_do_not_depend_on_the_time_zone() {
    for text in [
        "at > '2026-01-01T00:00:00+02:00'",
        "at > TIMESTAMP '2026-01-01T00:00:00.000000Z'",
        "n > TIMESTAMP_NTZ '2026-01-01T00:00:00.000000'",
        "n > '2026-01-01'",
        "d > TIMESTAMP '2026-01-01T00:00:00.000000'",
        "d = n",
        "s = '2026-01-01'",
        "s > DATE '2026-01-01'",
        "s LIKE '2026%'",
        "n LIKE '2026%'",
        "at_count % 2 = 1",
        "at IS NULL",
    ] {
        let same = Predicate::parse_sql(text).unwrap().to_string();
        let converted = convert_from_utc_plus_two(text);
        assert_eq!(converted, (Some(same), Vec::new()), "{text}");
    }
}

#[test]
fn drops_other_conditions_that_depend_on_the_time_zone() {
    for (text, expected) in [
        ("n > TIMESTAMP '2026-01-01 00:00:00'", None),
        ("n > TIMESTAMP '2026-01-01 00:00:00Z'", None),
        ("d = at", None),
        ("at = n AND s = 'x'", Some("s = 'x'")),
        ("NOT (at = n AND s = 'x')", None),
        ("at = n OR s = 'x'", None),
        ("year(d) = 2026 AND s = 'x'", Some("s = 'x'")),
        ("p > '2026-01-01' AND s = 'x'", Some("s = 'x'")),
        ("p = at", None),
        ("`É` > '2026-01-01' AND s = 'x'", Some("s = 'x'")),
        ("hour(`É`) = 3 AND s = 'x'", Some("s = 'x'")),
        ("at LIKE '2026%' AND s = 'x'", Some("s = 'x'")),
        ("startswith(p, '2026')", None),
        ("s = TIMESTAMP '2026-01-01 00:00:00Z'", None),
        ("TIMESTAMP '2026-01-01 00:00:00' < s", None),
        ("hour(s) = 3", None),
        ("s - INTERVAL '1' DAY > '2026-01-01'", None),
    ] {
        let (converted, _) = convert_from_utc_plus_two(text);
        assert_eq!(converted.as_deref(), expected, "{text}");
    }
}
