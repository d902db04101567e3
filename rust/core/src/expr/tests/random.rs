//! Compares the module with the model, on random tables and predicates.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use arrow_buffer::BooleanBuffer;
use proptest::prelude::*;

use super::generate::{COLUMNS, array, batch, predicates, rows, table_schema};
use super::model::{self, Row, Value};
use super::{UnitBounds, sql};
use crate::expr::Bounds;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn evaluates_rows_as_the_model((rows, predicate) in (rows(0..40), predicates())) {
        let bound = predicate.bind(&table_schema()).unwrap();
        let results = bound.evaluate(&batch(&rows)).unwrap();
        prop_assert_eq!(results.len(), rows.len());
        for (row, result) in rows.iter().zip(results.iter()) {
            let expected = model::evaluate(&predicate.root, row);
            prop_assert_eq!(result, expected, "{} on {:?}", predicate, row);
        }
    }

    #[test]
    fn predicates_parse_from_their_text(predicate in predicates()) {
        let text = predicate.to_string();
        prop_assert_eq!(sql(&text), predicate);
    }

    #[test]
    fn a_predicate_is_true_where_all_conjuncts_are((rows, predicate) in (rows(1..20), predicates())) {
        let bound = predicate.bind(&table_schema()).unwrap();
        let batch = batch(&rows);
        let satisfied = |results: BooleanArray| -> Vec<bool> {
            results.iter().map(|result| result == Some(true)).collect()
        };
        let expected = satisfied(bound.evaluate(&batch).unwrap());
        let mut joined = vec![true; rows.len()];
        for part in bound.conjuncts() {
            let rebound = part.predicate().bind(&table_schema()).unwrap();
            prop_assert_eq!(rebound.columns(), part.columns());
            for (all, result) in joined.iter_mut().zip(satisfied(part.evaluate(&batch).unwrap())) {
                *all &= result;
            }
        }
        prop_assert_eq!(joined, expected);
    }

    #[test]
    fn skipped_files_have_no_matching_row(
        files in proptest::collection::vec((rows(1..6), any::<[u8; 16]>()), 1..8),
        predicate in predicates(),
    ) {
        let bounds = file_bounds(&files);
        let bound = predicate.bind(&table_schema()).unwrap();
        let kept = bound.may_match(&bounds).unwrap();
        prop_assert_eq!(kept.len(), files.len());
        for (keep, (rows, choices)) in kept.iter().zip(&files) {
            // deleted rows affect the bounds, but do not match
            let live = &rows[usize::from(choices[DELETED_ROW] % 3 == 0)..];
            for row in live {
                let result = model::evaluate(&predicate.root, row);
                prop_assert!(keep || result != Some(true), "{} skips {:?}", predicate, row);
            }
        }
    }

    #[test]
    fn exact_bounds_skip_each_file_without_a_match(
        (rows, predicate) in (rows(1..12), predicates()),
    ) {
        // one row per file, as for partition values
        let files: Vec<_> = rows.iter().map(|row| (vec![row.clone()], [EXACT; 16])).collect();
        let mut bounds = file_bounds(&files);
        bounds.columns.values_mut().for_each(|bounds| bounds.covers_nan = true);
        let kept = predicate.bind(&table_schema()).unwrap().may_match(&bounds).unwrap();
        // LIKE is pruned by the prefix of its pattern only
        if !predicate.to_string().contains("LIKE") {
            for (row, keep) in rows.iter().zip(kept.iter()) {
                let matches = model::evaluate(&predicate.root, row) == Some(true);
                prop_assert_eq!(keep, matches, "{} on {:?}", predicate, row);
            }
        }
    }
}

/// The choice that leaves bounds unchanged.
const EXACT: u8 = 255;

/// The index of the choice for the number of rows; those before it are for the columns.
const NUM_ROWS: usize = COLUMNS.len();

/// The index of the choice that decides whether the first row is deleted.
const DELETED_ROW: usize = NUM_ROWS + 1;

/// Returns bounds of files: exact, widened, truncated or missing, as chosen for each file and column.
fn file_bounds(files: &[(Vec<Row>, [u8; 16])]) -> UnitBounds {
    let known = |choice: u8, divisor: u8| choice == EXACT || !choice.is_multiple_of(divisor);
    let columns = COLUMNS
        .iter()
        .enumerate()
        .map(|(number, (name, data_type))| {
            let mut min = Vec::new();
            let mut max = Vec::new();
            let mut nulls = Vec::new();
            for (rows, choices) in files {
                let choice = choices[number];
                let mut values: Vec<&Value> = rows
                    .iter()
                    .map(|row| &row[name])
                    .filter(|value| **value != Value::Null)
                    .collect();
                nulls.push(known(choice, 7).then_some((rows.len() - values.len()) as i64));
                if choice != EXACT {
                    values.retain(|value| !is_nan(value));
                }
                values.sort_by(|left, right| model::order(left, right).unwrap());
                let low = values.first().filter(|_| known(choice, 5));
                let high = values.last().filter(|_| known(choice, 11));
                min.push(low.map_or(Value::Null, |value| lower_bound(value, choice)));
                max.push(high.map_or(Value::Null, |value| upper_bound(value, choice)));
            }
            let counts = files
                .iter()
                .map(|(rows, choices)| known(choices[NUM_ROWS], 6).then_some(rows.len() as i64));
            let bounds = Bounds {
                min: Some(array(data_type, &min)),
                max: Some(array(data_type, &max)),
                null_count: Some(Int64Array::from(nulls)),
                num_rows: Some(counts.collect()),
                covers_nan: false,
            };
            (*name, bounds)
        });
    UnitBounds {
        len: files.len(),
        columns: columns.collect(),
    }
}

fn is_nan(value: &Value) -> bool {
    match value {
        Value::Single(value) => value.is_nan(),
        Value::Double(value) => value.is_nan(),
        _ => false,
    }
}

/// Returns a minimum as in statistics.
fn lower_bound(value: &Value, choice: u8) -> Value {
    match value {
        _ if choice == EXACT => value.clone(),
        Value::Text(text) => Value::Text(text.chars().take(usize::from(choice % 3)).collect()),
        Value::Instant(micros) => Value::Instant(micros.div_euclid(1000) * 1000),
        Value::Exact(value, 2) if choice.is_multiple_of(2) => {
            Value::Exact((value - 7).max(-999_999), 2)
        }
        Value::Day(day) if choice.is_multiple_of(2) => Value::Day(day - 1),
        other => other.clone(),
    }
}

/// Returns a maximum as in statistics; for timestamps, with the millisecond that readers add.
fn upper_bound(value: &Value, choice: u8) -> Value {
    match value {
        _ if choice == EXACT => value.clone(),
        Value::Text(text) => {
            truncated_max(text, usize::from(choice % 3)).map_or(Value::Null, Value::Text)
        }
        Value::Instant(micros) => Value::Instant(micros.div_euclid(1000) * 1000 + 1000),
        Value::Exact(value, 2) if choice.is_multiple_of(2) => {
            Value::Exact((value + 7).min(999_999), 2)
        }
        Value::Day(day) if choice.is_multiple_of(2) => Value::Day(day + 1),
        other => other.clone(),
    }
}

/// Truncates a maximum as delta-spark does: a prefix, and a character that is greater than the next one; `None`
/// if there is no such character.
fn truncated_max(text: &str, length: usize) -> Option<String> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= length {
        return Some(text.to_owned());
    }
    let next = (length..characters.len()).find(|index| characters[*index] != '\u{10FFFF}')?;
    let above = if characters[next] < '\u{7F}' {
        '\u{7F}'
    } else {
        '\u{10FFFF}'
    };
    Some(characters[..next].iter().collect::<String>() + &above.to_string())
}

#[test]
fn columns_without_bounds_skip_no_file() {
    let bounds = UnitBounds {
        len: 3,
        columns: HashMap::new(),
    };
    for text in [
        "l = 1",
        "l IS NULL",
        "NOT l = 1",
        "s LIKE 'a%'",
        "l IN (1)",
        "l < st.v",
        "b",
    ] {
        let kept = sql(text)
            .bind(&table_schema())
            .unwrap()
            .may_match(&bounds)
            .unwrap();
        assert_eq!(kept, BooleanBuffer::new_set(3), "{text}");
    }
}

#[test]
fn rejects_bounds_with_the_wrong_number_of_rows() {
    let one_row: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let bounds = Bounds {
        min: Some(one_row),
        ..Bounds::default()
    };
    let bounds = UnitBounds {
        len: 2,
        columns: [("l", bounds)].into(),
    };
    let error = sql("l = 1")
        .bind(&table_schema())
        .unwrap()
        .may_match(&bounds)
        .unwrap_err();
    assert_eq!(error.code(), "filter.bounds");
}
