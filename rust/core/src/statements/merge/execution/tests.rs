use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::scan::{Scan, ScanOptions};
use crate::spec::Protocol;
use crate::statements::row_plan::RowPlanner;
use crate::statements::{CreateMode, TableDefinition};
use crate::table::{At, TableOptions};
use crate::transaction::TransactionOptions;
use crate::write::row_display;

/// A key and a value.
type Row = (Option<i64>, i64);

fn batch(rows: &[Row]) -> RecordBatch {
    let keys: Int64Array = rows.iter().map(|(key, _)| *key).collect();
    let values: Int64Array = rows.iter().map(|(_, value)| Some(*value)).collect();
    let texts: StringArray = rows
        .iter()
        .map(|(_, value)| (value % 4 > 0).then(|| format!("text of {value}")))
        .collect();
    let columns: [(_, ArrayRef, _); 3] = [
        ("id", Arc::new(keys), true),
        ("v", Arc::new(values), true),
        ("text", Arc::new(texts), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn stream(batches: &[Vec<Row>]) -> RowSource {
    let schema = batch(&[]).schema();
    let batches: Vec<_> = batches.iter().map(|rows| Ok(batch(rows))).collect();
    Box::new(RecordBatchIterator::new(batches, schema))
}

fn clause(when: When, condition: Option<&str>, then: Then) -> Clause {
    Clause {
        when,
        condition: condition.map(str::to_owned),
        then,
    }
}

fn set(pairs: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
    let pairs = pairs.iter();
    Some(
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    )
}

/// Merges with clauses of all kinds, and one that joins every pair.
fn definitions() -> Vec<MergeDefinition> {
    let definition = |on: &str, clauses| MergeDefinition {
        on: on.to_owned(),
        source_name: "source".to_owned(),
        target_name: "target".to_owned(),
        clauses,
    };
    let all = vec![
        clause(When::Matched, Some("source.v % 3 = 0"), Then::Delete),
        clause(
            When::Matched,
            Some("source.v % 3 = 1"),
            Then::Update(set(&[("v", "target.v + source.v")])),
        ),
        clause(When::Matched, None, Then::Update(None)),
        clause(
            When::NotMatched,
            Some("v % 5 = 0"),
            Then::Insert(set(&[("id", "id"), ("text", "concat('new ', text)")])),
        ),
        clause(When::NotMatched, Some("v % 5 < 3"), Then::Insert(None)),
        clause(When::NotMatchedBySource, Some("id % 2 = 0"), Then::Delete),
        clause(
            When::NotMatchedBySource,
            None,
            Then::Update(set(&[("text", "'alone'")])),
        ),
    ];
    let upsert = || {
        vec![
            clause(When::Matched, None, Then::Update(None)),
            clause(When::NotMatched, None, Then::Insert(None)),
        ]
    };
    let insert = vec![clause(When::NotMatched, None, Then::Insert(None))];
    let delete = vec![clause(When::Matched, None, Then::Delete)];
    vec![
        definition("target.id = source.id", all),
        definition(
            "target.id = source.id AND target.text <> source.text",
            upsert(),
        ),
        definition("target.id <=> source.id", upsert()),
        definition("target.id = source.id", insert),
        definition("target.v < source.v", delete),
    ]
}

fn definition_of_table() -> TableDefinition {
    TableDefinition {
        schema: StructType::from_arrow(&batch(&[]).schema()).unwrap(),
        ..TableDefinition::default()
    }
}

/// Returns the rows and the metrics of a merge, or its error.
fn merged(
    max_bytes: usize,
    properties: &[(&str, &str)],
    target: &[Vec<Row>],
    source: &[Vec<Row>],
    definition: &MergeDefinition,
) -> std::result::Result<(Vec<String>, BTreeMap<String, String>), String> {
    let uri = format!("memory://{}", Uuid::new_v4());
    let table = Table::new(&uri, TableOptions::default()).unwrap();
    let new = TableDefinition {
        properties: properties
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..definition_of_table()
    };
    let options = TransactionOptions::default();
    table.create(new, CreateMode::New, options).unwrap();
    let options = RowsOptions::default;
    for rows in target {
        let rows = stream(std::slice::from_ref(rows));
        table.append(rows, options()).unwrap();
    }
    let done = table
        .merge_in_memory_up_to(max_bytes, stream(source), definition, options())
        .map_err(|error| error.to_string())?;
    let snapshot = table.snapshot(At::Latest, None).unwrap();
    let scan = Scan::new(table.source(), &snapshot, ScanOptions::default()).unwrap();
    let mut actual = Vec::new();
    for rows in scan.rows().unwrap() {
        let rows = rows.unwrap();
        actual.extend((0..rows.num_rows()).map(|row| row_display(&rows, row)));
    }
    actual.sort_unstable();
    Ok((actual, done.metrics))
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    proptest::collection::vec(
        (proptest::option::weighted(0.9, 0..40_i64), 0..100_i64),
        0..8,
    )
}

/// Batches of a source, mostly without duplicate keys.
fn source() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let batches = proptest::collection::vec(rows(), 0..6);
    (batches, proptest::bool::weighted(0.8)).prop_map(|(mut batches, unique)| {
        let mut seen = BTreeSet::new();
        for rows in &mut batches {
            rows.retain(|(key, _)| seen.insert(*key) || !unique);
        }
        batches
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn merges_a_spilled_source_like_one_in_memory(
        target in proptest::collection::vec(rows(), 1..3),
        source in source(),
    ) {
        for definition in definitions() {
            let memory = merged(usize::MAX, &[], &target, &source, &definition);
            let file = merged(0, &[], &target, &source, &definition);
            prop_assert_eq!(memory, file);
        }
    }

    /// With a change data feed, all columns are read.
    #[test]
    fn unread_columns_do_not_change_the_result(
        target in proptest::collection::vec(rows(), 1..3),
        source in source(),
    ) {
        let feed = [("delta.enableChangeDataFeed", "true")];
        let vectors = [("delta.enableDeletionVectors", "true")];
        for definition in definitions() {
            let rows = |properties: &[(&str, &str)]| {
                let done = merged(usize::MAX, properties, &target, &source, &definition);
                done.map(|(rows, _)| rows).ok()
            };
            let all = rows(&feed);
            prop_assert_eq!(&rows(&[]), &all);
            prop_assert_eq!(&rows(&vectors), &all);
        }
    }
}

#[test]
fn reads_the_columns_that_expressions_use_or_updates_keep() {
    let columns = |on: &str, clauses| {
        let definition = MergeDefinition {
            on: on.to_owned(),
            source_name: "s".to_owned(),
            target_name: "t".to_owned(),
            clauses,
        };
        let metadata = definition_of_table().metadata(None).unwrap();
        let source = SourceRows::read(stream(&[]), usize::MAX).unwrap();
        let merge = Merge::new(&metadata, &Protocol::default(), &definition, false, source);
        merge.unwrap().columns().unwrap()
    };
    let key = "t.id = s.id";
    let update = |values: &[(&str, &str)]| clause(When::Matched, None, Then::Update(set(values)));
    let all = clause(When::Matched, None, Then::Update(None));
    let insert = clause(When::NotMatched, Some("text > 'a'"), Then::Insert(None));
    assert_eq!(columns(key, vec![all.clone(), insert]), ["id"]);
    assert_eq!(columns("t.id = s.id AND t.V > 3", vec![all]), ["id", "v"]);
    assert_eq!(
        columns("true", vec![clause(When::Matched, None, Then::Delete)]).len(),
        0
    );
    assert_eq!(columns(key, vec![update(&[("v", "s.v")])]), ["id", "text"]);
    let whole = [("id", "s.id"), ("v", "t.v + 1"), ("text", "s.text")];
    assert_eq!(columns(key, vec![update(&whole)]), ["id", "v"]);
    let alone = clause(When::NotMatchedBySource, Some("v > 3"), Then::Delete);
    assert_eq!(columns(key, vec![alone]), ["id", "v"]);
}
