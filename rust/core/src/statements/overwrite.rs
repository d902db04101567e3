//! OVERWRITE: replaces rows by new ones.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::Changer;
use super::delete::delete_matching;
use super::row_plan::Counts;
use super::write::{
    row_metrics, schema_parameter, set_high_water_marks, set_schema, set_txn, write_options,
};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::table::{RowSource, RowsOptions, RowsWritten, Table};
use crate::transaction::{Transaction, json_text, metric_strings};
use crate::write::{InputConverter, Partitions, WrittenFiles, each_step};

/// The rows that are replaced.
#[derive(Clone, Debug)]
pub enum Replaced {
    /// All rows.
    All,
    /// The rows that satisfy a condition; the new rows must satisfy it, too.
    Where(Predicate),
    /// The rows in the partitions of the new rows.
    Partitions,
}

impl Table {
    /// Replaces all or some rows of the newest version.
    ///
    /// # Errors
    ///
    /// As [`Table::append`]; for a condition, as [`Predicate::bind`] and [`Changer::change`]; Invalid
    /// argument: `rows.where` for new rows that do not satisfy the condition, `rows.partitions` for a table
    /// without partitions, `transaction.partition_columns`, `properties.value` if
    /// `delta.dataSkippingStatsColumns` does not fit the new schema.
    pub fn overwrite(
        &self,
        rows: RowSource,
        replaced: &Replaced,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot_for(&options)?;
        if matches!(replaced, Replaced::Partitions)
            && snapshot.metadata().partition_columns.is_empty()
        {
            let message = "the table has no partitions: pass where to select the rows to replace";
            return Err(Error::invalid("rows.partitions", message));
        }
        let parameters = parameters(&snapshot, replaced, &options);
        let mut transaction = self.begin(&snapshot, "WRITE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.commit_written(transaction, WrittenFiles::new(self.source()));
        }
        let replaces_all = matches!(replaced, Replaced::All);
        set_schema(&mut transaction, &rows, &options, replaces_all)?;
        let (metadata, protocol) = transaction.effective()?;
        let feed = matches!(replaced, Replaced::Where(_));
        let write = write_options(&options);
        let mut changer = Changer::new(self.source(), &snapshot, metadata, protocol, write, feed)?;
        let mut converter = InputConverter::new(metadata, protocol, &rows.schema())?;
        match replaced {
            Replaced::All => {
                transaction.read(None)?;
                delete_matching(&mut changer, &snapshot, None)?;
            }
            Replaced::Where(condition) => {
                let schema = StructType::parse(&metadata.schema_string)?;
                converter.add_replaced_condition(condition, &schema)?;
                transaction.read(Some(condition))?;
                delete_matching(&mut changer, &snapshot, Some(condition))?;
            }
            Replaced::Partitions => {}
        }
        let writes_changes = changer.has_change_rows();
        each_step(rows, &mut |step| {
            let rows = converter.convert(&step)?;
            if writes_changes {
                changer.write_changes("insert", &rows)?;
            }
            changer.write(&rows, None, None)
        })?;
        set_high_water_marks(&mut transaction, &converter)?;
        if matches!(replaced, Replaced::Partitions) {
            remove_partitions(&mut transaction, &mut changer, &snapshot)?;
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        transaction.description().metrics = metrics(replaced, &written, &counts);
        self.commit_written(transaction, written)
    }
}

fn parameters(
    snapshot: &Snapshot,
    replaced: &Replaced,
    options: &RowsOptions,
) -> Vec<(&'static str, Value)> {
    let own = &snapshot.metadata().partition_columns;
    let columns = json_text(options.partition_columns.as_ref().unwrap_or(own));
    let mut parameters = vec![("mode", json!("Overwrite")), ("partitionBy", columns)];
    match replaced {
        Replaced::All => {}
        Replaced::Where(condition) => parameters.push(("predicate", json!(condition.to_string()))),
        Replaced::Partitions => parameters.push(("isDynamicPartitionOverwrite", json!("true"))),
    }
    parameters.extend(schema_parameter(options));
    parameters
}

/// Removes the files of the partitions that rows were written to.
fn remove_partitions(
    transaction: &mut Transaction,
    changer: &mut Changer,
    snapshot: &Snapshot,
) -> Result<()> {
    changer.flush()?;
    let added = changer.written.adds.iter();
    let partitions = Partitions::of_files(snapshot, added.map(|file| &file.partition_values))?;
    let predicate = partitions.predicate(snapshot);
    let filter = predicate
        .as_ref()
        .map(|predicate| snapshot.filter_of(predicate))
        .transpose()?;
    if !partitions.is_empty() {
        transaction.read(predicate.as_ref())?;
    }
    let files = changer.candidates(filter)?;
    let is_contained = partitions.contain_files(files.iter().map(|file| &file.partition_values))?;
    for (file, is_contained) in files.into_iter().zip(is_contained) {
        if is_contained {
            changer.remove_file(file);
        }
    }
    Ok(())
}

fn metrics(
    replaced: &Replaced,
    written: &WrittenFiles,
    counts: &Counts,
) -> BTreeMap<String, String> {
    // as in delta-spark, files that get a vector count as written, and their remaining rows as copied
    let vectors = counts.vectors_added + counts.vectors_updated;
    let mut metrics = metric_strings([
        ("numFiles", written.adds.len() as u64 + vectors),
        ("numOutputRows", written.rows + counts.kept_rows),
        ("numOutputBytes", written.bytes + counts.kept_bytes),
        ("numRemovedFiles", counts.removed_files),
        ("numRemovedBytes", counts.removed_bytes),
    ]);
    if matches!(replaced, Replaced::Where(_)) {
        metrics.extend(row_metrics(written, counts));
        let copied = counts.copied + counts.kept_rows;
        metrics.extend(metric_strings([("numCopiedRows", copied)]));
    }
    metrics
}
