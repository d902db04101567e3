//! Compares data files and deletion vectors of the newest version with the storage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};

use super::findings::{Findings, Severity};
use crate::codec::columns::TypedColumns;
use crate::codec::deletion_vector::Descriptors;
use crate::codec::file_columns::{FileColumns, PARTITION_VALUES};
use crate::error::Result;
use crate::log::path::LOG_DIRECTORY;
use crate::maintenance::vacuum::{VisibleNames, collect_referenced};
use crate::replay::Source;
use crate::scan::deletion_vectors;
use crate::snapshot::Snapshot;
use crate::snapshot::verify::malformed_fields;
use crate::storage::{BackgroundWork, FileMeta, Storage, interrupt, now};

/// The minimum age of a reported orphan in milliseconds: a younger file may be about to be committed.
const MIN_AGE: i64 = 60 * 60 * 1000;

const ROW_IDS: [&str; 2] = ["baseRowId", "defaultRowCommitVersion"];

/// Size and modification time of the stored files, by path.
pub(super) type Stored = HashMap<String, (u64, i64)>;

pub(super) fn stored(storage: &Arc<dyn Storage>) -> Result<Stored> {
    let files = storage.list_below("", &|directory| directory != LOG_DIRECTORY)?;
    let entry = |file: FileMeta| (file.path, (file.size, file.modification_time));
    Ok(files.into_iter().map(entry).collect())
}

/// Checks the actions of the live files and, if `stored` is given, the files themselves; returns the number
/// of live files.
pub(super) fn check(
    source: &Source,
    snapshot: &Snapshot,
    stored: Option<BackgroundWork<Stored>>,
    referenced_by_log: &HashSet<String>,
    findings: &mut Findings,
) -> Result<u64> {
    let data_files = stored.is_some();
    let stored = stored.map_or_else(|| Ok(Stored::new()), BackgroundWork::wait)?;
    let tracks_rows = snapshot.properties().row_tracking;
    let mut names = vec![
        "path",
        "size",
        "numRecords",
        "deletionVector",
        "stats",
        "partitionValues",
    ];
    if tracks_rows {
        names.extend(ROW_IDS);
    }
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let columns = FileColumns::of_names(Some(&names), snapshot)?;
    // a schema without physical names is already a finding of its commit
    let typed = FileColumns::of_names(Some(&[PARTITION_VALUES.to_owned()]), snapshot).ok();
    let version = snapshot.version();
    let (mut count, mut referenced) = (0, HashSet::new());
    for rows in snapshot.file_batches(source, columns, None)? {
        interrupt::check()?;
        let rows = rows?;
        count += rows.num_rows() as u64;
        for error in malformed_fields(&rows, typed.as_ref()) {
            findings.error(error.at_version(version))?;
        }
        if tracks_rows {
            check_row_ids(version, &rows, findings)?;
        }
        if data_files {
            let outcome = check_data_files(source, version, &rows, &stored, findings);
            findings.unless_interrupted(outcome)?;
            let outcome = check_vectors(source, version, &rows, findings);
            findings.unless_interrupted(outcome)?;
            let outcome = collect_referenced(source, &rows, &mut referenced);
            findings.unless_interrupted(outcome)?;
        }
    }
    for rows in snapshot.tombstones(source)?.batches {
        let outcome = collect_referenced(source, &rows, &mut referenced);
        findings.unless_interrupted(outcome)?;
    }
    if data_files {
        let is_referenced =
            |path: &String| referenced.contains(path) || referenced_by_log.contains(path);
        report_orphans(snapshot, &stored, &is_referenced, findings)?;
    }
    Ok(count)
}

/// Checks that each file has the row ids that row tracking requires.
fn check_row_ids(version: u64, rows: &RecordBatch, findings: &mut Findings) -> Result<()> {
    let paths: &StringArray = rows.typed("path")?;
    let [ids, versions] = ROW_IDS.map(|name| rows.typed::<Int64Array>(name));
    for (path, (id, row_version)) in paths.iter().zip(ids?.iter().zip(versions?)) {
        if id.is_none() || row_version.is_none() {
            let message = "row tracking is enabled, but this file has no baseRowId or no \
                           defaultRowCommitVersion";
            findings.fault("file.row_ids", (path, Some(version)), message);
        }
    }
    Ok(())
}

fn check_data_files(
    source: &Source,
    version: u64,
    rows: &RecordBatch,
    stored: &Stored,
    findings: &mut Findings,
) -> Result<()> {
    let (paths, sizes): (&StringArray, &Int64Array) = (rows.typed("path")?, rows.typed("size")?);
    for (path, size) in paths.iter().zip(sizes) {
        let Some(path) = path else { continue };
        let location = (Some(path), Some(version));
        let Some(size) = size else {
            let message = "the log does not state the size of this data file";
            findings.fault("file.size", location, message);
            continue;
        };
        let resolved = match source.resolver.resolve("", path) {
            Ok(resolved) => resolved,
            Err(error) => {
                findings.fault(error.code(), location, error.message());
                continue;
            }
        };
        report_link(source, &resolved, findings);
        let listed = stored.get(resolved.as_ref()).map(|(size, _)| *size);
        // a listing does not return files outside of the table, or behind a link
        let actual_size = match listed {
            Some(size) => Some(size),
            None => match source.storage.head(&resolved) {
                Ok(file) => Some(file.size),
                Err(error) if error.code() == "storage.not_found" => None,
                Err(error) => return Err(error),
            },
        };
        match actual_size {
            None => findings.fault(
                "file.missing",
                location,
                "this data file is live in the log, but does not exist",
            ),
            Some(actual_size) if i64::try_from(actual_size) != Ok(size) => findings.fault(
                "file.size",
                location,
                format!(
                    "the log says that this data file has {size} bytes, but it has {actual_size}"
                ),
            ),
            Some(_) => {}
        }
    }
    Ok(())
}

/// Reports a link that leads out of the table: a copy of the table would lack its target.
pub(super) fn report_link(source: &Source, path: &str, findings: &mut Findings) {
    if path.starts_with('/') {
        return; // below a root that the caller allowed
    }
    if let Some(target) = source.storage.outside_target(path) {
        let message = format!("a link leads out of the table, to {target}");
        findings.add(Severity::Info, "file.link", (Some(path), None), message);
    }
}

/// Checks that each deletion vector can be read, is complete, and fits its file.
fn check_vectors(
    source: &Source,
    version: u64,
    rows: &RecordBatch,
    findings: &mut Findings,
) -> Result<()> {
    let descriptors = Descriptors::new(rows.typed("deletionVector")?)?;
    if descriptors.is_all_null() {
        return Ok(());
    }
    let (records, paths): (&Int64Array, &StringArray) =
        (rows.typed("numRecords")?, rows.typed("path")?);
    let (mut present, mut rows_of_present) = (Vec::new(), Vec::new());
    for row in 0..rows.num_rows() {
        let descriptor = descriptors
            .get(row)
            .map_err(|error| error.at_path(paths.value(row)).at_version(version));
        if let Some(descriptor) = findings.unless_interrupted(descriptor)?.flatten() {
            present.push(descriptor);
            rows_of_present.push(row);
        }
    }
    let loaded = deletion_vectors::load(&source.storage, &source.resolver, &present);
    for (vector, row) in loaded.into_iter().zip(rows_of_present) {
        let checked = vector.and_then(|vector| {
            let rows = records.is_valid(row).then(|| records.value(row));
            match rows.and_then(|rows| u64::try_from(rows).ok()) {
                Some(rows) => vector.check_within(rows),
                None => Ok(()),
            }
        });
        if let Err(error) = checked {
            let path = error.path().unwrap_or_else(|| paths.value(row)).to_owned();
            if error.kind() == crate::error::ErrorKind::Interrupted {
                return Err(error);
            }
            let location = (Some(path.as_str()), Some(version));
            let message = format!(
                "the deletion vector of {}: {}",
                paths.value(row),
                error.message()
            );
            findings.fault(error.code(), location, message);
        }
    }
    Ok(())
}

/// Reports files that no action references.
fn report_orphans(
    snapshot: &Snapshot,
    stored: &Stored,
    is_referenced: &dyn Fn(&String) -> bool,
    findings: &mut Findings,
) -> Result<()> {
    let visible = VisibleNames::of(snapshot)?;
    let old = now().saturating_sub(MIN_AGE);
    let mut orphans: Vec<&String> = stored
        .iter()
        .filter(|(path, (_, modified))| {
            *modified < old && !is_referenced(path) && visible.is_reachable(path)
        })
        .map(|(path, _)| path)
        .collect();
    orphans.sort_unstable();
    for path in orphans {
        let message = "no action of the log references this file";
        findings.add(Severity::Info, "file.orphan", (Some(path), None), message);
    }
    Ok(())
}
