//! Conditions with computed expressions.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema};

use crate::expr::Predicate;
use crate::spec::schema::StructType;

fn schema() -> StructType {
    let text = r#"{"type":"struct","fields":[
        {"name":"Id","type":"long","nullable":true,"metadata":{}},
        {"name":"n","type":"long","nullable":true,"metadata":{}},
        {"name":"s","type":"string","nullable":true,"metadata":{}}]}"#;
    StructType::parse(text).unwrap()
}

fn rows() -> RecordBatch {
    let fields = vec![
        Field::new("Id", ArrowType::Int64, true),
        Field::new("n", ArrowType::Int64, true),
        Field::new("s", ArrowType::Utf8, true),
    ];
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        vec![
            Arc::new(Int64Array::from(vec![Some(1), Some(2), None])),
            Arc::new(Int64Array::from(vec![Some(10), Some(0), Some(5)])),
            Arc::new(StringArray::from(vec![Some("ab"), Some("abcd"), None])),
        ],
    )
    .unwrap()
}

fn answers(text: &str) -> Vec<Option<bool>> {
    let predicate = Predicate::parse_sql(text).unwrap();
    let again = Predicate::parse_sql(&predicate.to_string()).unwrap();
    assert!(again == predicate, "{text}: {predicate}");
    let bound = predicate.bind(&schema()).unwrap();
    bound.evaluate(&rows()).unwrap().iter().collect()
}

#[test]
fn formulas_answer_like_other_conditions() {
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
        assert_eq!(answers(text), expected, "{text}");
    }
}

#[test]
fn formulas_name_their_columns_and_leave_the_others_plain() {
    let predicate = Predicate::parse_sql("s = 'x' AND id % 2 = 0").unwrap();
    let bound = predicate.bind(&schema()).unwrap();
    let paths: Vec<String> = bound
        .columns()
        .iter()
        .map(|column| column.path.join("."))
        .collect();
    assert_eq!(paths, ["s", "Id"]);
    assert_eq!(bound.conjuncts().len(), 2);
}

#[test]
fn what_cannot_be_computed_is_an_error() {
    for text in ["id / n > 0", "id / n > 0 AND n <> 0", "CAST(s AS INT) = 1"] {
        let predicate = Predicate::parse_sql(text).unwrap();
        let bound = predicate.bind(&schema()).unwrap();
        assert_eq!(
            bound.evaluate(&rows()).unwrap_err().code(),
            "formula.value",
            "{text}"
        );
    }
}

#[test]
fn filters_have_no_clock() {
    for text in [
        "n > current_date()",
        "now() > id",
        "year(current_timestamp()) = n",
    ] {
        let refused = Predicate::parse_sql(text).unwrap_err();
        assert_eq!(refused.code(), "filter.unsupported", "{text}");
    }
}

#[test]
fn a_moment_answers_what_asks_for_the_time() {
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
        assert!(Predicate::parse_sql(printed).unwrap() == result, "{text}");
    }
    let wrong = Predicate::parse_sql_at("n > now() AND", NOON).unwrap_err();
    assert_eq!(wrong.code(), "filter.syntax");
}

#[test]
fn unsupported_expressions_are_refused() {
    for (text, code) in [
        ("frobnicate(id) = 1", "formula.unsupported"),
        ("missing % 2 = 0", "formula.column"),
        ("id > INTERVAL 1 DAY", "formula.unsupported"),
        ("CAST(id AS INTERVAL) = n", "formula.unsupported"),
        ("s RLIKE '(a)\\\\1'", "formula.unsupported"),
        ("id + 1", "formula.type"),
    ] {
        let predicate = Predicate::parse_sql(text).unwrap();
        assert_eq!(
            predicate.bind(&schema()).unwrap_err().code(),
            code,
            "{text}"
        );
    }
}
