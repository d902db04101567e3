//! Formulas on rows. Expected values are those of `SELECT <expression>` in Spark 4, in ANSI mode.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_cast::display::array_value_to_string;

use crate::error::Result;
use crate::expr::Formula;

fn rows() -> RecordBatch {
    let ts = TimestampMicrosecondArray::from(vec![Some(1_767_312_245_678_901), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from(vec![Some(7), None]))),
        ("s", Arc::new(StringArray::from(vec![Some("aBc"), None]))),
        ("ts", Arc::new(ts.with_timezone("UTC"))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn values(text: &str) -> Result<Vec<String>> {
    let rows = rows();
    let bound = Formula::parse(text)?.bind(rows.schema_ref().fields())?;
    let values = bound.evaluate(&rows)?;
    assert_eq!(values.data_type(), bound.data_type(), "{text}");
    // arrow does not format zone names
    let values = match values.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(timestamps) => Arc::new(timestamps.clone().with_timezone("+00:00")),
        None => values,
    };
    Ok((0..2)
        .map(|row| array_value_to_string(&values, row).unwrap())
        .collect())
}

#[test]
fn evaluates_formulas_as_spark() {
    for (text, first, second) in [
        ("i + 1", "8", ""),
        ("-i * 2 - 1", "-15", ""),
        ("i / 2", "3.5", ""),
        ("i % 4", "3", ""),
        ("i DIV 2", "3", ""),
        ("-7.9 DIV i", "-1", ""),
        ("-2147483648", "-2147483648", "-2147483648"),
        ("CAST(i AS FLOAT) + 16777217", "16777224.0", ""),
        ("s LIKE 'a!_%' ESCAPE '!'", "false", ""),
        ("s LIKE 'aB_' ESCAPE '!'", "true", ""),
        // parts that cannot change the result are not evaluated
        ("coalesce(i, 1 / (i - i))", "7.0", ""),
        ("ts IS NULL OR i IN (i, 1 / (i - 7))", "true", "true"),
        ("i NOT BETWEEN 8 AND 1 / (i - 7)", "true", ""),
        ("CAST(NULL AS INT) + 1 / (i - 7)", "", ""),
        ("CAST(i - 7 AS DOUBLE) * nullif(i, 7) / 0", "", ""),
        ("CASE WHEN i <> 7 THEN s ELSE 0 END", "0", "0"),
        ("nullif(NULL, 1) <=> NULL", "true", "true"),
        ("(i > 8) IS UNKNOWN", "false", "true"),
        ("CASE WHEN (i > 8) IS NOT UNKNOWN THEN 1 END", "1", ""),
        ("floor(CAST('NaN' AS DOUBLE))", "0", "0"),
        (
            "ceil(-1e300)",
            "-9223372036854775808",
            "-9223372036854775808",
        ),
        ("1.5 + i", "8.5", ""),
        ("1e1 + 1", "11.0", "11.0"),
        ("s || '-' || i", "aBc-7", ""),
        ("concat(s, 'x')", "aBcx", ""),
        ("upper(s)", "ABC", ""),
        ("`Upper`(s)", "ABC", ""),
        ("length(s)", "3", ""),
        ("substring(s, 2)", "Bc", ""),
        ("substr(s, -2, 1)", "B", ""),
        ("coalesce(i, 0)", "7", "0"),
        ("array(i, 2)", "[7, 2]", "[, 2]"),
        ("array(i, CAST(2 AS BIGINT))", "[7, 2]", "[, 2]"),
        ("array(s, NULL)", "[aBc, ]", "[, ]"),
        ("array(array(i), array())", "[[7], []]", "[[], []]"),
        ("array()", "[]", "[]"),
        (
            "CASE WHEN i > 5 THEN 'big' ELSE 'small' END",
            "big",
            "small",
        ),
        ("CASE i WHEN 7 THEN 1 END", "1", ""),
        ("if(i IS NULL, -1, i)", "7", "-1"),
        ("CAST(ts AS DATE)", "2026-01-02", ""),
        ("CAST(ts AS STRING)", "2026-01-02 00:04:05.678901", ""),
        ("CAST('abc' AS VARCHAR(1))", "abc", "abc"),
        ("CAST(ts AS BIGINT)", "1767312245", ""),
        ("CAST(ts AS DECIMAL(20, 6))", "1767312245.678901", ""),
        ("CAST(ts AS DECIMAL(12, 2))", "1767312245.68", ""),
        (
            "CAST(TIMESTAMP '1969-12-31 23:59:58.5Z' AS INT)",
            "-2",
            "-2",
        ),
        (
            "CAST(TIMESTAMP '1970-01-01 00:00:01.5Z' AS FLOAT)",
            "1.5",
            "1.5",
        ),
        ("CAST(i AS TIMESTAMP)", "1970-01-01T00:00:07Z", ""),
        (
            "CAST(CAST(-1.9999999e0 AS TIMESTAMP) AS STRING)",
            "1969-12-31 23:59:58.000001",
            "1969-12-31 23:59:58.000001",
        ),
        (
            "CAST(CAST(-1.0000009 AS TIMESTAMP) AS STRING)",
            "1969-12-31 23:59:59",
            "1969-12-31 23:59:59",
        ),
        (
            "CAST(CAST(1.25 AS TIMESTAMP) AS STRING)",
            "1970-01-01 00:00:01.25",
            "1970-01-01 00:00:01.25",
        ),
        (
            "CAST(CAST(9223372036854775807 AS TIMESTAMP) AS STRING)",
            "+294247-01-10 04:00:54.775807",
            "+294247-01-10 04:00:54.775807",
        ),
        (
            "CAST(CAST(CAST(-9223372036854775807 AS TIMESTAMP) AS DATE) AS STRING)",
            "-290308-12-21",
            "-290308-12-21",
        ),
        (
            "CAST(date_add(DATE '1970-01-01', 2147483647) AS STRING)",
            "+5881580-07-11",
            "+5881580-07-11",
        ),
        ("year(ts)", "2026", ""),
        ("hour(ts)", "0", ""),
        ("date_format(ts, 'yyyy-MM-dd-HH')", "2026-01-02-00", ""),
        ("CAST('12' AS INT) + 1", "13", "13"),
        ("CAST(' +12 ' AS BIGINT)", "12", "12"),
        ("CAST('1.255' AS DECIMAL(5, 2))", "1.26", "1.26"),
        ("CAST('2.5d' AS DOUBLE)", "2.5", "2.5"),
        ("CAST('Y' AS BOOLEAN)", "true", "true"),
        ("'7' = i", "true", ""),
        ("i IN ('7', 8.5)", "true", ""),
        ("coalesce(i, '0') + 1", "8", "1"),
        // each is cast once, to the common type of all
        ("coalesce(1e1 * i, i, '1.5')", "70.0", "1.5"),
        (
            "CASE WHEN i > 8 THEN 1e1 WHEN i > 7 THEN i ELSE '1.5' END",
            "1.5",
            "1.5",
        ),
        ("greatest(i, CAST(0 AS DECIMAL(38, 38)), 1e0)", "7.0", "1.0"),
        ("CAST(1.5 AS DECIMAL(10, 2))", "1.50", "1.50"),
        ("DATE '2026-02-03'", "2026-02-03", "2026-02-03"),
        ("i BETWEEN 1 AND 7", "true", ""),
        ("i IN (1, 7)", "true", ""),
        ("s LIKE 'a%'", "true", ""),
        ("i <=> NULL", "false", "true"),
        ("NOT (i = 7) OR s IS NULL", "false", "true"),
        ("ts > '2026-01-01'", "true", ""),
        ("greatest(i, 3, 9)", "9", "9"),
        ("abs(-3)", "3", "3"),
        ("s ILIKE 'ABC'", "true", ""),
        ("s ILIKE 'a!_%' ESCAPE '!'", "false", ""),
        ("s NOT ILIKE '_B%'", "false", ""),
        ("s RLIKE '^a[A-Z]'", "true", ""),
        ("s NOT RLIKE 'b'", "true", ""),
        ("s REGEXP r'\\d'", "false", ""),
        ("regexp_like(s, '(?i)b')", "true", ""),
        ("regexp_like(s, NULL)", "", ""),
        ("isnan(i)", "false", "false"),
        ("X'00fF'", "00ff", "00ff"),
        ("X'123'", "0123", "0123"),
        ("isnan(CAST('NaN' AS DOUBLE) + 1)", "true", "true"),
        (
            "DATE '2026-01-31' + INTERVAL 1 MONTH",
            "2026-02-28",
            "2026-02-28",
        ),
        (
            "DATE '2026-03-31' - INTERVAL '1' MONTH",
            "2026-02-28",
            "2026-02-28",
        ),
        (
            "INTERVAL 2 WEEKS + DATE '2026-01-01'",
            "2026-01-15",
            "2026-01-15",
        ),
        ("CAST(ts AS DATE) - INTERVAL '1 year'", "2025-01-02", ""),
        (
            "ts - INTERVAL 1.5 SECONDS",
            "2026-01-02T00:04:04.178901Z",
            "",
        ),
        (
            "ts + INTERVAL '-.5' SECOND",
            "2026-01-02T00:04:05.178901Z",
            "",
        ),
        (
            "ts + INTERVAL 1.0000019 SECONDS",
            "2026-01-02T00:04:06.678902Z",
            "",
        ),
        ("ts + INTERVAL -2 HOURS", "2026-01-01T22:04:05.678901Z", ""),
        (
            "DATE '2026-01-01' + INTERVAL 36 HOURS",
            "2026-01-02T12:00:00Z",
            "2026-01-02T12:00:00Z",
        ),
        ("date_add(ts, i)", "2026-01-09", ""),
        ("date_sub(DATE '2026-01-01', 1)", "2025-12-31", "2025-12-31"),
        ("date_add('2026-02-27', 2)", "2026-03-01", "2026-03-01"),
        ("datediff(ts, '2025-12-31')", "2", ""),
        (
            "add_months(DATE '2024-01-31', 1)",
            "2024-02-29",
            "2024-02-29",
        ),
        ("last_day(ts)", "2026-01-31", ""),
        ("date_trunc('week', ts)", "2025-12-29T00:00:00Z", ""),
        ("date_trunc('QUARTER', ts)", "2026-01-01T00:00:00Z", ""),
        ("date_trunc('minute', ts)", "2026-01-02T00:04:00Z", ""),
        ("date_trunc('nothing', ts)", "", ""),
        ("trunc(ts, 'MM')", "2026-01-01", ""),
        ("trunc(ts, 'hour')", "", ""),
        ("floor(2.7e0)", "2", "2"),
        ("nullif(i, 7)", "", ""),
        ("CASE WHEN i = 7 THEN 0 ELSE 1 / (i - 7) END", "0.0", ""),
        ("if(i <> 7, 1 / (i - 7), 0.5e0)", "0.5", "0.5"),
        ("i <> 7 AND 1 / (i - 7) > 0", "false", ""),
    ] {
        assert_eq!(values(text).unwrap(), [first, second], "{text}");
    }
}

#[test]
fn rejects_invalid_and_unsupported_formulas() {
    for (text, code) in [
        ("i +", "formula.syntax"),
        ("i 1", "formula.syntax"),
        ("x + 1", "formula.column"),
        ("i.x", "formula.column"),
        ("mine(i)", "formula.unsupported"),
        ("(SELECT 1)", "formula.unsupported"),
        ("sum(i) OVER (ORDER BY i)", "formula.unsupported"),
        ("upper(DISTINCT s)", "formula.unsupported"),
        ("i AND TRUE", "formula.type"),
        ("ts + 1", "formula.unsupported"),
        ("1e400 + i", "formula.type"),
        ("i DIV 2.5", "formula.unsupported"),
        ("i DIV 2.5D", "formula.unsupported"),
        ("INTERVAL 1 DAY", "formula.unsupported"),
        ("ts + INTERVAL 1 FORTNIGHT", "formula.syntax"),
        ("ts + INTERVAL '1 fortnight'", "formula.unsupported"),
        ("ts + INTERVAL '1-2' YEAR TO MONTH", "formula.unsupported"),
        ("i + INTERVAL 1 DAY", "formula.type"),
        ("date_add(ts, 1L)", "formula.type"),
        ("date_add(DATE '9999-01-01', 2147483647)", "formula.value"),
        ("s RLIKE 'a(?=b)'", "formula.unsupported"),
        ("s RLIKE s", "formula.unsupported"),
        ("isnan(ts)", "formula.type"),
        ("X'0G'", "formula.type"),
        ("0xff", "formula.unsupported"),
        ("CAST(i AS FOO)", "formula.unsupported"),
        ("i / 0", "formula.value"),
        ("CAST(s AS INT)", "formula.value"),
        ("i = '2.5'", "formula.value"),
        ("i IN ('7', 'x')", "formula.value"),
        ("coalesce(i, 'none')", "formula.value"),
        ("2147483647 + i", "formula.value"),
    ] {
        assert_eq!(values(text).unwrap_err().code(), code, "{text}");
    }
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    assert_eq!(Formula::parse(&deep).unwrap_err().code(), "formula.syntax");
}

#[test]
fn errors_name_types_as_sql_does() {
    for (text, message) in [
        ("ts * 2", "* of values of the type TIMESTAMP"),
        ("CAST(true AS DATE)", "BOOLEAN cannot be cast to DATE"),
        ("CAST(i AS DATE)", "INT cannot be cast to DATE"),
        (
            "CAST(CAST(ts AS DATE) AS INT)",
            "DATE cannot be cast to INT",
        ),
        (
            "CAST(1.5 AS TIMESTAMP_NTZ)",
            "DECIMAL(2,1) cannot be cast to TIMESTAMP_NTZ",
        ),
        (
            "CAST(CAST(ts AS TIMESTAMP_NTZ) AS DOUBLE)",
            "TIMESTAMP_NTZ cannot be cast to DOUBLE",
        ),
        (
            "CAST(i * 1e30 AS TIMESTAMP)",
            "\"7.0E30\" cannot be cast to TIMESTAMP",
        ),
        (
            "CAST(CAST(i AS DECIMAL(38, 0)) * 10000000000000 AS TIMESTAMP)",
            "\"70000000000000\" cannot be cast to TIMESTAMP",
        ),
        (
            "i + 1 AND true",
            "a value of the type INT is not a condition",
        ),
        (
            "coalesce(i, true)",
            "INT and BOOLEAN have no type in common",
        ),
    ] {
        let error = values(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// Without parentheses, the nesting of an expression is the number of its operators.
#[test]
fn formulas_have_at_most_500_operators() {
    for (start, operator, times) in [
        ("i", " + i", 490),
        ("i", " + 0 IS NULL", 150),
        ("i", "::int", 240),
        ("i = 1", " AND i = 1", 240),
    ] {
        let text = format!("{start}{}", operator.repeat(times));
        let formula = Formula::parse(&text).unwrap();
        let _ = formula.bind(rows().schema_ref().fields()); // must not overflow the stack
        let text = format!("{start}{}", operator.repeat(501));
        let error = Formula::parse(&text).unwrap_err();
        assert_eq!(error.code(), "formula.too_long", "{operator}");
        assert!(error.to_string().contains("500 operators"), "{error}");
    }
}

#[test]
fn formulas_have_at_most_64_kib_of_text() {
    for spaces in [64 << 10, 5 << 20] {
        let error = Formula::parse(&format!("i +{}1", " ".repeat(spaces))).unwrap_err();
        assert_eq!(error.code(), "formula.too_long");
    }
}

#[test]
fn nested_formulas_do_not_overflow_the_stack() {
    for (open, close) in [
        ("(", ")"),
        ("upper(", ")"),
        ("CASE WHEN i = 1 THEN ", " END"),
        ("- ", ""),
        ("NOT ", ""),
    ] {
        for times in [1, 40, 400] {
            let text = format!("{}i{}", open.repeat(times), close.repeat(times));
            let formula = Formula::parse(&text);
            assert!(times > 1 || formula.is_ok(), "{text}");
            let _ = formula.map(|formula| formula.bind(rows().schema_ref().fields()));
        }
    }
}
