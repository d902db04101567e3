//! The common part of all writes of rows: options, result, and the commit of the written files.

use std::collections::BTreeMap;

use arrow_array::RecordBatchReader;
use serde_json::Value;

use super::commit::Committed;
use super::{At, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::snapshot::Snapshot;
use crate::transaction::{CommitDescription, Transaction, TransactionOptions};
use crate::write::{WriteOptions, WrittenFiles};

/// The treatment of columns that the table lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaMode {
    /// An error.
    #[default]
    Fixed,
    /// They are added to the table.
    Merge,
    /// The columns of the rows replace those of the table, if all rows are replaced.
    Overwrite,
}

/// The options of a write of rows.
#[derive(Clone, Debug, Default)]
pub struct RowsOptions {
    /// The options for writing files; their durability is that of the transaction.
    pub write: WriteOptions,
    /// The options for committing.
    pub transaction: TransactionOptions,
    /// The treatment of columns that the table lacks.
    pub schema_mode: SchemaMode,
    /// The new partition columns of the table, if columns of the rows replace its own.
    pub partition_columns: Option<Vec<String>>,
    /// Application and version of an idempotent write.
    pub txn: Option<(String, i64)>,
    /// Free-form text in the commit.
    pub user_metadata: Option<String>,
    /// The version that the write is based on; `None` for the newest.
    pub snapshot: Option<Snapshot>,
}

/// The result of a write of rows.
#[derive(Debug)]
pub struct RowsWritten {
    /// The version; `None` if the application had committed it before, or there was nothing to do.
    pub version: Option<u64>,
    /// Metrics of the operation, named as in delta-spark.
    pub metrics: BTreeMap<String, String>,
    /// The error of a step after the commit, as in [`Committed`]; or of the automatic compaction.
    pub afterwards: Option<Error>,
}

/// A stream of rows from the caller.
pub type RowSource = Box<dyn RecordBatchReader + Send>;

impl Table {
    /// Returns the version that a write is based on.
    pub(crate) fn snapshot_for(&self, options: &RowsOptions) -> Result<Snapshot> {
        match &options.snapshot {
            Some(snapshot) => Ok(snapshot.clone()),
            None => self.snapshot(At::Latest, None),
        }
    }

    pub(crate) fn begin<'a>(
        &self,
        snapshot: &Snapshot,
        operation: &str,
        parameters: impl IntoIterator<Item = (&'a str, Value)>,
        options: &RowsOptions,
    ) -> Result<Transaction> {
        let description = CommitDescription {
            user_metadata: options.user_metadata.clone(),
            ..CommitDescription::new(operation, parameters)
        };
        let options = options.transaction.clone();
        Transaction::begin(&self.source, snapshot, description, options)
    }

    /// Commits the written files. Deletes them if nothing was committed; keeps them if that is unknown.
    pub(crate) fn commit_files(
        &self,
        mut transaction: Transaction,
        mut written: WrittenFiles,
    ) -> Result<RowsWritten> {
        transaction.record_written(written.files().iter().cloned());
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

/// Returns `true` for errors after which the commit may still exist.
fn is_uncertain(error: &Error) -> bool {
    error.kind() == ErrorKind::Interrupted || error.code() == "commit.unknown"
}
