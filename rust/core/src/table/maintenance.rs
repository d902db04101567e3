//! The maintenance operations of a table.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{At, Table};
use crate::derived::cleanup::{LogCleanup, cleanup_log};
use crate::error::Result;
use crate::log::clock::storage_time;
use crate::maintenance::advice::{LogAdvice, advise};
use crate::maintenance::restore::{self, Restored};
use crate::maintenance::vacuum::{self, Vacuum, VacuumOptions};
use crate::maintenance::verify::{Verification, verify};
use crate::snapshot::Snapshot;
use crate::storage::{is_full, now};
use crate::transaction::{CommitDescription, Transaction, TransactionOptions, metric_strings};

impl Table {
    /// Deletes log files that no version within `delta.logRetentionDuration` needs, or lists them.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`cleanup_log`].
    pub fn cleanup_log(&self, dry_run: bool) -> Result<LogCleanup> {
        let snapshot = self.snapshot(At::Latest, None)?;
        cleanup_log(&self.source, &snapshot, self.now(dry_run)?, dry_run)
    }

    /// Deletes data files that no version within the retention period needs, or lists them. With `log`, a
    /// commit before and another after it record the operation; both afterwards if the disk was full, and
    /// none if it still is.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`vacuum::plan`] and [`vacuum::delete`]; with `log`, as [`Table::commit`].
    pub fn vacuum(&self, options: VacuumOptions, log: bool) -> Result<Vacuum> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let now = self.now(options.dry_run)?;
        let report = vacuum::plan(&self.source, &snapshot, now, &options)?;
        if options.dry_run {
            return Ok(report);
        }
        if !log {
            vacuum::delete(&self.source, &report)?;
            return Ok(report);
        }
        let mut parameters = vec![
            ("retentionCheckEnabled", json!(!options.force)),
            (
                "defaultRetentionMillis",
                json!(snapshot.properties().deleted_file_retention),
            ),
        ];
        if let Some(retention) = options.retention {
            parameters.push(("specifiedRetentionMillis", json!(retention)));
        }
        let metrics = metric_strings([
            ("numFilesToDelete", report.files.len() as u64),
            ("sizeOfDataToDelete", report.size_in_bytes),
        ]);
        let commit_start =
            || self.commit_description("VACUUM START", parameters.clone(), metrics.clone());
        // a full disk has space for this commit only after the vacuum
        let start_is_missing = match commit_start() {
            Err(error) if is_full(&error) => true,
            outcome => outcome.map(|()| false)?,
        };
        let deleted = vacuum::delete(&self.source, &report);
        let (status, number, directories) = match &deleted {
            Ok(directories) => ("COMPLETED", report.files.len(), *directories),
            Err(_) => ("FAILED", 0, 0),
        };
        let metrics = metric_strings([
            ("numDeletedFiles", number as u64),
            ("numVacuumedDirectories", directories as u64),
        ]);
        let start = if start_is_missing {
            commit_start()
        } else {
            Ok(())
        };
        let status = vec![("status", json!(status))];
        let end = start.and_then(|()| self.commit_description("VACUUM END", status, metrics));
        deleted?;
        match end {
            Err(error) if !is_full(&error) => Err(error),
            _ => Ok(report), // the files are deleted, even if the log cannot record it
        }
    }

    /// Returns the time before which removed files may be deleted by the table's own retention: milliseconds
    /// since the epoch.
    ///
    /// # Errors
    ///
    /// Unsupported: `protocol.writer_features`.
    pub fn vacuum_cutoff(&self, snapshot: &Snapshot) -> Result<i64> {
        let options = VacuumOptions {
            retention: None,
            lite: false,
            dry_run: true,
            force: false,
        };
        vacuum::period(&self.source, snapshot, now(), &options).map(|(_, cutoff)| cutoff)
    }

    /// Returns the time: of this machine if nothing is deleted; otherwise at most that of the storage.
    pub(crate) fn now(&self, dry_run: bool) -> Result<i64> {
        if dry_run {
            return Ok(now());
        }
        storage_time(&*self.source.storage)
    }

    /// Commits a version with a description only.
    fn commit_description(
        &self,
        operation: &str,
        parameters: Vec<(&str, Value)>,
        metrics: BTreeMap<String, String>,
    ) -> Result<()> {
        let description = CommitDescription {
            metrics,
            ..CommitDescription::new(operation, parameters)
        };
        let newest = self.snapshot(At::Latest, None)?;
        let options = TransactionOptions::default();
        let transaction = Transaction::begin(&self.source, &newest, description, options)?;
        self.commit(transaction).map(drop)
    }

    /// Commits a version with the files of an older one, unless the newest one has them.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`restore::prepare`] and [`Table::commit`].
    pub fn restore(&self, to: At, ignore_missing: bool) -> Result<Restored> {
        let newest = self.snapshot(At::Latest, None)?;
        let target = self.snapshot(to, None)?;
        let options = TransactionOptions::default();
        let (transaction, mut report) =
            restore::prepare(&self.source, &newest, &target, ignore_missing, options)?;
        report.version = newest.version();
        if !transaction.is_empty() {
            let committed = self.commit(transaction)?.commit;
            report.version = committed.version.unwrap_or(report.version);
        }
        Ok(report)
    }

    /// Verifies the log, and the data files and their rows if requested.
    ///
    /// # Errors
    ///
    /// As [`verify`].
    pub fn verify(&self, data_files: bool, rows: bool) -> Result<Verification> {
        verify(&self.source, data_files, rows).map_err(|error| self.with_uri(error))
    }

    /// Measures the gain of a checkpoint or of a compacted file on this log.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`advise`].
    pub fn optimize_log(&self) -> Result<LogAdvice> {
        let snapshot = self.snapshot(At::Latest, None)?;
        advise(&self.source, &snapshot)
    }
}
