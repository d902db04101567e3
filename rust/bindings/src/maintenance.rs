//! The functions for maintenance of a table. Reports are returned as JSON.

use deltareplay_core::maintenance::restore::is_kept;
use deltareplay_core::maintenance::to_json;
use deltareplay_core::maintenance::vacuum::VacuumOptions;
use deltareplay_core::maintenance::verify::verify_split as findings_of_split;
use deltareplay_core::table::At;
use pyo3::prelude::*;

use crate::arguments;
use crate::exceptions::invalid;
use crate::gate::detached;
use crate::scan::Split;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Deletes expired log files, or lists them.
#[pyfunction]
pub(crate) fn cleanup_log(py: Python<'_>, table: &Table, dry_run: bool) -> PyResult<String> {
    detached(py, || Ok(to_json(&table.0.cleanup_log(dry_run)?)))
}

/// Deletes expired data files, or lists them. The retention is in milliseconds.
#[pyfunction]
pub(crate) fn vacuum(
    py: Python<'_>,
    table: &Table,
    retention: Option<i64>,
    lite: bool,
    dry_run: bool,
    force: bool,
    log: Option<bool>,
) -> PyResult<String> {
    let options = VacuumOptions {
        retention,
        lite,
        dry_run,
        force,
    };
    // as in delta-spark, the default depends on the store
    let log = log.unwrap_or(!table.0.uri().starts_with("s3"));
    detached(py, || Ok(to_json(&table.0.vacuum(options, log)?)))
}

/// Returns the time before which removed files are garbage, by the table's own retention period:
/// milliseconds since the epoch.
#[pyfunction]
pub(crate) fn vacuum_cutoff(py: Python<'_>, table: &Table, snapshot: &Snapshot) -> PyResult<i64> {
    detached(py, || table.0.vacuum_cutoff(snapshot.state()))
}

/// Returns `true` if a restore keeps the newest value of a property.
#[pyfunction]
pub(crate) fn is_kept_by_restore(name: &str) -> bool {
    is_kept(name)
}

/// Commits a version with the content of an older one.
#[pyfunction]
pub(crate) fn restore(
    py: Python<'_>,
    table: &Table,
    version: Option<i128>,
    timestamp: Option<&Bound<'_, PyAny>>,
    ignore_missing: bool,
) -> PyResult<String> {
    let at = arguments::at(py, version, timestamp)?;
    if at == At::Latest {
        return Err(invalid(
            py,
            "argument.range",
            "restore needs a version or a timestamp: pass the one to go back to",
        ));
    }
    detached(py, || Ok(to_json(&table.0.restore(at, ignore_missing)?)))
}

/// Returns how much a checkpoint or a compacted file would gain.
#[pyfunction]
pub(crate) fn optimize_log(py: Python<'_>, table: &Table) -> PyResult<String> {
    detached(py, || Ok(to_json(&table.0.optimize_log()?)))
}

/// Returns the findings for the log, and for the data files if they are checked.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    table: &Table,
    data_files: bool,
    rows: bool,
) -> PyResult<String> {
    detached(py, || Ok(to_json(&table.0.verify(data_files, rows)?)))
}

/// Returns the findings for the rows of a split.
#[pyfunction]
pub(crate) fn verify_split(
    py: Python<'_>,
    table: &Table,
    version: u64,
    split: &Split,
) -> PyResult<String> {
    detached(py, || {
        let findings = findings_of_split(table.0.source(), version, &split.0)?;
        Ok(to_json(&findings))
    })
}
