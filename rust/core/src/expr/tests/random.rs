//! Compares the module with the model, on random tables and predicates.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use proptest::prelude::*;

use super::generate::{COLUMNS, array, batch, predicates, rows, table_schema};
use super::model::{self, Row, Value};
use super::sql;
use crate::error::Result;
use crate::expr::{BoundColumn, Bounds, ColumnBounds};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn rows_as_the_model_says((rows, predicate) in (rows(0..40), predicates())) {
        let bound = predicate.bind(&table_schema()).unwrap();
        let answers = bound.evaluate(&batch(&rows)).unwrap();
        prop_assert_eq!(answers.len(), rows.len());
        for (row, answer) in rows.iter().zip(answers.iter()) {
            let expected = model::evaluate(&predicate.root, row);
            prop_assert_eq!(answer, expected, "{} on {:?}", predicate, row);
        }
    }

    #[test]
    fn the_text_is_the_predicate(predicate in predicates()) {
        let text = predicate.to_string();
        prop_assert_eq!(sql(&text), predicate);
    }

    #[test]
    fn conjuncts_are_the_whole((rows, predicate) in (rows(1..20), predicates())) {
        let bound = predicate.bind(&table_schema()).unwrap();
        let batch = batch(&rows);
        let satisfied = |answers: arrow_array::BooleanArray| -> Vec<bool> {
            answers.iter().map(|answer| answer == Some(true)).collect()
        };
        let whole = satisfied(bound.evaluate(&batch).unwrap());
        let mut joined = vec![true; rows.len()];
        for part in bound.conjuncts() {
            let again = part.predicate().bind(&table_schema()).unwrap();
            prop_assert_eq!(again.columns(), part.columns());
            for (all, answer) in joined.iter_mut().zip(satisfied(part.evaluate(&batch).unwrap())) {
                *all &= answer;
            }
        }
        prop_assert_eq!(whole, joined);
    }

    #[test]
    fn a_skipped_file_holds_no_match(
        files in proptest::collection::vec((rows(1..6), any::<[u8; 16]>()), 1..8),
        predicate in predicates(),
    ) {
        let bounds = Files::new(&files);
        let bound = predicate.bind(&table_schema()).unwrap();
        let kept = bound.may_match(&bounds).unwrap();
        prop_assert_eq!(kept.len(), files.len());
        for (keep, (rows, choices)) in kept.iter().zip(&files) {
            // deleted rows affect the bounds, but do not match
            let live = &rows[usize::from(choices[15] % 3 == 0)..];
            for row in live {
                let answer = model::evaluate(&predicate.root, row);
                prop_assert!(keep || answer != Some(true), "{} skips {:?}", predicate, row);
            }
        }
    }

    #[test]
    fn bounds_that_are_values_decide((rows, predicate) in (rows(1..12), predicates())) {
        // one row per file, as for partition values: exactly the units without a match are skipped
        let files: Vec<_> = rows.iter().map(|row| (vec![row.clone()], [EXACT; 16])).collect();
        let mut bounds = Files::new(&files);
        bounds.columns.values_mut().for_each(|bounds| bounds.covers_nan = true);
        let kept = predicate.bind(&table_schema()).unwrap().may_match(&bounds).unwrap();
        if !loses_track(&predicate.to_string()) {
            for (row, keep) in rows.iter().zip(kept.iter()) {
                let matches = model::evaluate(&predicate.root, row) == Some(true);
                prop_assert_eq!(keep, matches, "{} on {:?}", predicate, row);
            }
        }
    }
}

/// Returns `true` for patterns that are only pruned by their prefix.
fn loses_track(text: &str) -> bool {
    text.contains("LIKE")
}

/// The choice that leaves bounds unchanged.
const EXACT: u8 = 255;

/// Bounds of random files, some of them widened, truncated or missing.
struct Files {
    len: usize,
    columns: HashMap<&'static str, Bounds>,
}

impl Files {
    fn new(files: &[(Vec<Row>, [u8; 16])]) -> Self {
        let columns = COLUMNS.iter().enumerate().map(|(number, (name, of))| {
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
                nulls.push(
                    (choice == EXACT || choice % 7 != 0)
                        .then_some((rows.len() - values.len()) as i64),
                );
                if choice != EXACT {
                    values.retain(|value| !is_nan(value));
                }
                values.sort_by(|left, right| model::order(left, right).unwrap());
                let (low, high) = (values.first(), values.last());
                min.push(
                    low.filter(|_| choice == EXACT || choice % 5 != 0)
                        .map_or(Value::Null, |value| lower(value, choice)),
                );
                max.push(
                    high.filter(|_| choice == EXACT || choice % 11 != 0)
                        .map_or(Value::Null, |value| higher(value, choice)),
                );
            }
            let counts = files.iter().map(|(rows, choices)| {
                (choices[14] == EXACT || choices[14] % 6 != 0).then_some(rows.len() as i64)
            });
            let bounds = Bounds {
                min: Some(array(of, &min)),
                max: Some(array(of, &max)),
                null_count: Some(Int64Array::from(nulls)),
                num_rows: Some(counts.collect()),
                covers_nan: false,
            };
            (*name, bounds)
        });
        Self {
            len: files.len(),
            columns: columns.collect(),
        }
    }
}

impl ColumnBounds for Files {
    fn len(&self) -> usize {
        self.len
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        Ok(self.columns.get(column.path.join(".").as_str()).cloned())
    }
}

fn is_nan(value: &Value) -> bool {
    match value {
        Value::Single(value) => value.is_nan(),
        Value::Double(value) => value.is_nan(),
        _ => false,
    }
}

/// A minimum as in statistics.
fn lower(value: &Value, choice: u8) -> Value {
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

/// A maximum as in statistics, of timestamps with the millisecond that readers add.
fn higher(value: &Value, choice: u8) -> Value {
    match value {
        _ if choice == EXACT => value.clone(),
        Value::Text(text) => {
            cut_above(text, usize::from(choice % 3)).map_or(Value::Null, Value::Text)
        }
        Value::Instant(micros) => Value::Instant(micros.div_euclid(1000) * 1000 + 1000),
        Value::Exact(value, 2) if choice.is_multiple_of(2) => {
            Value::Exact((value + 7).min(999_999), 2)
        }
        Value::Day(day) if choice.is_multiple_of(2) => Value::Day(day + 1),
        other => other.clone(),
    }
}

/// The protocol digest's rule for long strings, in characters: a prefix that is increased beyond the
/// original.
fn cut_above(text: &str, length: usize) -> Option<String> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= length {
        return Some(text.to_owned());
    }
    let next = (length..characters.len()).find(|at| characters[*at] != '\u{10FFFF}')?;
    let above = if characters[next] < '\u{7F}' {
        '\u{7F}'
    } else {
        '\u{10FFFF}'
    };
    Some(characters[..next].iter().collect::<String>() + &above.to_string())
}

#[test]
fn an_unknown_column_skips_no_file() {
    let bounds = Files {
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
fn bounds_of_other_lengths_are_refused() {
    let short: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let bounds = Bounds {
        min: Some(short),
        ..Bounds::default()
    };
    let bounds = Files {
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
