//! Vacuum: deletes data files that no version within the retention period needs.
//!
//! The following files stay: live files, files removed within the period, their deletion vectors, files
//! younger than the period, and hidden files. Candidates come from a listing of the table (full) or from the
//! remove actions of the log (lite).
//!
//! Not part of the protocol; rules, names and commits as in delta-spark.

use std::collections::{BTreeMap, HashSet};

use arrow_array::{RecordBatch, StringArray};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::{Value, json};

use crate::codec::columns::TypedColumns;
use crate::codec::deletion_vector::{Descriptors, VectorLocation, vector_location};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::log::catalog::Permission;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::storage::{FileMeta, delete_all, in_background, is_full, now};
use crate::table::{At, Table};
use crate::transaction::{CommitDescription, Transaction, TransactionOptions, metric_strings};

mod lite;

/// The options of a vacuum.
#[derive(Clone, Copy, Debug)]
pub struct VacuumOptions {
    /// Retention in milliseconds; defaults to `delta.deletedFileRetentionDuration`.
    pub retention: Option<i64>,
    /// Find files in the log, without listing the table.
    pub lite: bool,
    /// Report only; delete nothing.
    pub dry_run: bool,
    /// Allow a retention shorter than the table's.
    pub force: bool,
}

/// The files that vacuum deletes, or would delete.
#[derive(Clone, Debug, Serialize)]
pub struct Vacuum {
    /// True if nothing was deleted.
    pub dry_run: bool,
    /// True if the files were found in the log.
    pub lite: bool,
    /// Files younger than this stay: milliseconds since the epoch.
    pub cutoff: i64,
    /// The retention in milliseconds.
    pub retention: i64,
    /// The files, relative to the table root.
    pub files: Vec<String>,
    /// Total size in bytes.
    pub size_in_bytes: u64,
    /// Directories older than the cutoff, innermost first; recorded before files are deleted, which makes
    /// directories younger.
    #[serde(skip)]
    pub(crate) directories: Vec<String>,
    /// The number of directories that were listed, with the table root.
    #[serde(skip)]
    pub(crate) num_directories: usize,
    /// The last commit whose removed files are all deleted by this vacuum.
    #[serde(skip)]
    pub(crate) covered: Option<u64>,
}

/// Returns the retention period of files and the instant at which it begins, both in milliseconds.
///
/// # Errors
///
/// Invalid argument: `vacuum.retention` for a period that is negative, or shorter than the table's without
/// `force`. Unsupported: `protocol.writer_features`, `catalog.maintenance`.
pub fn period(
    source: &Source,
    snapshot: &Snapshot,
    now: i64,
    options: &VacuumOptions,
) -> Result<(i64, i64)> {
    snapshot.protocol().check_writable()?;
    if !options.dry_run {
        source.check_allowed(Permission::Vacuum)?;
    }
    let min_retention = snapshot.properties().deleted_file_retention;
    let retention = options.retention.unwrap_or(min_retention);
    if retention < 0 {
        let message = "the retention cannot be negative";
        return Err(Error::invalid("vacuum.retention", message));
    }
    if retention < min_retention && !options.force {
        let message = format!(
            "a retention of {} hours is shorter than delta.deletedFileRetentionDuration, {} hours, and could \
             delete files that are still in use: pass a longer one, or force=True if no such file is in use",
            hours(retention),
            hours(min_retention)
        );
        return Err(Error::invalid("vacuum.retention", message));
    }
    Ok((retention, now.saturating_sub(retention)))
}

/// Determines the files to delete.
///
/// # Errors
///
/// Invalid argument: `vacuum.lite` when the log does not reach back far enough.
pub fn plan(
    source: &Source,
    snapshot: &Snapshot,
    now: i64,
    options: &VacuumOptions,
) -> Result<Vacuum> {
    let (retention, cutoff) = period(source, snapshot, now, options)?;
    let visible = VisibleNames::of(snapshot)?;
    let listing = (!options.lite).then(|| {
        let (table, visible) = (source.clone(), visible.clone());
        in_background(&source.storage, move |_| {
            let enter = |directory: &str| visible.is_visible(directory);
            let directories = table.storage.list_directories(&enter)?;
            Ok((directories, old_files(&table, &visible, cutoff)?))
        })
    });
    let protected = Protected::of(source, snapshot, cutoff)?;
    let (directories, files, covered) = if let Some(listing) = listing {
        let covered = lite::covered(source, snapshot, cutoff)?;
        let (directories, mut files) = listing.wait()?;
        files.retain(|file| !protected.contains(&file.path));
        (directories, files, covered)
    } else {
        let (mut candidates, covered) = lite::candidates(source, snapshot, cutoff)?;
        candidates.retain(|path| !protected.contains(path));
        let files = lite::stored(source, &visible, candidates, cutoff)?;
        (Vec::new(), files, covered)
    };
    let sizes = files.iter().map(|file| file.size);
    Ok(Vacuum {
        dry_run: options.dry_run,
        lite: options.lite,
        cutoff,
        retention,
        size_in_bytes: sizes.fold(0, u64::saturating_add),
        files: files.into_iter().map(|file| file.path).collect(),
        num_directories: directories.len().saturating_add(1),
        directories: directories
            .into_iter()
            .rev() // innermost first
            .filter(|directory| directory.modification_time < cutoff)
            .map(|directory| directory.path)
            .collect(),
        covered,
    })
}

/// Deletes the files of a plan, and records the version reached. A full vacuum also removes empty directories
/// that were older than the cutoff.
///
/// # Errors
///
/// Storage: the first file that cannot be deleted.
pub fn delete(source: &Source, report: &Vacuum) -> Result<()> {
    let paths: Vec<&str> = report.files.iter().map(String::as_str).collect();
    delete_all(&*source.storage, &paths)?;
    lite::record_version(source, report.covered)?;
    for directory in &report.directories {
        source.storage.delete_empty(directory)?;
    }
    Ok(())
}

/// Returns the visible files that are older than the cutoff.
fn old_files(source: &Source, visible: &VisibleNames, cutoff: i64) -> Result<Vec<FileMeta>> {
    let enter = |directory: &str| visible.is_visible(directory);
    let mut files = source.storage.list_below("", &enter)?;
    files.retain(|file| visible.is_visible(&file.path) && file.modification_time < cutoff);
    Ok(files)
}

/// A period in hours, which may be a fraction.
fn hours(milliseconds: i64) -> f64 {
    milliseconds as f64 / (60.0 * 60.0 * 1000.0)
}

/// The names that a vacuum lists: those that begin with `_` or `.` are hidden, except for change data files,
/// `_delta_index`, directories of partitions, and files left by Spark tasks in a staging directory of this
/// library.
#[derive(Clone, Debug)]
pub(crate) struct VisibleNames {
    /// The beginnings of names of partition directories, such as `day=`.
    partitions: Vec<String>,
    /// True if the directory `metadata` in the table root has Iceberg's metadata, and is hidden, too.
    iceberg: bool,
}

impl VisibleNames {
    /// Creates the rules for a table.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.physical_name`.
    pub(crate) fn of(snapshot: &Snapshot) -> Result<Self> {
        let mode = snapshot.properties().column_mapping_mode;
        let columns = &snapshot.metadata().partition_columns;
        let physical = snapshot.schema().names_in_files(columns, mode)?;
        let names = columns.iter().chain(&physical);
        let formats = snapshot
            .metadata()
            .property("delta.universalFormat.enabledFormats")
            .unwrap_or_default();
        Ok(Self {
            partitions: names.map(|name| format!("{name}=")).collect(),
            iceberg: formats.contains("iceberg"),
        })
    }

    /// Returns `true` if data files may be stored at a path: no part begins with `_` or `.`, except directories of
    /// partitions.
    pub(crate) fn holds_data(&self, path: &str) -> bool {
        path.split('/')
            .all(|part| !part.starts_with(['_', '.']) || self.is_partition(part))
    }

    fn is_partition(&self, name: &str) -> bool {
        self.partitions
            .iter()
            .any(|column| name.starts_with(column))
    }

    /// Returns `true` if every part of a path from the table root is visible.
    pub(crate) fn is_reachable(&self, path: &str) -> bool {
        directories_above(path).all(|directory| self.is_visible(directory)) && self.is_visible(path)
    }

    /// Returns `true` if the last part of a path is visible; its parents are checked separately.
    pub(crate) fn is_visible(&self, path: &str) -> bool {
        let name = name_of(path);
        if self.iceberg && path == "metadata" {
            return false;
        }
        !name.starts_with(['_', '.'])
            || name.starts_with("_change_data")
            || name.starts_with("_delta_index")
            || (name == "_temporary" && is_staged(path))
            || self.is_partition(name)
    }
}

/// Returns the parent directories of a file, outermost first.
fn directories_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .filter_map(|(end, _)| path.get(..end))
}

/// Returns `true` if a path is in a staging directory, which statements in Spark create for files that are
/// not committed yet: 32 hexadecimal digits at the table root. Files that Spark's tasks leave there belong to
/// this library.
fn is_staged(path: &str) -> bool {
    let (directory, _) = path.split_once('/').unwrap_or_default();
    directory.len() == 32 && directory.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The files that a vacuum keeps: live files, files removed at or after the cutoff, and their deletion vectors.
#[derive(Default)]
struct Protected {
    /// Storage paths of those inside the table.
    paths: HashSet<String>,
    /// File names of all others. The table's directory may have several names, as of a link or a mount, so a
    /// file that seems to be outside may be inside.
    names: HashSet<String>,
}

impl Protected {
    fn of(source: &Source, snapshot: &Snapshot, cutoff: i64) -> Result<Self> {
        let mut protected = Self::default();
        let columns = FileColumns::fields_only(&[FileField::Path, FileField::DeletionVector]);
        for rows in snapshot.file_batches(source, columns, None)? {
            protected.add(source, &rows?)?;
        }
        // a file removed at exactly this time stays
        for rows in snapshot.tombstones_since(source, cutoff - 1)?.batches {
            protected.add(source, &rows)?;
        }
        Ok(protected)
    }

    fn add(&mut self, source: &Source, rows: &RecordBatch) -> Result<()> {
        for_each_referenced(rows, |path| {
            match inside(source, path)? {
                Some(path) => self.paths.insert(path),
                None => {
                    let path = percent_decode_str(path).decode_utf8_lossy();
                    self.names.insert(name_of(&path).to_owned())
                }
            };
            Ok(())
        })
    }

    fn contains(&self, path: &str) -> bool {
        self.paths.contains(path) || self.names.contains(name_of(path))
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Collects the files that file actions reference: data files and deletion vectors inside the table.
///
/// # Errors
///
/// Corrupt: `path.empty`, `path.encoding`, `dv.path`, an invalid descriptor.
pub(crate) fn collect_referenced(
    source: &Source,
    rows: &RecordBatch,
    paths: &mut HashSet<String>,
) -> Result<()> {
    for_each_referenced(rows, |path| {
        paths.extend(inside(source, path)?);
        Ok(())
    })
}

/// Visits the path in the log of each data file and deletion vector that file actions reference.
fn for_each_referenced(
    rows: &RecordBatch,
    mut visit: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    for path in rows.typed::<StringArray>("path")?.iter().flatten() {
        visit(path)?;
    }
    let vectors = Descriptors::new(rows.typed("deletionVector")?)?;
    if vectors.is_all_null() {
        return Ok(());
    }
    for row in 0..rows.num_rows() {
        if let Some(descriptor) = vectors.get(row)?
            && let VectorLocation::File(path) = vector_location(&descriptor)?
        {
            visit(&path)?;
        }
    }
    Ok(())
}

/// Returns the storage path of a file in the log, if it is inside the table.
pub(crate) fn inside(source: &Source, path: &str) -> Result<Option<String>> {
    match source.resolver.resolve("", path) {
        Ok(resolved) if resolved.starts_with('/') => Ok(None),
        Ok(resolved) => Ok(Some(resolved.into_owned())),
        Err(error) => match error.code() {
            "path.escapes_root" | "path.foreign" | "path.other_store" | "path.in_log" => Ok(None),
            _ => Err(error.at_path(path)),
        },
    }
}

impl Table {
    /// Deletes data files that no version within the retention period needs, or lists them. With `log`, a
    /// commit before and another after it record the operation; both afterwards if the disk was full, and
    /// none if it still is.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`plan`] and [`delete`]; with `log`, as [`Table::commit`].
    pub fn vacuum(&self, options: VacuumOptions, log: bool) -> Result<Vacuum> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let now = self.now(options.dry_run)?;
        let report = plan(self.source(), &snapshot, now, &options)?;
        if options.dry_run {
            return Ok(report);
        }
        if !log {
            delete(self.source(), &report)?;
            return Ok(report);
        }
        let default = snapshot.properties().deleted_file_retention;
        let mut parameters = vec![
            ("retentionCheckEnabled", json!(!options.force)),
            ("defaultRetentionMillis", json!(default)),
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
        let deleted = delete(self.source(), &report);
        let (status, number, directories) = match &deleted {
            Ok(()) => ("COMPLETED", report.files.len(), report.num_directories),
            Err(_) => ("FAILED", 0, 0),
        };
        let metrics = metric_strings([
            ("numDeletedFiles", number as u64),
            ("numVacuumedDirectories", directories as u64),
        ]);
        let commit_end = || {
            if start_is_missing {
                commit_start()?;
            }
            self.commit_description("VACUUM END", vec![("status", json!(status))], metrics)
        };
        let end = commit_end();
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
        period(self.source(), snapshot, now(), &options).map(|(_, cutoff)| cutoff)
    }

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
        let transaction = Transaction::begin(self.source(), &newest, description, options)?;
        self.commit(transaction).map(drop)
    }
}
