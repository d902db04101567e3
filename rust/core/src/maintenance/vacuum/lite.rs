//! VACUUM LITE: finds removed files in the log, so that the table need not be listed.
//!
//! `_delta_log/_last_vacuum_info` records the version up to which this was done before. The log may name
//! arbitrary paths, so each file is checked: only files that a listing would have returned are deleted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use serde_json::{Value, json};

use super::{VisibleNames, collect_referenced, directories_above, inside};
use crate::codec::columns::{TypedColumns, filter_rows};
use crate::codec::commit::ActionSelection;
use crate::codec::file_actions::FileField;
use crate::error::{Error, ErrorKind, Result};
use crate::log::segment::file_timestamps;
use crate::log::{LogListing, TailFile};
use crate::replay::{Source, decode_tail};
use crate::snapshot::Snapshot;
use crate::storage::{FileMeta, Storage, is_full, pool};

const INFO: &str = "_delta_log/_last_vacuum_info";
/// The maximum size of this file in bytes; it contains one number.
const MAX_INFO_BYTES: u64 = 1 << 20;
const LATEST: &str = "latestCommitVersionOutsideOfRetentionWindow";

/// The milliseconds by which the clock of a writer, which sets deletion timestamps, may be ahead of the store's,
/// which sets the times of commits. Some stores also cut these times to seconds.
const CLOCK_SKEW: i64 = 60 * 60 * 1000;

fn commits(source: &Source, snapshot: &Snapshot) -> Result<LogListing> {
    let mut listing = LogListing::read(&*source.storage, 0)?;
    listing
        .commits
        .retain(|commit| commit.version <= snapshot.version());
    Ok(listing)
}

/// Returns the version of the last commit at or before a time.
fn last_version(listing: &LogListing, time: i64) -> Option<u64> {
    let times = file_timestamps(&listing.commits);
    let last = times.iter().rfind(|(_, committed)| *committed <= time);
    last.map(|(commit, _)| commit.version)
}

/// Returns the version up to which all removed files were deleted before the cutoff: later vacuums skip the
/// commits up to it.
fn covered_version(listing: &LogListing, cutoff: i64) -> Option<u64> {
    last_version(listing, cutoff.saturating_sub(CLOCK_SKEW))
}

/// Returns the version up to which a full vacuum of this snapshot deletes all removed files.
pub(super) fn covered(source: &Source, snapshot: &Snapshot, cutoff: i64) -> Result<Option<u64>> {
    Ok(covered_version(&commits(source, snapshot)?, cutoff))
}

/// Returns the files that commits at or before the cutoff removed, with their change data files, and the
/// version as of [`covered`]. Commits that an earlier vacuum covered are skipped.
pub(super) fn candidates(
    source: &Source,
    snapshot: &Snapshot,
    cutoff: i64,
) -> Result<(BTreeSet<String>, Option<u64>)> {
    let listing = commits(source, snapshot)?;
    let earliest = listing.commits.first().map_or(0, |commit| commit.version);
    let done = recorded_version(source)?;
    let is_behind = done.is_none_or(|done| done.saturating_add(1) < earliest);
    if earliest != 0 && is_behind {
        let message = format!(
            "the log starts at version {earliest} and no longer has earlier removals: run a full vacuum \
             (lite=False)"
        );
        return Err(Error::invalid("vacuum.lite", message));
    }
    let Some(end) = last_version(&listing, cutoff) else {
        return Ok((BTreeSet::new(), done));
    };
    let covered = covered_version(&listing, cutoff).max(done);
    let begin = done.map_or(earliest, |done| done.saturating_add(1).max(earliest));
    let commits: Vec<TailFile> = listing
        .commits
        .into_iter()
        .filter(|commit| (begin..=end).contains(&commit.version))
        .map(TailFile::from)
        .collect();
    let fields = vec![
        FileField::Path,
        FileField::DeletionTimestamp,
        FileField::DeletionVector,
    ];
    let selection = ActionSelection {
        removes: Some(fields),
        cdcs: Some(vec![FileField::Path]),
        ..ActionSelection::default()
    };
    let mut candidates = HashSet::new();
    for batch in decode_tail(&source.storage, &commits, &selection)? {
        if let Some(removes) = batch.removes {
            collect_referenced(source, &expired(&removes.rows, cutoff)?, &mut candidates)?;
        }
        if let Some(cdcs) = batch.cdcs {
            let paths: &StringArray = cdcs.rows.typed(FileField::Path.name())?;
            for path in paths.iter().flatten() {
                candidates.extend(inside(source, path)?);
            }
        }
    }
    Ok((candidates.into_iter().collect(), covered))
}

/// Returns the candidates that a full vacuum would list as well: files that exist, are visible, are older
/// than the cutoff, and do not lie in a directory that is a link.
pub(super) fn stored(
    source: &Source,
    visible: &VisibleNames,
    mut candidates: BTreeSet<String>,
    cutoff: i64,
) -> Result<Vec<FileMeta>> {
    let mut links: HashMap<String, bool> = HashMap::new();
    candidates.retain(|path| {
        visible.is_reachable(path)
            && !directories_above(path).any(|directory| {
                let known = links.get(directory).copied();
                known.unwrap_or_else(|| {
                    let is_link = source.storage.is_link(directory);
                    links.insert(directory.to_owned(), is_link);
                    is_link
                })
            })
    });
    let storage = Arc::clone(&source.storage);
    let files = pool::map_concurrently(candidates.into_iter().collect(), move |path: &String| {
        stored_file(&*storage, path)
    })?;
    let is_old = |file: &FileMeta| file.modification_time < cutoff;
    Ok(files.into_iter().flatten().filter(is_old).collect())
}

/// Returns `None` for a file that does not exist or that no listing returns.
fn stored_file(storage: &dyn Storage, path: &str) -> Result<Option<FileMeta>> {
    match storage.head(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) => match error.code() {
            "storage.not_found" | "storage.not_a_file" | "storage.name" | "storage.path"
            | "path.escapes_root" => Ok(None),
            _ => Err(error),
        },
    }
}

/// Returns the removals before the cutoff; those without a timestamp count as expired.
fn expired(removes: &RecordBatch, cutoff: i64) -> Result<RecordBatch> {
    let times: &Int64Array = removes.typed(FileField::DeletionTimestamp.name())?;
    let is_old = |time: Option<i64>| Some(time.unwrap_or(0) < cutoff);
    filter_rows(removes, &times.iter().map(is_old).collect())
}

/// Returns the version up to which removed files are known to be deleted.
fn recorded_version(source: &Source) -> Result<Option<u64>> {
    let bytes = match source.storage.read_at_most(INFO, MAX_INFO_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.code() == "storage.not_found" => return Ok(None),
        // treated like a file that does not parse
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
        Err(error) => return Err(error),
    };
    let info: Option<Value> = serde_json::from_slice(&bytes).ok();
    Ok(info.and_then(|info| info.get(LATEST).and_then(Value::as_u64)))
}

/// Records the version up to which a vacuum deleted removed files.
pub(super) fn record_version(source: &Source, version: Option<u64>) -> Result<()> {
    let Some(version) = version else {
        return Ok(());
    };
    let info = json!({ LATEST: version });
    match source.storage.put(INFO, info.to_string().as_bytes()) {
        // the next run checks the same commits again
        Err(error) if is_full(&error) => Ok(()),
        outcome => outcome,
    }
}
