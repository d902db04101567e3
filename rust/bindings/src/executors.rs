//! Parts of vacuum and verification, for a driver and its executors.

use std::collections::HashSet;

use deltareplay_core::error::Error;
use deltareplay_core::maintenance::to_json;
use deltareplay_core::maintenance::vacuum::{self, VacuumOptions, Visible};
use deltareplay_core::maintenance::verify::{self, orphans, orphans_before};
use deltareplay_core::storage::FileMeta;
use pyo3::prelude::*;

use crate::batches::stream;
use crate::gate::detached;
use crate::scan::Split;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Path and bytes.
type Sized = (String, u64);

fn sized(files: Vec<FileMeta>) -> Vec<Sized> {
    files
        .into_iter()
        .map(|file| (file.path, file.size))
        .collect()
}

/// Returns the table's own retention, the effective one, and the cutoff: in milliseconds.
#[pyfunction]
#[pyo3(signature = (table, snapshot, retention, force, dry_run))]
pub(crate) fn vacuum_period(
    py: Python<'_>,
    table: &Table,
    snapshot: &Snapshot,
    retention: Option<i64>,
    force: bool,
    dry_run: bool,
) -> PyResult<(i64, i64, i64)> {
    let options = VacuumOptions {
        retention,
        lite: false,
        dry_run,
        force,
    };
    detached(py, || table.0.vacuum_period(snapshot.state(), &options))
}

/// Returns the names of files that are visible to a vacuum, as JSON.
#[pyfunction]
pub(crate) fn visible_names(py: Python<'_>, snapshot: &Snapshot) -> PyResult<String> {
    detached(py, || Ok(to_json(&Visible::of(snapshot.state())?)))
}

/// Returns directories to list in parallel, and the old files above them.
#[pyfunction]
pub(crate) fn listing_parts(
    py: Python<'_>,
    table: &Table,
    names: &str,
    parts: usize,
    cutoff: i64,
) -> PyResult<(Vec<String>, Vec<Sized>)> {
    detached(py, || {
        let visible = Visible::parse(names)?;
        let (directories, above) = vacuum::divided(table.0.source(), &visible, parts, cutoff)?;
        Ok((directories, sized(above)))
    })
}

/// Returns files below a directory that are visible and older than the cutoff.
#[pyfunction]
pub(crate) fn old_files(
    py: Python<'_>,
    table: &Table,
    names: &str,
    directory: &str,
    cutoff: i64,
) -> PyResult<Vec<Sized>> {
    detached(py, || {
        let visible = Visible::parse(names)?;
        vacuum::old_files(table.0.source(), &visible, directory, cutoff).map(sized)
    })
}

/// Returns directories that are visible and older than the cutoff, innermost first.
#[pyfunction]
pub(crate) fn old_directories(
    py: Python<'_>,
    table: &Table,
    names: &str,
    cutoff: i64,
) -> PyResult<Vec<String>> {
    detached(py, || {
        vacuum::old_directories(table.0.source(), &Visible::parse(names)?, cutoff)
    })
}

/// Returns the files of the table that file actions name: data files and deletion vectors.
#[pyfunction]
pub(crate) fn named_files(
    py: Python<'_>,
    table: &Table,
    files: &Bound<'_, PyAny>,
) -> PyResult<Vec<String>> {
    let rows = stream(files)?;
    detached(py, || {
        let mut paths = HashSet::new();
        for batch in rows {
            vacuum::named_by(table.0.source(), &batch.map_err(broken)?, &mut paths)?;
        }
        Ok(paths.into_iter().collect())
    })
}

/// Returns the paths that removed files name, since a timestamp or at any time.
#[pyfunction]
#[pyo3(signature = (table, snapshot, since))]
pub(crate) fn removed_files(
    py: Python<'_>,
    table: &Table,
    snapshot: &Snapshot,
    since: Option<i64>,
) -> PyResult<Vec<String>> {
    detached(py, || {
        let (source, state) = (table.0.source(), snapshot.state());
        let paths = match since {
            Some(since) => vacuum::removed_since(source, state, since)?,
            None => {
                let mut paths = HashSet::new();
                for rows in state.tombstones(source)?.batches {
                    vacuum::named_by(source, &rows, &mut paths)?;
                }
                paths
            }
        };
        Ok(paths.into_iter().collect())
    })
}

/// Deletes files, by storage paths.
#[pyfunction]
pub(crate) fn delete_files(py: Python<'_>, table: &Table, paths: Vec<String>) -> PyResult<()> {
    detached(py, || vacuum::delete_files(table.0.source(), &paths))
}

/// Returns the last commit whose removed files a full vacuum deletes, for `finish_vacuum`.
#[pyfunction]
pub(crate) fn covered_by_vacuum(
    py: Python<'_>,
    table: &Table,
    snapshot: &Snapshot,
    cutoff: i64,
) -> PyResult<Option<u64>> {
    detached(py, || {
        vacuum::covered(table.0.source(), snapshot.state(), cutoff)
    })
}

/// Records how far a full vacuum went, and deletes empty directories; returns their number.
#[pyfunction]
#[pyo3(signature = (table, covered, directories))]
pub(crate) fn finish_vacuum(
    py: Python<'_>,
    table: &Table,
    covered: Option<u64>,
    directories: Vec<String>,
) -> PyResult<usize> {
    detached(py, || {
        vacuum::finish(table.0.source(), covered, &directories)
    })
}

/// Returns the findings for the log, as JSON; the files in it; the timestamp since which others are
/// orphans.
#[pyfunction]
pub(crate) fn verify_log(py: Python<'_>, table: &Table) -> PyResult<(String, Vec<String>, i64)> {
    detached(py, || {
        let (verification, named) = table.0.verify_log()?;
        let named = named.into_iter().collect();
        Ok((to_json(&verification), named, orphans_before()))
    })
}

/// Returns the findings for some live files, as JSON.
#[pyfunction]
pub(crate) fn verify_files(
    py: Python<'_>,
    table: &Table,
    version: u64,
    files: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let rows = stream(files)?;
    detached(py, || {
        let rows = rows.map(|batch| batch.map_err(broken));
        let part = verify::verify_files(table.0.source(), version, rows)?;
        Ok(to_json(&part))
    })
}

/// Returns the findings for the rows of a split, as JSON.
#[pyfunction]
pub(crate) fn verify_split(
    py: Python<'_>,
    table: &Table,
    version: u64,
    split: &Split,
) -> PyResult<String> {
    detached(py, || {
        let part = verify::verify_split(table.0.source(), version, split.core())?;
        Ok(to_json(&part))
    })
}

/// Returns the findings for orphaned files, as JSON.
#[pyfunction]
pub(crate) fn orphan_findings(py: Python<'_>, paths: Vec<String>) -> PyResult<String> {
    detached(py, || Ok(to_json(&orphans(paths))))
}

fn broken(cause: arrow_schema::ArrowError) -> Error {
    Error::invalid("rows.source", "the files could not be read to their end").because(cause)
}
