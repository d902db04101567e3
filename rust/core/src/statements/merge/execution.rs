//! MERGE: updates, deletes and inserts rows of the table according to the rows of a source.

use std::collections::BTreeMap;

use arrow_schema::Schema;
use serde_json::{Value, json};

use super::super::change::Changer;
use super::super::row_plan::Counts;
use super::super::write::{
    merged_metadata, no_changes, schema_overwrite_refused, set_high_water_marks, set_times,
    set_txn, write_options,
};
use super::evolution::{NewColumns, new_columns_of};
use super::inserts::{InsertClause, UnmatchedRows};
use super::key_range::KeyRange;
use super::source::SourceRows;
use super::unused::without_unused;
use super::{Clause, Merge, MergeDefinition, Then, When};
use crate::error::Result;
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::table::{RowSource, RowsOptions, RowsWritten, SchemaMode, Table};
use crate::transaction::{Transaction, json_text, metric_strings};
use crate::write::{InputConverter, Widening, WrittenFiles};

const SOURCE_BYTES: usize = 256 << 20;

impl Table {
    /// Merges rows into the newest version.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`without_unused`], [`SourceRows::read`], [`Merge::new`],
    /// [`InputConverter::new`], [`InputConverter::convert`], [`Changer::change`] and [`Table::commit`];
    /// Invalid argument: `rows.ambiguous` where several rows of the source match one of the table,
    /// `rows.schema_mode`; for new columns, as [`new_columns_of`] and [`merged_metadata`].
    pub fn merge(
        &self,
        rows: RowSource,
        definition: &MergeDefinition,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        self.merge_in_memory_up_to(SOURCE_BYTES, rows, definition, options)
    }

    /// Merges like [`Table::merge`]; more than `source_bytes` of the source go to a temporary file.
    fn merge_in_memory_up_to(
        &self,
        source_bytes: usize,
        rows: RowSource,
        definition: &MergeDefinition,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot_for(&options)?;
        let mut transaction = self.begin(&snapshot, "MERGE", parameters(definition), &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.commit_written(transaction, WrittenFiles::new(self.source()));
        }
        let evolves = evolves(options.schema_mode)?;
        let rows = without_unused(rows, definition, snapshot.schema(), evolves)?;
        let evolved = evolves && evolve(&mut transaction, definition, &rows.schema())?;
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(self.source(), &snapshot, metadata, protocol, write, true)?;
        let source = SourceRows::read(rows, source_bytes)?;
        let mut merge = Merge::new(metadata, protocol, definition, evolves, source)?;
        merge.check_inserts(metadata, protocol)?;
        change(&snapshot, &mut transaction, &mut changer, &mut merge)?;
        let source_rows = merge.source_rows();
        let inserted = insert(&mut transaction, &mut changer, merge.into_inserts())?;
        if changer.is_empty() && inserted == 0 && options.txn.is_none() && !evolved {
            return Ok(no_changes([
                "numTargetRowsInserted",
                "numTargetRowsUpdated",
                "numTargetRowsDeleted",
            ]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        transaction.description().metrics = metrics(source_rows, inserted, &written, &counts);
        set_times(&mut transaction, &counts);
        self.commit_written(transaction, written)
    }
}

fn parameters(definition: &MergeDefinition) -> [(&'static str, Value); 4] {
    let clauses = |when| clauses_text(&definition.clauses, when);
    let by_source = clauses(When::NotMatchedBySource);
    [
        ("predicate", json_text(&[&definition.on])),
        ("matchedPredicates", clauses(When::Matched)),
        ("notMatchedPredicates", clauses(When::NotMatched)),
        ("notMatchedBySourcePredicates", by_source),
    ]
}

/// Adds the columns of the source that the clauses set and the table lacks, and widens types. Returns `true`
/// if the schema changed.
fn evolve(
    transaction: &mut Transaction,
    definition: &MergeDefinition,
    source: &Schema,
) -> Result<bool> {
    let (old, _) = transaction.effective()?;
    let schema = StructType::parse(&old.schema_string)?;
    let NewColumns { columns, types } = new_columns_of(&schema, definition, source)?;
    let Some(metadata) = merged_metadata(old, &columns, &types, Widening::SameKind)? else {
        return Ok(false);
    };
    transaction.set_metadata(metadata)?;
    Ok(true)
}

/// Updates and deletes rows of the table, in the files that may contain matches.
fn change(
    snapshot: &Snapshot,
    transaction: &mut Transaction,
    changer: &mut Changer,
    merge: &mut Merge,
) -> Result<()> {
    let only_matches = merge.affects_only_matches();
    let range = only_matches.then(|| key_range(snapshot, merge)).flatten();
    transaction.read(range.as_ref())?;
    let bound = range.as_ref().map(|range| range.bind(snapshot.schema()));
    let bound = bound.transpose()?;
    let filter = range.as_ref().map(|range| snapshot.filter_of(range));
    let files = changer.candidates(filter.transpose()?)?;
    changer.change(files, bound.as_ref(), merge)
}

fn insert(
    transaction: &mut Transaction,
    changer: &mut Changer,
    (clauses, mut unmatched): (Vec<InsertClause>, UnmatchedRows),
) -> Result<u64> {
    let mut inserted = 0;
    for clause in &clauses {
        let (metadata, protocol) = transaction.effective()?;
        let mut converter = InputConverter::new(metadata, protocol, clause.schema())?;
        unmatched.insert(clause, &mut |rows| {
            let rows = converter.convert(rows)?;
            inserted += rows.num_rows() as u64;
            if changer.has_change_rows() {
                changer.write_changes("insert", &rows)?;
            }
            changer.write(&rows, None, None)
        })?;
        set_high_water_marks(transaction, &converter)?;
    }
    Ok(inserted)
}

fn metrics(
    source_rows: u64,
    inserted: u64,
    written: &WrittenFiles,
    counts: &Counts,
) -> BTreeMap<String, String> {
    let vectors_added = counts.vectors_added + counts.vectors_updated;
    let vectors_removed = counts.vectors_removed + counts.vectors_updated;
    metric_strings([
        ("numSourceRows", source_rows),
        ("numTargetRowsInserted", inserted),
        ("numTargetRowsUpdated", counts.updated),
        ("numTargetRowsDeleted", counts.deleted),
        ("numTargetRowsCopied", counts.copied),
        ("numOutputRows", written.rows),
        ("numTargetFilesAdded", written.adds.len() as u64),
        ("numTargetBytesAdded", written.bytes),
        ("numTargetFilesRemoved", counts.removed_files),
        ("numTargetBytesRemoved", counts.removed_bytes),
        ("numTargetChangeFilesAdded", written.cdcs.len() as u64),
        ("numTargetDeletionVectorsAdded", vectors_added),
        ("numTargetDeletionVectorsUpdated", counts.vectors_updated),
        ("numTargetDeletionVectorsRemoved", vectors_removed),
    ])
}

fn clauses_text(clauses: &[Clause], when: When) -> Value {
    let described = |clause: &Clause| {
        let action = match clause.then {
            Then::Update(_) => "update",
            Then::Delete => "delete",
            Then::Insert(_) => "insert",
        };
        match &clause.condition {
            Some(condition) => json!({"predicate": condition, "actionType": action}),
            None => json!({"actionType": action}),
        }
    };
    let described_clauses: Vec<_> = clauses
        .iter()
        .filter(|clause| clause.when == when)
        .map(described)
        .collect();
    json_text(&described_clauses)
}

/// Returns a condition that every target row that matches a source row satisfies: its keys are within the
/// ranges of the source's keys. `None` if no range is known.
fn key_range(snapshot: &Snapshot, merge: &Merge) -> Option<Predicate> {
    let between = |range: &KeyRange| {
        let field = snapshot.schema().field(range.column())?;
        let bounds = range.bounds(&field.data_type.arrow_type())?;
        Predicate::between(&field.name, bounds)
    };
    let ranges = merge.key_ranges().iter().filter_map(between);
    let predicate = ranges.reduce(Predicate::and)?;
    predicate.bind(snapshot.schema()).ok().map(|_| predicate)
}

/// Returns `true` if the mode allows the source to add columns and to widen types.
///
/// # Errors
///
/// Invalid argument: `rows.schema_mode`.
fn evolves(mode: SchemaMode) -> Result<bool> {
    match mode {
        SchemaMode::Fixed => Ok(false),
        SchemaMode::Merge => Ok(true),
        SchemaMode::Overwrite => Err(schema_overwrite_refused()),
    }
}

#[cfg(test)]
mod tests;
