//! What writes rows: appended, overwritten, deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use serde_json::{Value, json};

use super::writing::{Committed, described};
use super::{At, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::Predicate;
use crate::replay::FileFilter;
use crate::scan::file_bounds::FilePredicate;
use crate::snapshot::Snapshot;
use crate::spec::schema::StructType;
use crate::transaction::alter::with_schema;
use crate::transaction::rows::{
    All, Changer, Counts, Intake, Layout, Purpose, RowWriter, WriteOptions, WrittenFiles,
    covering_predicate, each_step, merged_schema, normal_values, replaced_schema, with_marks,
};
use crate::transaction::{CommitDescription, Transaction, TransactionOptions};

/// What columns of the rows do to the table's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaMode {
    /// They have to be among them.
    #[default]
    Fixed,
    /// Those that only the rows have join them.
    Merge,
    /// They take their place, where all rows are replaced.
    Overwrite,
}

/// What rows replace.
#[derive(Clone, Debug)]
pub enum Replaced {
    /// All rows.
    All,
    /// Those that satisfy a condition, which the new ones have to satisfy too.
    Where(Predicate),
    /// Those of the partitions that the new ones belong to.
    Partitions,
}

/// How rows are written.
#[derive(Clone, Debug, Default)]
pub struct RowsOptions {
    /// How files are written; whether they are durable follows from the transaction.
    pub write: WriteOptions,
    /// How the transaction commits.
    pub transaction: TransactionOptions,
    /// What other columns do.
    pub schema_mode: SchemaMode,
    /// Application and version of an idempotent write.
    pub txn: Option<(String, i64)>,
    /// Free-form, for the commit.
    pub user_metadata: Option<String>,
}

/// What came of writing rows.
#[derive(Debug)]
pub struct RowsWritten {
    /// The version; `None` where the application had committed it before, or there was nothing to do.
    pub version: Option<u64>,
    /// Metrics of the operation, by the reference implementation's names.
    pub metrics: BTreeMap<String, String>,
    /// What went wrong when the checkpoint or the checksum was written.
    pub afterwards: Option<Error>,
}

/// Rows as somebody gives them.
pub type Rows = Box<dyn RecordBatchReader + Send>;

impl Table {
    /// Appends rows to the newest version.
    ///
    /// # Errors
    ///
    /// Invalid argument and Unsupported: as [`Intake::new`] and [`Intake::take`]; as [`Table::commit`].
    /// Files that were written go away again.
    pub fn append(&self, rows: Rows, options: RowsOptions) -> Result<RowsWritten> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let columns = json!(snapshot.metadata().partition_columns).to_string();
        let parameters = [("mode", json!("Append")), ("partitionBy", json!(columns))];
        let mut transaction = self.begin(&snapshot, "WRITE", parameters, &options)?;
        let mut written = WrittenFiles::new(&self.source);
        if !set_txn(&mut transaction, &options)? {
            set_schema(&mut transaction, &rows, options.schema_mode, None)?;
            let (metadata, protocol) = transaction.effective()?;
            let layout = Layout::new(metadata, protocol, Purpose::Data, &[])?;
            let mut intake = Intake::new(metadata, protocol, &rows.schema())?;
            let mut writer = RowWriter::new(Arc::new(layout), write_options(&options));
            each_step(rows, &mut |step| {
                writer.write(&intake.take(&step)?, &mut written)
            })?;
            writer.finish(&mut written)?;
            set_marks(&mut transaction, &intake)?;
            transaction.description().metrics = texts([
                ("numFiles", written.adds.len() as u64),
                ("numOutputRows", written.rows),
                ("numOutputBytes", written.bytes),
            ]);
        }
        self.settle(transaction, written)
    }

    /// Puts rows in the place of those of the newest version, all of them or some.
    ///
    /// # Errors
    ///
    /// As [`Table::append`]; Invalid argument: `rows.where` for rows that do not satisfy the condition,
    /// `rows.partitions` where a table without partitions is asked to replace some.
    pub fn overwrite(
        &self,
        rows: Rows,
        replaced: &Replaced,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let columns = json!(snapshot.metadata().partition_columns).to_string();
        let mut parameters = vec![
            ("mode", json!("Overwrite")),
            ("partitionBy", json!(columns)),
        ];
        match replaced {
            Replaced::All => {}
            Replaced::Where(condition) => {
                parameters.push(("predicate", json!(condition.to_string())));
            }
            Replaced::Partitions => parameters.push(("dynamicPartitionOverwrite", json!("true"))),
        }
        if matches!(replaced, Replaced::Partitions)
            && snapshot.metadata().partition_columns.is_empty()
        {
            let message = "the table has no partitions: say by where which rows are to be replaced";
            return Err(Error::invalid("rows.partitions", message));
        }
        let mut transaction = self.begin(&snapshot, "WRITE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.settle(transaction, WrittenFiles::new(&self.source));
        }
        set_schema(&mut transaction, &rows, options.schema_mode, Some(replaced))?;
        let (metadata, protocol) = transaction.effective()?;
        let feed =
            matches!(replaced, Replaced::Where(_)) && !snapshot.properties().deletion_vectors;
        let write = write_options(&options);
        let mut changer = Changer::new(&self.source, &snapshot, metadata, protocol, write, feed)?;
        let mut intake = Intake::new(metadata, protocol, &rows.schema())?;
        match replaced {
            Replaced::All => {
                transaction.read(None)?;
                mark(&mut changer, &snapshot, None)?;
            }
            Replaced::Where(condition) => {
                let (metadata, _) = transaction.effective()?;
                intake.demand(condition, &StructType::parse(&metadata.schema_string)?)?;
                transaction.read(Some(condition))?;
                mark(&mut changer, &snapshot, Some(condition))?;
            }
            Replaced::Partitions => {}
        }
        let told = changer.has_told();
        each_step(rows, &mut |step| {
            let taken = intake.take(&step)?;
            if told {
                changer.happened("insert", &taken)?;
            }
            changer.write(&taken, None, None)
        })?;
        set_marks(&mut transaction, &intake)?;
        if matches!(replaced, Replaced::Partitions) {
            changer.flush()?;
            let mut partitions = BTreeSet::new();
            for file in &changer.written.adds {
                partitions.insert(normal_values(&snapshot, &file.partition_values)?);
            }
            let covering = covering_predicate(&snapshot, &partitions);
            let filter = match &covering {
                Some(covering) => Some(file_filter(&snapshot, covering)?),
                None => None,
            };
            if !partitions.is_empty() {
                transaction.read(covering.as_ref())?;
            }
            for file in changer.candidates(filter)? {
                if partitions.contains(&normal_values(&snapshot, &file.partition_values)?) {
                    changer.remove_whole(file);
                }
            }
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        let rows = written.rows.saturating_sub(counts.copied);
        let mut metrics = texts([
            ("numFiles", written.adds.len() as u64),
            ("numOutputRows", rows),
            ("numOutputBytes", written.bytes),
            ("numRemovedFiles", counts.removed_files),
            ("numRemovedBytes", counts.removed_bytes),
        ]);
        if matches!(replaced, Replaced::Where(_)) {
            metrics.extend(changed(&written, &counts));
        }
        transaction.description().metrics = metrics;
        self.settle(transaction, written)
    }

    /// Deletes the rows of the newest version that satisfy a condition, or all.
    ///
    /// # Errors
    ///
    /// Invalid argument: the condition; as [`Table::commit`].
    pub fn delete(
        &self,
        condition: Option<&Predicate>,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let text = condition.map_or_else(|| "true".to_owned(), ToString::to_string);
        let parameters = [("predicate", json!(json!([text]).to_string()))];
        let mut transaction = self.begin(&snapshot, "DELETE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.settle(transaction, WrittenFiles::new(&self.source));
        }
        transaction.read(condition)?;
        let feed = !snapshot.properties().deletion_vectors;
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(&self.source, &snapshot, metadata, protocol, write, feed)?;
        mark(&mut changer, &snapshot, condition)?;
        if changer.nothing() && options.txn.is_none() {
            return Ok(nothing_done([
                "numDeletedRows",
                "numRemovedFiles",
                "numAddedFiles",
            ]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        let mut metrics = changed(&written, &counts);
        metrics.extend(texts([
            ("numRemovedFiles", counts.removed_files),
            ("numRemovedBytes", counts.removed_bytes),
        ]));
        transaction.description().metrics = metrics;
        self.settle(transaction, written)
    }

    pub(super) fn begin<'a>(
        &self,
        snapshot: &Snapshot,
        operation: &str,
        parameters: impl IntoIterator<Item = (&'a str, Value)>,
        options: &RowsOptions,
    ) -> Result<Transaction> {
        let description = CommitDescription {
            user_metadata: options.user_metadata.clone(),
            ..described(operation, parameters)
        };
        let options = options.transaction.clone();
        Transaction::begin(&self.source, snapshot, description, options)
    }

    /// Commits what was written. If nothing was committed the files go away; where it is not known
    /// whether something was, they stay.
    pub(super) fn settle(
        &self,
        mut transaction: Transaction,
        mut written: WrittenFiles,
    ) -> Result<RowsWritten> {
        transaction.add(std::mem::take(&mut written.adds));
        transaction.change_data(std::mem::take(&mut written.cdcs));
        let metrics = transaction.description().metrics.clone();
        match self.commit(transaction) {
            Ok(Committed { commit, afterwards }) => {
                if commit.version.is_some() {
                    written.keep();
                }
                Ok(RowsWritten {
                    version: commit.version,
                    metrics,
                    afterwards,
                })
            }
            Err(error) => {
                if is_uncertain(&error) {
                    written.keep();
                }
                Err(error)
            }
        }
    }
}

/// Errors of a commit after which it may be there all the same.
fn is_uncertain(error: &Error) -> bool {
    error.kind() == ErrorKind::Interrupted || error.code() == "commit.unknown"
}

/// Whether the application has got that far already.
pub(super) fn set_txn(transaction: &mut Transaction, options: &RowsOptions) -> Result<bool> {
    match &options.txn {
        Some((app_id, version)) => transaction.set_transaction(app_id, *version),
        None => Ok(false),
    }
}

/// Stages another schema where the rows bring one, and may.
fn set_schema(
    transaction: &mut Transaction,
    rows: &Rows,
    mode: SchemaMode,
    replaced: Option<&Replaced>,
) -> Result<()> {
    if mode == SchemaMode::Overwrite && !matches!(replaced, Some(Replaced::All)) {
        let message = "schema_mode is \"overwrite\", which is for those who replace all rows: it is \
                       \"merge\" here, or is left out";
        return Err(Error::invalid("rows.schema_mode", message));
    }
    let (old, _) = transaction.effective()?;
    let known = StructType::parse(&old.schema_string)?;
    let new = match mode {
        SchemaMode::Fixed => None,
        SchemaMode::Merge => merged_schema(&known, &rows.schema())?,
        SchemaMode::Overwrite => {
            Some(replaced_schema(&known, &rows.schema())?).filter(|new| *new != known)
        }
    };
    match new {
        Some(schema) => {
            let metadata = with_schema(old, &schema)?;
            transaction.set_metadata(metadata)
        }
        None => Ok(()),
    }
}

/// Stages how far identity columns got.
pub(super) fn set_marks(transaction: &mut Transaction, intake: &Intake) -> Result<()> {
    let (metadata, _) = transaction.effective()?;
    match with_marks(metadata, &intake.marks())? {
        Some(metadata) => transaction.set_metadata(metadata),
        None => Ok(()),
    }
}

pub(super) fn file_filter(
    snapshot: &Snapshot,
    condition: &Predicate,
) -> Result<Arc<dyn FileFilter>> {
    let bound = condition.bind(snapshot.schema())?;
    Ok(Arc::new(FilePredicate::of(bound, snapshot)?))
}

/// Marks the rows that satisfy the condition as gone. Where all rows of a file do by what the log knows,
/// the file is not read.
fn mark(changer: &mut Changer, snapshot: &Snapshot, condition: Option<&Predicate>) -> Result<()> {
    let Some(condition) = condition else {
        for file in changer.candidates(None)? {
            changer.remove_whole(file);
        }
        return Ok(());
    };
    let bound = condition.bind(snapshot.schema())?;
    // the files with rows of which the condition may be false or unknown
    let others = file_filter(snapshot, &condition.clone().not_true())?;
    let others = changer.candidate_paths(others)?;
    let some = changer.candidates(Some(file_filter(snapshot, condition)?))?;
    for file in some {
        if others.contains(&file.path) {
            changer.change(file, Some(&bound), false, &mut All)?;
        } else {
            changer.remove_whole(file);
        }
    }
    Ok(())
}

pub(super) fn write_options(options: &RowsOptions) -> WriteOptions {
    WriteOptions {
        durable: options.transaction.durable,
        ..options.write
    }
}

/// The metrics of rows that left or became others.
pub(super) fn changed(written: &WrittenFiles, counts: &Counts) -> BTreeMap<String, String> {
    texts([
        ("numDeletedRows", counts.deleted),
        ("numCopiedRows", counts.copied),
        ("numAddedFiles", written.adds.len() as u64),
        ("numAddedBytes", written.bytes),
        ("numAddedChangeFiles", written.cdcs.len() as u64),
        (
            "numDeletionVectorsAdded",
            counts.vectors_added + counts.vectors_updated,
        ),
        ("numDeletionVectorsUpdated", counts.vectors_updated),
        ("numDeletionVectorsRemoved", counts.vectors_updated),
    ])
}

pub(super) fn nothing_done<const N: usize>(metrics: [&str; N]) -> RowsWritten {
    RowsWritten {
        version: None,
        metrics: texts(metrics.map(|name| (name, 0))),
        afterwards: None,
    }
}

pub(super) fn texts<const N: usize>(metrics: [(&str, u64); N]) -> BTreeMap<String, String> {
    metrics
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}
