//! MERGE: rows of a source update, delete and join those of the table.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_ord::sort::{SortOptions, sort_limit};
use arrow_schema::DataType;
use serde_json::json;

use super::write::{
    RowSource, RowsOptions, RowsWritten, SchemaMode, file_filter, nothing_done, set_marks, set_txn,
    texts, write_options,
};
use super::{At, Table};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::transaction::alter::with_schema;
use crate::transaction::rows::{
    Changer, Clause, Intake, Merge, MergeDefinition, Then, When, WrittenFiles, each_step,
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
        let snapshot = self.snapshot(At::Latest, None)?;
        let mut parameters = vec![("predicate", json!(json!([definition.on]).to_string()))];
        for (name, when) in [
            ("matchedPredicates", When::Matched),
            ("notMatchedPredicates", When::NotMatched),
            ("notMatchedBySourcePredicates", When::NotMatchedBySource),
        ] {
            parameters.push((name, json!(clauses_json(&definition.clauses, when))));
        }
        let mut transaction = self.begin(&snapshot, "MERGE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.settle(transaction, WrittenFiles::new(self.source()));
        }
        let schema = rows.schema();
        let evolves = evolves(options.schema_mode)?;
        let (old, _) = transaction.effective()?;
        let mut evolved = false;
        if evolves
            && let Some(new) =
                evolved_schema(&StructType::parse(&old.schema_string)?, definition, &schema)?
        {
            let metadata = with_schema(old, &new)?;
            transaction.set_metadata(metadata)?;
            evolved = true;
        }
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
        let range = if merge.needs_pairs() {
            key_range(&snapshot, &merge)
        } else {
            None
        };
        transaction.read(range.as_ref())?;
        let bound = match &range {
            Some(range) => Some(range.bind(snapshot.schema())?),
            None => None,
        };
        let filter = match &range {
            Some(range) => Some(file_filter(&snapshot, range)?),
            None => None,
        };
        for file in changer.candidates(filter)? {
            changer.change(file, bound.as_ref(), true, &mut merge)?;
        }
        let has_feed = changer.has_change_rows();
        let mut inserted = 0;
        for rows in merge.inserts()? {
            if rows.num_rows() == 0 {
                continue;
            }
            let (metadata, protocol) = transaction.effective()?;
            let mut intake = Intake::new(metadata, protocol, rows.schema_ref())?;
            let taken = intake.take(&rows)?;
            inserted += taken.num_rows() as u64;
            if has_feed {
                changer.write_changes("insert", &taken)?;
            }
            changer.write(&taken, None, None)?;
            set_marks(&mut transaction, &intake)?;
        }
        if changer.nothing() && inserted == 0 && options.txn.is_none() && !evolved {
            return Ok(nothing_done([
                "numTargetRowsInserted",
                "numTargetRowsUpdated",
                "numTargetRowsDeleted",
            ]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        transaction.description().metrics = texts([
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
        ]);
        self.settle(transaction, written)
    }
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
