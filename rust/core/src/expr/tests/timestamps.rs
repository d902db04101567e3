//! Local times in predicates as instants, case by case.

use super::schema;
use crate::expr::Predicate;

/// Converts a filter from a time zone that is two hours ahead of UTC; returns its local times, too.
fn ahead(text: &str) -> (Option<String>, Vec<String>) {
    let types = [
        ("at", "timestamp"),
        ("n", "timestamp_ntz"),
        ("d", "date"),
        ("s", "string"),
        ("p", "timestamp"),
        ("at_count", "long"),
    ];
    let (schema, partitions) = (schema(&types), ["P".to_owned()]);
    let predicate = Predicate::parse_sql(text).unwrap();
    let times = predicate.clock_times(&schema, &partitions).unwrap();
    let timestamps = times.iter().map(|time| {
        let micros =
            crate::spec::values::timestamp(time, arrow_schema::TimeUnit::Microsecond, true);
        (time.clone(), micros.unwrap() - 7_200_000_000)
    });
    let left = predicate.with_timestamps(&schema, &partitions, &timestamps.collect());
    let left = left.unwrap().map(|left| left.to_string());
    (left, times.into_iter().collect())
}

#[test]
fn clock_times_become_moments() {
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
        assert_eq!(ahead(text).0, Some(expected), "{text}");
        assert_eq!(ahead(text).1.len(), 1, "{text}");
    }
}

#[test]
fn what_names_its_zone_or_has_none_stays() {
    for text in [
        "at > '2026-01-01T00:00:00+02:00'",
        "at > TIMESTAMP '2026-01-01T00:00:00.000000Z'",
        "n > TIMESTAMP_NTZ '2026-01-01T00:00:00.000000'",
        "n > '2026-01-01'",
        "d > TIMESTAMP '2026-01-01T00:00:00.000000'",
        "d = n",
        "s = '2026-01-01'",
        "at_count % 2 = 1",
        "at IS NULL",
    ] {
        let same = Predicate::parse_sql(text).unwrap().to_string();
        assert_eq!(ahead(text), (Some(same), Vec::new()), "{text}");
    }
}

#[test]
fn what_depends_on_the_zone_is_left_out() {
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
    ] {
        assert_eq!(ahead(text).0.as_deref(), expected, "{text}");
    }
}
