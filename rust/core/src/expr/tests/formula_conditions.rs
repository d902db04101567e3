//! Conditions with formulas.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::{bound, sql};
use crate::expr::Predicate;
use crate::spec::schema::StructType;

fn schema() -> StructType {
    super::schema(&[("Id", "long"), ("n", "long"), ("s", "string")])
}

fn rows() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![10, 0, 5]));
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), Some("abcd"), None]));
    RecordBatch::try_from_iter([("Id", ids), ("n", numbers), ("s", strings)]).unwrap()
}

#[test]
fn evaluates_conditions_with_formulas() {
    let (yes, no) = (Some(true), Some(false));
    for (text, expected) in [
        ("id % 2 = 0", [no, yes, None]),
        ("NOT id % 2 = 0", [yes, no, None]),
        ("(id + n) > 5", [yes, no, None]),
        ("NOT ((id + n) * 2 > 5)", [no, yes, None]),
        ("id % 2 = 0 AND n = 0", [no, yes, no]),
        ("id % 2 = 0 OR n = 5", [no, yes, yes]),
        ("(id % 2 = 0) IS NULL", [no, no, yes]),
        ("(id + n) IS NULL", [no, no, yes]),
        ("isnotnull(id + n)", [yes, yes, no]),
        ("length(s) > 3", [no, yes, None]),
        ("s RLIKE '^ab.'", [no, yes, None]),
        ("s NOT RLIKE '^ab.' AND n > 1", [yes, no, None]),
        ("s ILIKE 'ABC%'", [no, yes, None]),
        ("isnan(id + 0.5)", [no, no, no]),
        (
            "date_add(DATE '2026-01-01', CAST(id AS INT)) > DATE '2026-01-02'",
            [no, yes, None],
        ),
        ("n <> 0 AND id / n > 0", [yes, no, None]),
        ("n = 0 OR id / n > 0", [yes, yes, None]),
        ("NOT (n = 0 OR id / n > 0)", [no, no, None]),
        ("n <> 0 AND (s = 'ab' OR NOT id / n > 1)", [yes, no, None]),
        ("id + 1 BETWEEN 2 AND 2 AND n = 10", [yes, no, no]),
        (
            "CASE WHEN id = 1 AND n = 10 THEN true ELSE false END",
            [yes, no, no],
        ),
    ] {
        let predicate = sql(text);
        assert_eq!(sql(&predicate.to_string()), predicate, "{text}");
        let results = predicate.bind(&schema()).unwrap().evaluate(&rows());
        let results: Vec<_> = results.unwrap().iter().collect();
        assert_eq!(results, expected, "{text}");
    }
}

#[test]
fn a_formula_is_a_conjunct_with_its_columns() {
    let bound = bound("s = 'x' AND id % 2 = 0", &schema());
    let paths: Vec<String> = bound
        .columns()
        .iter()
        .map(|column| column.path.join("."))
        .collect();
    assert_eq!(paths, ["s", "Id"]);
    let conjuncts = bound.conjuncts();
    assert_eq!(conjuncts.len(), 2);
    assert_eq!(conjuncts[1].columns(), &bound.columns()[1..]);
}

#[test]
fn evaluation_fails_for_values_that_cannot_be_computed() {
    for text in ["id / n > 0", "id / n > 0 AND n <> 0", "CAST(s AS INT) = 1"] {
        let error = bound(text, &schema()).evaluate(&rows()).unwrap_err();
        assert_eq!(error.code(), "formula.value", "{text}");
    }
}

#[test]
fn parse_sql_rejects_functions_of_the_current_time() {
    for (text, function) in [
        ("n > current_date()", "CURRENT_DATE"),
        ("day > date_sub(Current_Date, 7)", "CURRENT_DATE"),
        ("now() > id", "NOW"),
        ("id + now > now()", "NOW"),
        ("year(current_timestamp()) = n", "CURRENT_TIMESTAMP"),
    ] {
        let error = Predicate::parse_sql(text).unwrap_err();
        assert_eq!(error.code(), "filter.unsupported", "{text}");
        let named = format!("the function {function} (");
        assert!(error.to_string().contains(&named), "{error}");
    }
    // columns
    for text in ["now % 2 = 0", "id + curdate > 1"] {
        assert_eq!(sql(text).to_string(), text);
    }
}

#[test]
fn parse_sql_at_replaces_functions_of_the_current_time() {
    const NOON: i64 = 1_769_860_800_000_000; // 2026-01-31T12:00:00Z
    for (text, printed) in [
        ("n > now()", "n > TIMESTAMP '2026-01-31T12:00:00.000000Z'"),
        (
            "a.now = 1 AND NOT b < Current_Timestamp",
            "a.now = 1 AND NOT b < TIMESTAMP '2026-01-31T12:00:00.000000Z'",
        ),
        (
            "day BETWEEN date_sub(current_date(), 7) AND CURRENT_DATE",
            "day BETWEEN date_sub( DATE '2026-01-31' , 7) AND DATE '2026-01-31'",
        ),
        ("`current_date` = 'now()'", "`current_date` = 'now()'"),
        ("now = curdate", "now = curdate"),
    ] {
        let result = Predicate::parse_sql_at(text, NOON).unwrap();
        assert_eq!(result.to_string(), printed, "{text}");
        assert_eq!(sql(printed), result, "{text}");
    }
    let error = Predicate::parse_sql_at("n > now() AND", NOON).unwrap_err();
    assert_eq!(error.code(), "filter.syntax");
}

#[test]
fn bind_rejects_invalid_and_unsupported_formulas() {
    for (text, code) in [
        ("frobnicate(id) = 1", "formula.unsupported"),
        ("isnull(DISTINCT id)", "formula.unsupported"),
        ("isnan(id) OVER ()", "formula.unsupported"),
        ("missing % 2 = 0", "formula.column"),
        ("id > INTERVAL 1 DAY", "formula.unsupported"),
        ("CAST(id AS INTERVAL) = n", "formula.unsupported"),
        ("id = -TRY_CAST(200 AS TINYINT)", "formula.unsupported"),
        ("s RLIKE '(a)\\\\1'", "formula.unsupported"),
        ("id + 1", "formula.type"),
    ] {
        let error = sql(text).bind(&schema()).unwrap_err();
        assert_eq!(error.code(), code, "{text}");
    }
}
