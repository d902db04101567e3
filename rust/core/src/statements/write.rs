//! The common parts of the statements that write rows.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::row_plan::Counts;
use crate::definition::replace::overwritten_metadata;
use crate::definition::widening::{TYPE_WIDENING, widen_column};
use crate::definition::with_schema;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::maintenance::optimize::is_auto_compacted;
use crate::spec::Metadata;
use crate::spec::schema::StructType;
use crate::table::{RowSource, RowsOptions, RowsWritten, SchemaMode, Table};
use crate::transaction::{Transaction, check_metadata, json_text, metric_strings};
use crate::write::{
    InputConverter, Widening, WriteOptions, WrittenFiles, merged, replacement_schema, widenings,
    with_high_water_marks,
};

impl Table {
    /// Commits the written rows, as [`Table::commit_files`], unless there is nothing to commit; then compacts
    /// small files if the table's properties require it.
    pub(super) fn commit_written(
        &self,
        mut transaction: Transaction,
        written: WrittenFiles,
    ) -> Result<RowsWritten> {
        if transaction.is_empty() && written.files().is_empty() {
            return Ok(RowsWritten {
                version: None,
                metrics: transaction.description().metrics.clone(),
                afterwards: None,
            });
        }
        let (metadata, _) = transaction.effective()?;
        let added = is_auto_compacted(metadata).then(|| written.adds.clone());
        let transaction_options = transaction.options().clone();
        let mut result = self.commit_files(transaction, written)?;
        if let (Some(version), Some(added)) = (result.version, added)
            && let Err(error) = self.compact_after(version, &added, transaction_options)
        {
            result.afterwards.get_or_insert(error);
        }
        Ok(result)
    }
}

/// Stages the application's version; returns `true` if it was committed already.
pub(super) fn set_txn(transaction: &mut Transaction, options: &RowsOptions) -> Result<bool> {
    match &options.txn {
        Some((app_id, version)) => transaction.set_transaction(app_id, *version),
        None => Ok(false),
    }
}

/// Stages the new schema of the table if the rows change it and the schema mode allows that.
pub(super) fn set_schema(
    transaction: &mut Transaction,
    rows: &RowSource,
    options: &RowsOptions,
    replaces_all: bool,
) -> Result<()> {
    let mode = options.schema_mode;
    if mode == SchemaMode::Overwrite && !replaces_all {
        return Err(schema_overwrite_refused());
    }
    let (old, protocol) = transaction.effective()?;
    let new = match (mode, &options.partition_columns) {
        (SchemaMode::Fixed, None) => None,
        (SchemaMode::Merge, None) => {
            let source = StructType::from_arrow(&rows.schema())?;
            merged_metadata(old, &source, &source, Widening::SameKind)?
        }
        (SchemaMode::Overwrite, partition_columns) => {
            let old_schema = StructType::parse(&old.schema_string)?;
            let schema = replacement_schema(&old_schema, &rows.schema())?;
            let names = partition_columns.as_ref();
            let names = names.unwrap_or(&old.partition_columns).clone();
            let new = overwritten_metadata(old, &schema, names)?;
            let changes = schema != old_schema || new.partition_columns != old.partition_columns;
            changes.then_some(new)
        }
        (_, Some(_)) => {
            let message = "partition_columns requires schema_mode \"overwrite\", and that all rows are \
                           replaced";
            return Err(Error::invalid("rows.schema_mode", message));
        }
    };
    let Some(metadata) = new else {
        return Ok(());
    };
    if options.partition_columns.is_some() {
        if !metadata.partition_columns.is_empty() && protocol.is_supported("clustering") {
            let message = "a clustered table cannot be partitioned: omit partition_columns";
            return Err(Error::invalid("transaction.partition_columns", message));
        }
        check_metadata(&metadata, &protocol.upgrade_for(&metadata)?)?;
    }
    transaction.set_metadata(metadata)
}

/// Returns metadata with the wider types of `types` if the table widens them, and with the columns and nested
/// fields that only `columns` has; `None` if nothing changes.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a wider type of a column that a constraint or a generated column
/// refers to.
pub fn merged_metadata(
    old: &Metadata,
    columns: &StructType,
    types: &StructType,
    widening: Widening,
) -> Result<Option<Metadata>> {
    let old_schema = StructType::parse(&old.schema_string)?;
    let mut new = old.clone();
    if old.is_on(TYPE_WIDENING) {
        for (path, to) in widenings(&old_schema, types, widening) {
            new = widen_column(&new, &path, &to)?;
        }
    }
    let schema = merged(&StructType::parse(&new.schema_string)?, columns)?;
    if schema == old_schema {
        return Ok(None);
    }
    with_schema(&new, &schema).map(Some)
}

/// Stages the high-water marks of identity columns.
pub(super) fn set_high_water_marks(
    transaction: &mut Transaction,
    converter: &InputConverter,
) -> Result<()> {
    let (metadata, _) = transaction.effective()?;
    match with_high_water_marks(metadata, &converter.high_water_marks())? {
        Some(metadata) => transaction.set_metadata(metadata),
        None => Ok(()),
    }
}

/// Returns the error for a schema that replaces the table's while rows of the table remain.
pub(super) fn schema_overwrite_refused() -> Error {
    let message = "schema_mode is \"overwrite\", which requires that all rows are replaced: pass \"merge\", or \
                   omit it";
    Error::invalid("rows.schema_mode", message)
}

pub(super) fn predicate_parameter(condition: Option<&Predicate>) -> [(&'static str, Value); 1] {
    let sql = condition.map_or_else(|| "true".to_owned(), ToString::to_string);
    [("predicate", json_text(&[sql]))]
}

/// Returns the parameter of a write that may change the schema.
pub(super) fn schema_parameter(options: &RowsOptions) -> Option<(&'static str, Value)> {
    let name = match options.schema_mode {
        SchemaMode::Fixed => return None,
        SchemaMode::Merge => "canMergeSchema",
        SchemaMode::Overwrite => "canOverwriteSchema",
    };
    Some((name, json!(true)))
}

/// Describes the times of a statement, by delta-spark's names.
pub(super) fn set_times(transaction: &mut Transaction, counts: &Counts) {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    transaction.description().times = metric_strings([
        (
            "executionTimeMs",
            milliseconds(counts.scan + counts.rewrite),
        ),
        ("scanTimeMs", milliseconds(counts.scan)),
        ("rewriteTimeMs", milliseconds(counts.rewrite)),
    ]);
}

pub(super) fn write_options(options: &RowsOptions) -> WriteOptions {
    WriteOptions {
        durable: options.transaction.durable,
        ..options.write
    }
}

/// Returns the metrics that DELETE, UPDATE and overwrites with a predicate share. As in delta-spark,
/// `numDeletedRows` is omitted if it is not known.
pub(super) fn row_metrics(written: &WrittenFiles, counts: &Counts) -> BTreeMap<String, String> {
    let vectors_added = counts.vectors_added + counts.vectors_updated;
    let vectors_removed = counts.vectors_removed + counts.vectors_updated;
    let mut metrics = metric_strings([
        ("numDeletedRows", counts.deleted),
        ("numCopiedRows", counts.copied),
        ("numAddedFiles", written.adds.len() as u64),
        ("numAddedBytes", written.bytes),
        ("numAddedChangeFiles", written.cdcs.len() as u64),
        ("numRemovedFiles", counts.removed_files),
        ("numRemovedBytes", counts.removed_bytes),
        ("numDeletionVectorsAdded", vectors_added),
        ("numDeletionVectorsUpdated", counts.vectors_updated),
        ("numDeletionVectorsRemoved", vectors_removed),
    ]);
    if counts.deleted_is_incomplete {
        metrics.remove("numDeletedRows");
    }
    metrics
}

pub(super) fn no_changes<const N: usize>(metrics: [&str; N]) -> RowsWritten {
    RowsWritten {
        version: None,
        metrics: metric_strings(metrics.map(|name| (name, 0))),
        afterwards: None,
    }
}
