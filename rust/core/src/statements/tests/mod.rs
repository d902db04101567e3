//! Operations on a table of a few rows in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use uuid::Uuid;

use super::{CreateMode, TableDefinition};
use crate::scan::{Scan, ScanOptions};
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::table::{At, RowSource, RowsOptions, RowsWritten, Table, TableOptions};
use crate::transaction::TransactionOptions;

mod alter;
mod create;
mod far;

/// An id and a name.
type Row<'a> = (i64, &'a str);

fn batch(rows: &[Row<'_>]) -> RecordBatch {
    let ids: Int64Array = rows.iter().map(|(id, _)| Some(*id)).collect();
    let names: StringArray = rows.iter().map(|(_, name)| Some(*name)).collect();
    let columns: [(_, ArrayRef, _); 2] =
        [("id", Arc::new(ids), true), ("name", Arc::new(names), true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn stream(batch: RecordBatch) -> RowSource {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

/// Returns a table that does not exist yet.
fn empty_location() -> Table {
    let uri = format!("memory://{}", Uuid::new_v4());
    Table::new(&uri, TableOptions::default()).unwrap()
}

/// Returns the definition of a table of ids and names.
fn definition() -> TableDefinition {
    TableDefinition {
        schema: StructType::from_arrow(&batch(&[]).schema()).unwrap(),
        ..TableDefinition::default()
    }
}

fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn created(definition: TableDefinition) -> Table {
    let table = empty_location();
    let options = TransactionOptions::default();
    table.create(definition, CreateMode::New, options).unwrap();
    table
}

/// Creates a table with a commit and a file for each of these; version 0 has no rows.
fn table_of(commits: &[&[Row<'_>]]) -> Table {
    filled(created(definition()), commits)
}

fn filled(table: Table, commits: &[&[Row<'_>]]) -> Table {
    for rows in commits {
        append(&table, rows);
    }
    table
}

fn append(table: &Table, rows: &[Row<'_>]) -> RowsWritten {
    let rows = stream(batch(rows));
    table.append(rows, RowsOptions::default()).unwrap()
}

fn newest(table: &Table) -> Snapshot {
    table.snapshot(At::Latest, None).unwrap()
}

/// Returns the batches of a version.
fn scanned(table: &Table, snapshot: &Snapshot) -> Vec<RecordBatch> {
    let scan = Scan::new(table.source(), snapshot, ScanOptions::default()).unwrap();
    scan.rows().unwrap().collect::<Result<_, _>>().unwrap()
}

/// Asserts that the newest version has exactly these rows, in the order of their ids.
#[track_caller]
fn assert_rows(table: &Table, expected: &[Row<'_>]) {
    let batches = scanned(table, &newest(table));
    let mut rows: Vec<Row<'_>> = Vec::new();
    for batch in &batches {
        let ids = batch.column_by_name("id").unwrap();
        let names = batch.column_by_name("name").unwrap().as_string::<i32>();
        let ids = ids.as_primitive::<Int64Type>().values().iter().copied();
        rows.extend(ids.zip(names.iter().map(Option::unwrap)));
    }
    rows.sort_unstable();
    assert_eq!(rows, expected);
}

fn num_files(table: &Table) -> u64 {
    newest(table).num_files(table.source()).unwrap()
}
