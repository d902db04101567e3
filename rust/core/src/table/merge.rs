//! MERGE: rows of a source update, delete and join those of the table.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_ord::sort::{SortOptions, sort_limit};
use arrow_schema::{DataType, Schema};
use serde_json::{Value, json};

use super::Table;
use super::write::{
    RowSource, RowsOptions, RowsWritten, SchemaMode, file_filter, nothing_done, set_marks, set_txn,
    texts, write_options,
};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::transaction::Transaction;
use crate::transaction::alter::with_schema;
use crate::transaction::rows::{
    Changer, Clause, Counts, Intake, Merge, MergeDefinition, Then, When, WrittenFiles, each_step,
    evolved_schema,
};

impl Table {
    /// Merges rows into the newest version.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.merge`, `rows.ambiguous` where several rows of the source match one of the
    /// table, those of formulas, a row that breaks a rule; as [`Table::commit`].
    pub fn merge(
        &self,
        rows: RowSource,
        definition: &MergeDefinition,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot_for(&options)?;
        let mut transaction = self.begin(&snapshot, "MERGE", parameters(definition), &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.settle(transaction, WrittenFiles::new(self.source()));
        }
        let schema = rows.schema();
        let evolves = evolves(options.schema_mode)?;
        let evolved = evolves && evolve(&mut transaction, definition, &schema)?;
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(self.source(), &snapshot, metadata, protocol, write, true)?;
        let mut batches = Vec::new();
        each_step(rows, &mut |step| {
            batches.push(step);
            Ok(())
        })?;
        let mut merge = Merge::new(metadata, protocol, definition, evolves, &schema, &batches)?;
        drop(batches);
        merge.check_inserts(metadata, protocol)?;
        change(&snapshot, &mut transaction, &mut changer, &mut merge)?;
        let inserted = insert(&mut transaction, &mut changer, &mut merge)?;
        if changer.nothing() && inserted == 0 && options.txn.is_none() && !evolved {
            return Ok(nothing_done([
                "numTargetRowsInserted",
                "numTargetRowsUpdated",
                "numTargetRowsDeleted",
            ]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        transaction.description().metrics = metrics(&merge, inserted, &written, &counts);
        self.settle(transaction, written)
    }
}

fn parameters(definition: &MergeDefinition) -> Vec<(&'static str, Value)> {
    let mut parameters = vec![("predicate", json!(json!([definition.on]).to_string()))];
    for (name, when) in [
        ("matchedPredicates", When::Matched),
        ("notMatchedPredicates", When::NotMatched),
        ("notMatchedBySourcePredicates", When::NotMatchedBySource),
    ] {
        parameters.push((name, json!(clauses_json(&definition.clauses, when))));
    }
    parameters
}

/// Adds the columns that only the source has; whether there are any.
fn evolve(
    transaction: &mut Transaction,
    definition: &MergeDefinition,
    source: &Schema,
) -> Result<bool> {
    let (old, _) = transaction.effective()?;
    let schema = StructType::parse(&old.schema_string)?;
    let Some(new) = evolved_schema(&schema, definition, source)? else {
        return Ok(false);
    };
    let metadata = with_schema(old, &new)?;
    transaction.set_metadata(metadata)?;
    Ok(true)
}

/// Updates and deletes rows of the table, in the files that may have some.
fn change(
    snapshot: &Snapshot,
    transaction: &mut Transaction,
    changer: &mut Changer,
    merge: &mut Merge,
) -> Result<()> {
    let pairs = merge.needs_pairs();
    let range = pairs.then(|| key_range(snapshot, merge)).flatten();
    transaction.read(range.as_ref())?;
    let bound = range.as_ref().map(|range| range.bind(snapshot.schema()));
    let bound = bound.transpose()?;
    let filter = range.as_ref().map(|range| file_filter(snapshot, range));
    for file in changer.candidates(filter.transpose()?)? {
        changer.change(file, bound.as_ref(), true, merge)?;
    }
    Ok(())
}

/// Writes the rows that the source inserts; how many.
fn insert(transaction: &mut Transaction, changer: &mut Changer, merge: &mut Merge) -> Result<u64> {
    let mut inserted = 0;
    for rows in merge.inserts()? {
        if rows.num_rows() == 0 {
            continue;
        }
        let (metadata, protocol) = transaction.effective()?;
        let mut intake = Intake::new(metadata, protocol, rows.schema_ref())?;
        let taken = intake.take(&rows)?;
        inserted += taken.num_rows() as u64;
        if changer.has_change_rows() {
            changer.write_changes("insert", &taken)?;
        }
        changer.write(&taken, None, None)?;
        set_marks(transaction, &intake)?;
    }
    Ok(inserted)
}

fn metrics(
    merge: &Merge,
    inserted: u64,
    written: &WrittenFiles,
    counts: &Counts,
) -> BTreeMap<String, String> {
    texts([
        ("numSourceRows", merge.source_rows()),
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
        (
            "numTargetDeletionVectorsAdded",
            counts.vectors_added + counts.vectors_updated,
        ),
        ("numTargetDeletionVectorsUpdated", counts.vectors_updated),
        ("numTargetDeletionVectorsRemoved", counts.vectors_updated),
    ])
}

fn clauses_json(clauses: &[Clause], when: When) -> String {
    let one = |clause: &Clause| {
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
    let found: Vec<_> = clauses
        .iter()
        .filter(|clause| clause.when == when)
        .map(one)
        .collect();
    json!(found).to_string()
}

/// What rows of the table must satisfy to have one in the source: a key between the source's least and
/// greatest. `None` where that is not known.
fn key_range(snapshot: &Snapshot, merge: &Merge) -> Option<Predicate> {
    let mut parts = Vec::new();
    for (name, values) in merge.plain_keys() {
        let ordered = matches!(
            values.data_type(),
            DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::Date32
                | DataType::Utf8
        );
        let field = snapshot.schema().field(name)?;
        if !ordered || field.data_type.arrow_type() != *values.data_type() {
            continue;
        }
        let least = extreme(values, false)?;
        let greatest = extreme(values, true)?;
        let name = format!("`{}`", name.replace('`', "``"));
        parts.push(format!("{name} >= '{least}' AND {name} <= '{greatest}'"));
    }
    if parts.is_empty() {
        return None;
    }
    let predicate = Predicate::parse_sql(&parts.join(" AND ")).ok()?;
    predicate.bind(snapshot.schema()).ok().map(|_| predicate)
}

fn extreme(values: &ArrayRef, descending: bool) -> Option<String> {
    let options = SortOptions {
        descending,
        nulls_first: false,
    };
    let first = sort_limit(values, Some(options), Some(1)).ok()?;
    let text = cast(&first, &DataType::Utf8).ok()?;
    let text = text.as_string_opt::<i32>()?;
    (text.len() == 1 && text.is_valid(0)).then(|| text.value(0).replace('\'', "''"))
}

/// Whether columns of the source join the table.
fn evolves(mode: SchemaMode) -> Result<bool> {
    match mode {
        SchemaMode::Fixed => Ok(false),
        SchemaMode::Merge => Ok(true),
        SchemaMode::Overwrite => {
            let message = "schema_mode is \"overwrite\", which is for those who replace all rows: it is \
                           \"merge\" here, or is left out";
            Err(Error::invalid("rows.schema_mode", message))
        }
    }
}
