//! Conditions that have another value without ANSI mode; `test_session_settings.py` compares some with Spark.

use super::schema;
use crate::expr::Predicate;

fn kept(text: &str) -> Option<String> {
    let types = [
        ("i", "integer"),
        ("b", "byte"),
        ("dc", "decimal(10,2)"),
        ("f", "double"),
        ("s", "string"),
        ("d", "date"),
        ("at", "timestamp"),
        ("n", "timestamp_ntz"),
        ("bin", "binary"),
        ("yes", "boolean"),
    ];
    let kept = Predicate::parse_sql(text).unwrap();
    let kept = kept.without_ansi(&schema(&types)).unwrap();
    kept.map(|kept| kept.to_string())
}

#[test]
fn conditions_of_one_type_are_kept() {
    for text in [
        "i = 1",
        "NOT (i < 1.5 OR f >= 2)",
        "i IN (1, 2, NULL)",
        "dc IN (1, 1.5)",
        "i IN ('1', 2)",
        "b = '127'",
        "s = 'a' OR s IN ('a', '1')",
        "s LIKE 'a%'",
        "d >= '2026-1-31'",
        "d IN ('2026-01-31', DATE '2026-02-01')",
        "at < '2026-01-31' AND at > DATE '2026-01-01'",
        "at IN (TIMESTAMP '2026-01-31 00:00:00Z')",
        "d = at",
        "i = dc",
        "bin = X'01'",
        "yes IS NULL",
        "yes = true",
    ] {
        let printed = Predicate::parse_sql(text).unwrap().to_string();
        assert_eq!(kept(text), Some(printed), "{text}");
    }
}

#[test]
fn conditions_that_may_differ_are_dropped() {
    for text in [
        "i IN ('01', 2)",       // compared as strings
        "i NOT IN ('1', 2.0)",  // also the number, as '2.0'
        "dc IN ('1.5')",        // as '1.50'
        "d IN ('2026-1-31')",   // as '2026-01-31'
        "d IN ('2026-01-3 ')",  // as '2026-01-03'
        "at IN ('2026-01-31')", // as '2026-01-31 00:00:00'
        "at IN (DATE '2026-01-31', '2026-01-31 00:00:00')",
        "b = '300'", // cast to TINYINT, so null
        "i = '1.5'", // cast to INT, so 1
        "f = '1'",
        "s = 1", // cast to INT
        "s = i",
        "s IN ('1', 1)",
        "yes = 1",
        "i + 1 < 0",              // wraps around
        "CAST(s AS INT) IS NULL", // never fails
        "i = 1 OR i + 1 < 0",
    ] {
        assert_eq!(kept(text), None, "{text}");
    }
    assert_eq!(kept("i + 1 < 0 AND i = 1 AND s = 1"), kept("i = 1"));
}
