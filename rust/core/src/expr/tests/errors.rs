//! Errors of filters.

use proptest::prelude::*;

use super::{schema, sql, tuple};
use crate::expr::{Literal, Predicate};

fn parse_error(text: &str) -> (&'static str, String) {
    let error = match Predicate::parse_sql(text) {
        Ok(predicate) => panic!("{text} became {predicate}"),
        Err(error) => error,
    };
    assert_eq!(error.kind(), crate::error::ErrorKind::InvalidArgument);
    (error.code(), error.to_string())
}

#[test]
fn syntax_errors_mark_the_position_with_a_caret() {
    for (text, expected) in [
        (
            "price > )",
            "the filter does not parse: expected a column or a value, found \")\"\n  price > )\n          ^",
        ),
        (
            "a = 1 AND\n  b = ",
            "the filter does not parse: expected a column or a value, found the end\n    b = \n        ^",
        ),
        (
            "a = 1 b",
            "the filter does not parse: expected AND, OR or the end, found \"b\"\n  a = 1 b\n        ^",
        ),
        (
            "größe IS 5",
            "the filter does not parse: expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, found \"5\"\n  größe IS 5\n           ^",
        ),
    ] {
        assert_eq!(parse_error(text), ("filter.syntax", expected.to_owned()));
    }
    let (_, message) = parse_error(&format!("{} AND ) AND x", vec!["a = 1"; 100].join(" AND ")));
    let lines: Vec<&str> = message.lines().collect();
    let caret = lines[2]
        .chars()
        .position(|character| character == '^')
        .unwrap();
    assert_eq!(lines[1].chars().nth(caret), Some(')'), "{message}");
    assert!(lines[1].len() < 120);
}

#[test]
fn rejects_malformed_filters() {
    for text in [
        "",
        " ",
        "a =",
        "= 1",
        "a = 1 AND",
        "AND a",
        "(a = 1",
        "a = 1)",
        "a IN (1",
        "a IN (1 2)",
        "a BETWEEN 1",
        "a BETWEEN 1 OR 2",
        "a IS",
        "a IS NOT",
        "NOT",
        "a NOT 1",
        "a = 'x",
        "a = `x",
        "a LIKE 'x' ESCAPE 'xy'",
        "a LIKE 'x' ESCAPE 1",
        "a = 1; DROP TABLE t",
        "a..b = 1",
        ".a = 1",
        "a. = 1",
        "a + > 2",
        "a = 1x",
        "a ? 1",
        "CAST('1' AS) = a",
        "isnull(a",
        "isnull()",
        "a = {1}",
        "a = 1 /* x",
    ] {
        assert_eq!(parse_error(text).0, "filter.syntax", "{text}");
    }
}

#[test]
fn names_unsupported_constructs() {
    for (text, named) in [
        ("a IN (SELECT b FROM t)", "subqueries"),
        ("(SELECT 1) = 1", "subqueries"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("a + 1 IN (SELECT b FROM t)", "subqueries"),
        ("NOT CASE", "CASE"),
        ("(CASE)", "CASE"),
    ] {
        let (code, message) = parse_error(text);
        assert_eq!(code, "filter.unsupported", "{text}: {message}");
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn rejects_invalid_literals() {
    for text in [
        "a = X'1G'",
        "d = DATE '2026-02-30'",
        "t = TIMESTAMP 'noon'",
        "a = 1e400",
        "a = CAST(300 AS TINYINT)",
        "a = CAST('x' AS INT)",
        "a = CAST(123.4 AS DECIMAL(3,1))",
        "s LIKE 'x\\\\'",
        "s LIKE 'a!b' ESCAPE '!'",
        "a = 1234567890123456789012345678901234567890",
    ] {
        assert_eq!(parse_error(text).0, "filter.literal", "{text}");
    }
}

#[test]
fn length_and_nesting_are_bounded() {
    let deep = |levels: usize| format!("{}a = 1{}", "(".repeat(levels), ")".repeat(levels));
    assert_eq!(sql(&deep(100)), sql("a = 1"));
    assert_eq!(parse_error(&deep(101)).0, "filter.too_deep");
    for text in [
        deep(200_000),
        "NOT ".repeat(200_000) + "a",
        "(".repeat(1_000_000),
        "isnull(".repeat(100_000),
        "a IN (".repeat(100_000),
        "a = 1 AND (b OR ".repeat(100_000),
    ] {
        assert_eq!(parse_error(&text).0, "filter.too_deep");
    }
    assert_eq!(parse_error(&"!".repeat(1_000_000)).0, "filter.syntax");
    assert_eq!(parse_error(&"a".repeat((4 << 20) + 1)).0, "filter.too_long");

    // long lists are not deeply nested
    let long = vec!["a = 1 OR NOT b"; 20_000].join(" AND ");
    let predicate = sql(&long);
    assert_eq!(sql(&predicate.to_string()), predicate);
    let bound = predicate
        .bind(&schema(&[("a", "long"), ("b", "boolean")]))
        .unwrap();
    assert_eq!(bound.conjuncts().len(), 1);

    let many = vec![Literal::String("x".repeat(1 << 20)); 5];
    let error = Predicate::from_dnf(vec![vec![tuple("a", "in", Literal::List(many))]]).unwrap_err();
    assert_eq!(error.code(), "filter.too_long");
}

#[test]
fn rejects_invalid_tuples() {
    for (dnf, code) in [
        (vec![], "filter.empty"),
        (vec![vec![]], "filter.empty"),
        (
            vec![vec![tuple("a", "~", Literal::Integer(1))]],
            "filter.operator",
        ),
        (vec![vec![tuple("a", "<", Literal::Null)]], "filter.literal"),
        (
            vec![vec![tuple("a", "=", Literal::List(vec![]))]],
            "filter.literal",
        ),
        (
            vec![vec![tuple("a", "in", Literal::Integer(1))]],
            "filter.literal",
        ),
        (
            vec![vec![tuple(
                "a",
                "in",
                Literal::List(vec![Literal::List(vec![])]),
            )]],
            "filter.literal",
        ),
        (
            vec![vec![tuple("a.", "=", Literal::Integer(1))]],
            "filter.syntax",
        ),
    ] {
        let error = Predicate::from_dnf(dnf).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

const TYPES: [(&str, &str); 12] = [
    ("id", "long"),
    ("price", "decimal(10,2)"),
    ("name", "string"),
    ("ok", "boolean"),
    ("day", "date"),
    ("at", "timestamp"),
    ("raw", "binary"),
    ("ratio", "double"),
    ("nothing", "void"),
    ("v", "variant"),
    (
        "info",
        r#"{"type":"struct","fields":[{"name":"City","type":"string"}]}"#,
    ),
    (
        "tags",
        r#"{"type":"array","elementType":"string","containsNull":true}"#,
    ),
];

#[test]
fn bind_rejects_unknown_columns_and_incompatible_types() {
    let schema = schema(&TYPES);
    for (text, code, expected) in [
        ("nmae = 'x'", "filter.column", "did you mean name"),
        ("info.citi = 'x'", "filter.column", "info.City"),
        (
            "info.city.x = 1",
            "filter.column",
            "info.City is not a struct",
        ),
        ("tags.element = 1", "filter.column", "tags is not a struct"),
        ("id > '2.5'", "filter.literal", "'2.5'"),
        ("id = '2.5'", "filter.literal", "BIGINT"),
        ("id = 'five'", "filter.literal", "id (integer)"),
        ("id = TRUE", "filter.literal", "TRUE"),
        ("price = 'x'", "filter.literal", "DOUBLE"),
        ("day = 'tomorrow'", "filter.literal", "day (date)"),
        ("day = 5", "filter.literal", "day"),
        ("at = '2026-13-01'", "filter.literal", "at (timestamp)"),
        ("ok = 'maybe'", "filter.literal", "ok (boolean)"),
        ("ok = 1", "filter.literal", "ok (boolean)"),
        ("ratio = 'half'", "filter.literal", "ratio"),
        ("id IN (1, 'x')", "filter.literal", "'x'"),
        ("raw = 1", "filter.literal", "raw"),
        ("name", "filter.type", "only a boolean column"),
        ("5 OR ok", "filter.type", "not a condition"),
        ("v = 1", "filter.type", "variant"),
        ("info = 'x'", "filter.type", "struct"),
        ("tags = 'x'", "filter.type", "array"),
        ("ok = id", "filter.type", "cannot be compared"),
        ("tags LIKE '1%'", "filter.type", "LIKE takes"),
    ] {
        let error = match sql(text).bind(&schema) {
            Ok(bound) => panic!("{text} became {bound:?}"),
            Err(error) => error,
        };
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(error.message().contains(expected), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text in ".{0,60}") {
        let _ = Predicate::parse_sql(&text);
    }

    #[test]
    fn random_tokens_print_as_equal_predicates(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS.to_vec()), 0..25),
    ) {
        for text in [tokens.join(" "), tokens.concat()] {
            if let Ok(predicate) = Predicate::parse_sql(&text) {
                prop_assert_eq!(&sql(&predicate.to_string()), &predicate);
                let _ = predicate.bind(&schema(&TYPES));
            }
        }
    }
}

const TOKENS: [&str; 58] = [
    "a",
    "id",
    "name",
    "`a b`",
    ".",
    "=",
    "==",
    "<",
    "<=",
    ">=",
    "<>",
    "!=",
    "<=>",
    "!",
    "AND",
    "OR",
    "NOT",
    "IS",
    "NULL",
    "TRUE",
    "FALSE",
    "IN",
    "(",
    ")",
    ",",
    "BETWEEN",
    "LIKE",
    "ESCAPE",
    "'x'",
    "'%'",
    "''",
    "'",
    "`",
    "\"",
    "1",
    "-1",
    "1.5",
    "1e5",
    "D",
    "BD",
    "L",
    "DATE",
    "'2020-01-01'",
    "TIMESTAMP",
    "X'00'",
    "CAST",
    "AS",
    "INT",
    "DECIMAL(3,1)",
    "isnan",
    "isnull",
    "startswith",
    "DISTINCT",
    "FROM",
    "+",
    "--",
    "/*",
    "\u{10FFFF}",
];
