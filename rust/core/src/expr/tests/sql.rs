//! Predicates parsed from SQL and from tuples, and printed.

use super::{sql, tuple};
use crate::expr::{Literal, Predicate};

#[test]
fn prints_the_canonical_form() {
    for (text, printed) in [
        ("a = 1", "a = 1"),
        ("a == -1", "a = -1"),
        ("1 <a", "1 < a"),
        ("a!=1", "a <> 1"),
        ("a <=> NULL", "a <=> NULL"),
        ("a IS DISTINCT FROM b", "NOT a <=> b"),
        ("a is not distinct from 5", "a <=> 5"),
        ("`a b`.c.`d.e` > '''x'''", r"`a b`.c.`d.e` > '\'x\''"),
        ("`tick``ed` >= 1", "`tick``ed` >= 1"),
        ("ok", "ok"),
        ("NOT ok AND !ko", "NOT ok AND NOT ko"),
        ("a = 1 OR b = 2 AND c = 3", "a = 1 OR b = 2 AND c = 3"),
        ("(a = 1 OR b = 2) AND c = 3", "(a = 1 OR b = 2) AND c = 3"),
        (
            "((a = 1)) AND (b = 2 AND (c = 3))",
            "a = 1 AND b = 2 AND c = 3",
        ),
        ("NOT (a = 1 AND b = 2)", "NOT (a = 1 AND b = 2)"),
        ("NOT NOT a = 1", "NOT NOT a = 1"),
        ("a IS NULL", "a IS NULL"),
        ("NOT a IS NULL", "a IS NOT NULL"),
        ("isnotnull(a) and ISNULL(b)", "a IS NOT NULL AND b IS NULL"),
        ("(a > 1) IS NOT TRUE", "(a > 1) IS NOT TRUE"),
        ("a > 1 IS FALSE", "(a > 1) IS FALSE"),
        ("ok IS UNKNOWN", "ok IS NULL"),
        ("a IN (1, 2 , 3)", "a IN (1, 2, 3)"),
        ("a NOT IN ('x')", "a NOT IN ('x')"),
        ("a IN (b, 1)", "a = b OR a IN (1)"),
        ("a IN ()", "a IN ()"),
        ("a = -128Y AND b = -1.5D", "a = -128 AND b = -1.5e0"),
        ("a = b = c", "a = b = c"),
        ("(a + 1) IS NOT NULL", "(a + 1) IS NOT NULL"),
        ("(a = 1 OR b) IS NOT TRUE", "(a = 1 OR b) IS NOT TRUE"),
        ("`end` = 1 AND s.case = 2", "end = 1 AND s.`case` = 2"),
        ("a BETWEEN 1 AND 2 AND b", "a >= 1 AND a <= 2 AND b"),
        ("a NOT BETWEEN 1 AND 2", "NOT (a >= 1 AND a <= 2)"),
        ("s LIKE 'a%'", "s LIKE 'a%'"),
        ("s NOT LIKE 'a!%' ESCAPE '!'", "s NOT LIKE 'a!%' ESCAPE '!'"),
        ("startswith(s, '10%')", r"s LIKE '10\\%%'"),
        ("starts_with(s, NULL)", "NULL"),
        ("isnan(d)", "(d = CAST('NaN' AS DOUBLE)) IS TRUE"),
        ("date >= '2026-01-01'", "`date` >= '2026-01-01'"),
        ("a = `any` OR a < `some`.b", "a = `any` OR a < `some`.b"),
        ("a <=> `All`", "a <=> `All`"),
        ("d < DATE '2026-1-2'", "d < DATE '2026-01-02'"),
        (
            "t < TIMESTAMP '2026-01-02 03:04:05'",
            "t < TIMESTAMP '2026-01-02T03:04:05.000000'",
        ),
        (
            "t < timestamp'2026-01-02T03:04:05.5+01:00'",
            "t < TIMESTAMP '2026-01-02T02:04:05.500000Z'",
        ),
        (
            "t < TIMESTAMP_NTZ '0001-01-01'",
            "t < TIMESTAMP_NTZ '0001-01-01T00:00:00.000000'",
        ),
        ("b = X'00fF'", "b = X'00FF'"),
        ("a = 1.50", "a = 1.50"),
        ("a = -.5", "a = -0.5"),
        ("a = 1e3", "a = 1e3"),
        ("a = 1.5D", "a = 1.5e0"),
        ("a = 7L", "a = 7"),
        ("a = 7BD", "a = CAST(7 AS DECIMAL(19,0))"),
        ("a = 9223372036854775807", "a = 9223372036854775807"),
        ("a = -9223372036854775808", "a = -9223372036854775808"),
        ("a = 9223372036854775808", "a = 9223372036854775808"),
        ("a = CAST('12' AS INT)", "a = 12"),
        ("a = CAST(1.256 AS DECIMAL(5, 2))", "a = 1.26"),
        ("a = CAST(1.256 AS DEC(5, 2))", "a = 1.26"),
        ("a = CAST('2020-02-30 ' AS STRING)", "a = '2020-02-30 '"),
        (
            "a = CAST('-Infinity' AS DOUBLE)",
            "a = CAST('-Infinity' AS DOUBLE)",
        ),
        ("a = CAST(NULL AS BIGINT)", "a = NULL"),
        ("a = 1 -- one\n AND /* two */ b = 2", "a = 1 AND b = 2"),
        ("a = 1 /* x /* y */ it's */ AND b = 2", "a = 1 AND b = 2"),
        ("größe = 1", "`größe` = 1"),
        (r"s = 'C:\new'", "s = 'C:\new'"),
        (r"s = 'C:\\new'", r"s = 'C:\\new'"),
    ] {
        let predicate = sql(text);
        assert_eq!(predicate.to_string(), printed, "{text}");
        assert_eq!(sql(printed), predicate, "{printed}");
    }
}

#[test]
fn and_flattens_conjunctions() {
    let joined = sql("a = 1 AND b = 2").and(sql("c = 3")).and(sql("d OR e"));
    assert_eq!(joined, sql("a = 1 AND b = 2 AND c = 3 AND (d OR e)"));
}

#[test]
fn tuples_are_an_or_of_ands() {
    let dnf = vec![
        vec![
            tuple("a", "=", Literal::Integer(1)),
            tuple(
                "s.x",
                "not  IN",
                Literal::List(vec![Literal::String("u".into())]),
            ),
        ],
        vec![tuple("a b", "!=", Literal::Double(0.5))],
        vec![tuple("`a.b`", ">=", Literal::Date(0))],
    ];
    assert_eq!(
        Predicate::from_dnf(dnf).unwrap(),
        sql("a = 1 AND s.x NOT IN ('u') OR `a b` <> 5e-1 OR `a.b` >= DATE '1970-01-01'")
    );
}

#[test]
fn nulls_in_tuples_become_is_null() {
    for (op, value, text) in [
        ("=", Literal::Null, "a IS NULL"),
        ("is", Literal::Null, "a IS NULL"),
        ("!=", Literal::Null, "a IS NOT NULL"),
        ("is not", Literal::Null, "a IS NOT NULL"),
        (
            "in",
            Literal::List(vec![Literal::Integer(1), Literal::Null]),
            "a IN (1) OR a IS NULL",
        ),
        (
            "not in",
            Literal::List(vec![Literal::Null, Literal::Integer(1)]),
            "a NOT IN (1) AND a IS NOT NULL",
        ),
        ("in", Literal::List(vec![]), "a IN ()"),
    ] {
        let predicate = Predicate::from_dnf(vec![vec![tuple("a", op, value)]]).unwrap();
        assert_eq!(predicate, sql(text));
    }
}

#[test]
fn number_keeps_all_digits() {
    for (text, printed) in [
        ("12", "12"),
        ("-12.340", "-12.340"),
        ("1E+3", "CAST(1000 AS DECIMAL(19,0))"),
        (
            "170141183460469231731687303715884105",
            "170141183460469231731687303715884105",
        ),
        ("1E-38", "0.00000000000000000000000000000000000001"),
    ] {
        assert_eq!(Literal::number(text).unwrap().to_string(), printed);
    }
}

#[test]
fn number_rejects_other_text_and_more_than_38_digits() {
    for text in [
        "",
        "x",
        "1e39",
        "1E-39",
        "NaN",
        "0.123456789012345678901234567890123456789",
    ] {
        let error = Literal::number(text).unwrap_err();
        assert_eq!(error.code(), "filter.literal", "{text}");
    }
}
