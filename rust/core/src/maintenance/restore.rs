//! Restore: commits a new version with the files of an older one.
//!
//! Files that are live in the older version but not in the newest are added again; files that were added
//! since are removed. Schema, properties and clustering columns are those of the older version, except for
//! what must never be reverted: the protocol, the high-water marks of row ids, column ids and identity
//! columns, and the properties of in-commit timestamps and of protected checkpoints. User domains are kept.
//!
//! Not part of the protocol; operation and metrics as in delta-spark.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::codec::deletion_vector::{VectorLocation, vector_location};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::definition::clustering::{CLUSTERING, NOT_CLUSTERED};
use crate::definition::{CATALOG_TABLE_ID, MAX_COLUMN_ID, ROW_TRACKING_COLUMNS, remove_properties};
use crate::error::{Error, ErrorKind, Result};
use crate::replay::{FileActionKey, KeySet, Source};
use crate::snapshot::Snapshot;
use crate::spec::Metadata;
use crate::storage::{interrupt, pool};
use crate::table::{At, Table};
use crate::transaction::{CommitDescription, Transaction, TransactionOptions, metric_strings};
use crate::write::random::now_after;
use crate::write::{AddFile, RemoveFile, keep_high_water_marks};

/// The maximum number of missing files named in an error.
const MAX_NAMED: usize = 3;

const KEPT_PROPERTIES: [&str; 6] = [
    "delta.enableInCommitTimestamps",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    MAX_COLUMN_ID,
    "delta.requireCheckpointProtectionBeforeVersion",
    CATALOG_TABLE_ID,
];

/// Returns `true` if a restore keeps the newest value of a property.
pub fn is_kept(key: &str) -> bool {
    KEPT_PROPERTIES
        .iter()
        .any(|kept| kept.eq_ignore_ascii_case(key))
}

/// The result of a restore.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Restored {
    /// The new version; the newest version if there was nothing to do.
    pub version: u64,
    /// The version that was restored.
    pub restored_version: u64,
    /// Files that became live again.
    pub num_restored_files: u64,
    /// Files that were removed.
    pub num_removed_files: u64,
    /// Total size of the restored files in bytes.
    pub restored_files_size: u64,
    /// Total size of the removed files in bytes.
    pub removed_files_size: u64,
    /// Files that should be restored but no longer exist.
    pub missing_files: Vec<String>,
}

impl Table {
    /// Commits a version with the files of an older one, unless the newest one has them. A timestamp after
    /// the newest version selects that version.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`prepare`] and [`Table::commit`].
    pub fn restore(&self, to: At, ignore_missing: bool) -> Result<Restored> {
        let newest = self.snapshot(At::Latest, None)?;
        let target = match to {
            At::Timestamp(timestamp) if timestamp > newest.timestamp() => newest.clone(),
            _ => self.snapshot(to, None)?,
        };
        let options = TransactionOptions::default();
        let (transaction, mut report) =
            prepare(self.source(), &newest, &target, ignore_missing, options)?;
        report.version = newest.version();
        if !transaction.is_empty() {
            let committed = self.commit(transaction)?.commit;
            report.version = committed.version.unwrap_or(report.version);
        }
        Ok(report)
    }
}

/// Stages the changes from the newest version to an older one.
///
/// # Errors
///
/// Version not found: `restore.missing_files` if data files no longer exist, unless missing files are
/// ignored.
pub fn prepare(
    source: &Source,
    newest: &Snapshot,
    target: &Snapshot,
    ignore_missing: bool,
    options: TransactionOptions,
) -> Result<(Transaction, Restored)> {
    let mut report = Restored {
        restored_version: target.version(),
        ..Restored::default()
    };
    let removes = live_only_in(source, newest, target)?;
    let mut adds = live_only_in(source, target, newest)?;
    report.missing_files = missing(source, &adds)?;
    if !report.missing_files.is_empty() {
        if !ignore_missing {
            return Err(missing_error(target.version(), &report.missing_files));
        }
        let missing: HashSet<&String> = report.missing_files.iter().collect();
        adds.retain(|file| !missing.contains(&file.path));
    }
    let size = |files: &[AddFile]| -> u64 {
        let sizes = files
            .iter()
            .map(|file| u64::try_from(file.size).unwrap_or(0));
        sizes.sum()
    };
    report.num_restored_files = adds.len() as u64;
    report.num_removed_files = removes.len() as u64;
    report.restored_files_size = size(&adds);
    report.removed_files_size = size(&removes);

    let description = description(source, newest, target, &report)?;
    let mut transaction = Transaction::begin(source, newest, description, options)?;
    transaction.read(None)?;
    let now = now_after(newest);
    let removed: Vec<RemoveFile> = removes.iter().map(|file| file.removed(now, true)).collect();
    transaction.remove(removed);
    let mut metadata = restored_metadata(newest.metadata(), target.metadata())?;
    if !newest.protocol().is_supported("rowTracking") {
        // dropped since: files that are still live have lost their row ids
        remove_properties(&mut metadata, &["delta.enableRowTracking"]);
        remove_properties(&mut metadata, &ROW_TRACKING_COLUMNS.map(|(key, _)| key));
    }
    if metadata != *newest.metadata() {
        transaction.set_metadata(metadata)?;
    }
    let protocol = newest.protocol().merge(target.protocol());
    if !protocol.is_equivalent(newest.protocol()) {
        transaction.set_protocol(protocol)?;
    }
    let restored = target.domain_configuration(source, CLUSTERING)?;
    if restored != newest.domain_configuration(source, CLUSTERING)? {
        let restored = restored.unwrap_or_else(|| NOT_CLUSTERED.to_owned());
        transaction.set_system_domain(CLUSTERING, Some(restored));
    }
    let adds = adds.into_iter().map(|mut file| {
        file.data_change = true;
        file.with_wide_bounds()
    });
    transaction.add(adds.collect::<Result<_>>()?);
    Ok((transaction, report))
}

/// Returns the live files of one version that are not live in the other.
fn live_only_in(source: &Source, snapshot: &Snapshot, other: &Snapshot) -> Result<Vec<AddFile>> {
    let mut other_keys = KeySet::default();
    let columns = FileColumns::fields_only(&[FileField::Path, FileField::DeletionVector]);
    for rows in other.file_batches(source, columns, None)? {
        other_keys.extend(source.keys.of_batch(&rows?)?);
    }
    let mut files = Vec::new();
    for rows in snapshot.file_batches(source, FileColumns::all(), None)? {
        interrupt::check()?;
        let rows = rows?;
        let keys: Vec<FileActionKey> = source.keys.of_batch(&rows)?;
        for (row, key) in keys.iter().enumerate() {
            if !other_keys.contains(key) {
                files.push(AddFile::of_row(&rows, row)?);
            }
        }
    }
    Ok(files)
}

/// Returns the paths, as in the log, of files that do not exist or whose deletion vector does not.
fn missing(source: &Source, files: &[AddFile]) -> Result<Vec<String>> {
    let mut paths_of_files = Vec::with_capacity(files.len());
    for file in files {
        let mut paths = vec![source.resolver.resolve("", &file.path)?.into_owned()];
        if let Some(vector) = &file.deletion_vector
            && let VectorLocation::File(path) = vector_location(vector)?
        {
            paths.push(source.resolver.resolve("", &path)?.into_owned());
        }
        paths_of_files.push((file.path.clone(), paths));
    }
    let storage = Arc::clone(&source.storage);
    let missing = pool::map_concurrently(paths_of_files, move |(name, paths)| {
        for path in paths {
            match storage.head(path) {
                Ok(_) => {}
                Err(error) if error.code() == "storage.not_found" => return Ok(Some(name.clone())),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    })?;
    Ok(missing.into_iter().flatten().collect())
}

fn missing_error(version: u64, missing: &[String]) -> Error {
    let named = missing.get(..MAX_NAMED).unwrap_or(missing);
    let message = format!(
        "{} data files of version {version} no longer exist ({}{}): restore a later version, or pass \
         ignore_missing_files=True to restore without them",
        missing.len(),
        named.join(", "),
        if named.len() < missing.len() {
            ", ..."
        } else {
            ""
        }
    );
    let error = Error::new(ErrorKind::VersionNotFound, "restore.missing_files", message);
    error.at_version(version)
}

fn restored_metadata(newest: &Metadata, target: &Metadata) -> Result<Metadata> {
    let mut metadata = Metadata {
        id: newest.id.clone(),
        ..target.clone()
    };
    metadata.configuration.retain(|key, _| !is_kept(key));
    let kept = newest.configuration.clone().into_iter();
    let kept = kept.filter(|(key, _)| is_kept(key));
    metadata.configuration.extend(kept);
    // the newest version has a lesser one, or none, if column mapping was dropped
    let max_id = |metadata: &Metadata| metadata.property(MAX_COLUMN_ID)?.parse::<i64>().ok();
    if let Some(id) = max_id(target)
        && max_id(newest) < Some(id)
    {
        metadata
            .configuration
            .insert(MAX_COLUMN_ID.to_owned(), id.to_string());
    }
    keep_high_water_marks(metadata, newest)
}

fn description(
    source: &Source,
    newest: &Snapshot,
    target: &Snapshot,
    report: &Restored,
) -> Result<CommitDescription> {
    let files = (newest.num_files(source)? + report.num_restored_files)
        .saturating_sub(report.num_removed_files);
    let size = (newest.size_in_bytes(source)? + report.restored_files_size)
        .saturating_sub(report.removed_files_size);
    let metrics = [
        ("numRestoredFiles", report.num_restored_files),
        ("numRemovedFiles", report.num_removed_files),
        ("restoredFilesSize", report.restored_files_size),
        ("removedFilesSize", report.removed_files_size),
        ("numOfFilesAfterRestore", files),
        ("tableSizeAfterRestore", size),
    ];
    let parameters = [
        ("version", json!(target.version())),
        ("timestamp", json!(null)),
    ];
    Ok(CommitDescription {
        metrics: metric_strings(metrics),
        ..CommitDescription::new("RESTORE", parameters)
    })
}
