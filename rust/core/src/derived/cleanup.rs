//! Log cleanup: deletes the log files that no version within the retention period needs.
//!
//! The newest version before the period must stay, since it was current when the period began; so must the
//! newest checkpoint at or before it, that checkpoint's own commit, and all commits, checkpoints and checksums
//! after it. Only log files before that checkpoint, compacted files that start at or before it, staged
//! commits of versions up to it, leftovers of interrupted writers and unreferenced sidecars are deleted, and
//! the checkpoint is first read in full.
//!
//! Protocol: "Metadata Cleanup", "Checkpoint Protection".

use std::collections::HashSet;

use serde::Serialize;

use super::traces::{PROTECTION, protected_before};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, ErrorKind, Result};
use crate::log::catalog::Permission;
use crate::log::clock::storage_time;
use crate::log::path::{self, LOG_DIRECTORY, LogFileKind, SIDECAR_DIRECTORY, STAGED_DIRECTORY};
use crate::log::segment::file_timestamps;
use crate::log::{CheckpointInstance, LogListing};
use crate::replay::{Checkpoint, Source};
use crate::snapshot::Snapshot;
use crate::snapshot::load::load;
use crate::spec::interval::{MILLIS_PER_DAY, MILLIS_PER_MINUTE};
use crate::storage::{FileMeta, delete_all, now};

/// The files that log cleanup deletes, or would delete.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LogCleanup {
    /// True if the files were only reported.
    pub dry_run: bool,
    /// Versions current at or after this instant stay: milliseconds since the epoch; a midnight in UTC,
    /// except for [`truncate_log`].
    pub cutoff: i64,
    /// The oldest version that remains readable; `None` if no file can be deleted.
    pub earliest_version: Option<u64>,
    /// The files, in the order of their deletion.
    pub files: Vec<String>,
    /// Total size in bytes.
    pub size_in_bytes: u64,
    /// Reasons why other files are kept.
    pub notes: Vec<String>,
}

impl LogCleanup {
    fn add(&mut self, file: FileMeta) {
        self.size_in_bytes = self.size_in_bytes.saturating_add(file.size);
        self.files.push(file.path);
    }
}

/// Finds what has expired by `now`, and deletes it unless it is a dry run.
///
/// # Errors
///
/// Unsupported: `protocol.writer_features`, `catalog.maintenance`.
pub fn cleanup_log(
    source: &Source,
    snapshot: &Snapshot,
    now: i64,
    dry_run: bool,
) -> Result<LogCleanup> {
    snapshot.protocol().check_writable()?;
    if !dry_run {
        source.check_allowed(Permission::CleanupLog)?;
    }
    let mut report = plan(source, snapshot, now, cutoff(snapshot, now))?;
    report.dry_run = dry_run;
    if !dry_run {
        delete(source, &report)?;
    }
    Ok(report)
}

/// Deletes log files older than the retention period for dropped features; the cutoff is rounded down to a
/// minute.
pub fn truncate_log(source: &Source, snapshot: &Snapshot, now: i64) -> Result<LogCleanup> {
    snapshot.protocol().check_writable()?;
    source.check_allowed(Permission::CleanupLog)?;
    let retained = now.saturating_sub(snapshot.properties().truncated_history_retention);
    let report = plan(source, snapshot, now, floor(retained, MILLIS_PER_MINUTE))?;
    delete(source, &report)?;
    Ok(report)
}

/// Deletes expired log files once a checkpoint has been written, if log cleanup is enabled. Unless a file has
/// expired, the log is only listed, and no checkpoint is read.
pub fn cleanup_expired(source: &Source, snapshot: &Snapshot) -> Result<()> {
    if !snapshot.properties().expired_log_cleanup || !source.allows(Permission::CleanupLog)? {
        return Ok(());
    }
    let listing = LogListing::read(&*source.storage, 0)?;
    // the local clock tells whether a cleanup is worthwhile; the storage's clock is asked before a deletion
    let Some(current) = current_at(&listing, cutoff(snapshot, now())) else {
        return Ok(());
    };
    let mut checkpoints = listing.checkpoints.iter().rev();
    let Some(kept) = checkpoints.find(|checkpoint| checkpoint.version <= current) else {
        return Ok(());
    };
    if listing.earliest().is_none_or(|first| first >= kept.version) {
        return Ok(());
    }
    let now = storage_time(&*source.storage)?;
    cleanup_log(source, snapshot, now, false).map(drop)
}

fn delete(source: &Source, report: &LogCleanup) -> Result<()> {
    let paths: Vec<&str> = report.files.iter().map(String::as_str).collect();
    delete_all(&*source.storage, &paths)
}

/// Returns the start of the table's retention period, rounded down to a day so that not every checkpoint has
/// files to delete.
fn cutoff(snapshot: &Snapshot, now: i64) -> i64 {
    floor(
        now.saturating_sub(snapshot.properties().log_retention),
        MILLIS_PER_DAY,
    )
}

fn floor(instant: i64, unit: i64) -> i64 {
    instant - instant.rem_euclid(unit)
}

fn plan(source: &Source, snapshot: &Snapshot, now: i64, cutoff: i64) -> Result<LogCleanup> {
    let mut report = LogCleanup {
        cutoff,
        ..LogCleanup::default()
    };
    let files = source.storage.list(LOG_DIRECTORY, "")?;
    let listing = LogListing::of(files.clone(), 0);
    let Some(checkpoint) = kept_checkpoint(source, &listing, snapshot, &mut report)? else {
        return Ok(report);
    };
    let first = checkpoint.version;
    if !may_truncate(source, &listing, snapshot, first)? {
        report.notes.push(format!(
            "the table protects its checkpoints, and this build cannot write the protocol of every version \
             before {first}"
        ));
        return Ok(report);
    }
    report.earliest_version = Some(first);
    let yesterday = floor(now, MILLIS_PER_DAY) - MILLIS_PER_DAY;
    // commits are deleted before checkpoints, and both by version
    let mut expired: Vec<(bool, u64, FileMeta)> = Vec::new();
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        match path::parse(name) {
            Some((version, LogFileKind::Checkpoint(_))) if version < first => {
                expired.push((true, version, file));
            }
            Some((version, LogFileKind::Commit | LogFileKind::Checksum)) if version < first => {
                expired.push((false, version, file));
            }
            // a replay from the checkpoint only uses compacted files that start after it
            Some((_, LogFileKind::Compacted { start })) if start <= first => {
                expired.push((false, start, file));
            }
            // left behind by a writer that was interrupted
            None if is_temporary(name) && file.modification_time < yesterday => {
                expired.push((false, 0, file));
            }
            _ => {}
        }
    }
    for file in own_files(source, STAGED_DIRECTORY)? {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let version = name.get(..20).and_then(|digits| digits.parse::<u64>().ok());
        if let Some(version) = version.filter(|version| *version <= first) {
            expired.push((false, version, file));
        }
    }
    expired.sort_by(|left, right| {
        (left.0, left.1, &left.2.path).cmp(&(right.0, right.1, &right.2.path))
    });
    for (_, _, file) in expired {
        report.add(file);
    }
    let kept = listing.checkpoints.iter();
    match referenced_sidecars(source, kept.filter(|kept| kept.version >= first)) {
        Ok(referenced) => {
            for file in own_files(source, SIDECAR_DIRECTORY)? {
                if file.modification_time < yesterday && !referenced.contains(&file.path) {
                    report.add(file);
                }
            }
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
        Err(error) => report.notes.push(format!(
            "sidecars stay: a checkpoint that may reference them cannot be read: {error}"
        )),
    }
    Ok(report)
}

/// Returns the files of a directory below the log; none if the directory is a link, since its target may not
/// belong to the table.
fn own_files(source: &Source, directory: &str) -> Result<Vec<FileMeta>> {
    if source.storage.is_link(directory) {
        return Ok(Vec::new());
    }
    source.storage.list(directory, "")
}

/// Returns `true` for a temporary file of an interrupted writer: `.name.tmp`, on HDFS also `.name.tmp.1`.
fn is_temporary(name: &str) -> bool {
    let numbered = |number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let name = match name.rsplit_once('.') {
        Some((name, number)) if numbered(number) => name,
        _ => name,
    };
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Returns the newest version that was committed at or before the cutoff.
fn current_at(listing: &LogListing, cutoff: i64) -> Option<u64> {
    let times = file_timestamps(&listing.commits);
    let newest = times.iter().rfind(|(_, time)| *time <= cutoff);
    newest.map(|(commit, _)| commit.version)
}

/// Returns the newest checkpoint from which every version within the retention period can be reconstructed;
/// adds to the report why there is none, or why not a newer one.
fn kept_checkpoint(
    source: &Source,
    listing: &LogListing,
    snapshot: &Snapshot,
    report: &mut LogCleanup,
) -> Result<Option<CheckpointInstance>> {
    let Some(current) = current_at(listing, report.cutoff) else {
        report
            .notes
            .push("no commit is at or before the cutoff".to_owned());
        return Ok(None);
    };
    for checkpoint in listing.checkpoints.iter().rev() {
        let version = checkpoint.version;
        if version > current {
            continue;
        }
        let reason = match why_incomplete(source, listing, snapshot, checkpoint) {
            Ok(None) => return Ok(Some(checkpoint.clone())),
            Ok(Some(reason)) => reason.to_owned(),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => error.to_string(),
        };
        report.notes.push(format!(
            "the checkpoint of version {version} cannot replace the log before it: {reason}"
        ));
    }
    if report.notes.is_empty() {
        report.notes.push(format!(
            "there is no checkpoint at or before version {current}"
        ));
    }
    Ok(None)
}

/// Returns `None` if this checkpoint can be read in full and all commits from its version on exist;
/// otherwise the reason.
fn why_incomplete(
    source: &Source,
    listing: &LogListing,
    snapshot: &Snapshot,
    checkpoint: &CheckpointInstance,
) -> Result<Option<&'static str>> {
    let version = checkpoint.version;
    let required = version..=snapshot.version();
    let commits = listing.commits.iter().map(|commit| commit.version);
    if !commits
        .filter(|commit| required.contains(commit))
        .eq(required.clone())
    {
        return Ok(Some("a commit of this or a later version is missing"));
    }
    let state = load(source, Some(version), false)?;
    let columns = FileColumns::fields_only(&[FileField::Path, FileField::DeletionVector]);
    for rows in state.file_batches(source, columns, None)? {
        rows?;
    }
    state.transactions(source)?;
    match &state.segment().checkpoint {
        Some(used) if used == checkpoint => Ok(None),
        // a version is loaded from an older checkpoint if this one cannot be read
        _ => Ok(Some("it cannot be read")),
    }
}

/// Returns `true` if the feature `checkpointProtection` allows the removal of the versions before `first`:
/// these are all protected versions, or this build can write their protocols.
fn may_truncate(
    source: &Source,
    listing: &LogListing,
    snapshot: &Snapshot,
    first: u64,
) -> Result<bool> {
    let protected = protected_before(snapshot.metadata());
    if !snapshot.protocol().is_supported(PROTECTION) || first >= protected {
        return Ok(true);
    }
    let Some(earliest) = listing.earliest_recreatable() else {
        return Ok(false);
    };
    for version in earliest..first {
        match load(source, Some(version), false) {
            Ok(state) if state.protocol().check_writable().is_ok() => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the storage paths of all sidecars referenced by these checkpoints.
pub(crate) fn referenced_sidecars<'a>(
    source: &Source,
    checkpoints: impl Iterator<Item = &'a CheckpointInstance>,
) -> Result<HashSet<String>> {
    let mut referenced = HashSet::new();
    for checkpoint in checkpoints {
        for sidecar in Checkpoint::read_control(source, checkpoint)?.sidecars {
            let path = source.resolver.resolve(SIDECAR_DIRECTORY, &sidecar.path);
            let located = |error: Error| error.at_path(checkpoint.path().to_owned());
            referenced.insert(path.map_err(located)?.into_owned());
        }
    }
    Ok(referenced)
}

#[cfg(test)]
mod tests;
