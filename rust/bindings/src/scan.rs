//! `Scan` and `Split`: rows of a snapshot.

use deltareplay_core::scan::data_file::Extras;
use deltareplay_core::scan::{self, ScanOptions};
use deltareplay_core::snapshot::Snapshot;
use deltareplay_core::table::Table;
use pyo3::prelude::*;

use crate::batches::{ArrowSchema, ArrowTable, BatchIterator};
use crate::convert;
use crate::gate::detached;
use crate::snapshot::arrow_table;

/// A file that was passed over: path, code, message.
type Skipped = (String, &'static str, String);

fn listed(skipped: Vec<scan::SkippedFile>) -> Vec<Skipped> {
    skipped
        .into_iter()
        .map(|file| (file.path, file.code, file.message))
        .collect()
}

/// What of a snapshot is to be read.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Scan(scan::Scan);

impl Scan {
    #[allow(clippy::too_many_arguments)] // they are the keywords of `Snapshot.scan`
    pub(crate) fn new(
        py: Python<'_>,
        table: &Table,
        snapshot: &Snapshot,
        columns: Option<&Bound<'_, PyAny>>,
        extras: Extras,
        skip_errors: bool,
        look_ahead: Option<usize>,
    ) -> PyResult<Self> {
        let options = ScanOptions {
            columns: convert::texts("columns", columns)?,
            extras,
            skip_errors,
            look_ahead,
        };
        detached(py, || table.scan(snapshot, options)).map(Self)
    }
}

#[pymethods]
impl Scan {
    /// The schema of the rows.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    /// The rows, read as they are pulled.
    fn rows(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        let rows = detached(py, || self.0.rows())?;
        Ok(BatchIterator::new(rows.schema(), Box::new(rows)))
    }

    /// The files that are left to read.
    #[pyo3(signature = (columns=None))]
    fn files(&self, py: Python<'_>, columns: Option<&Bound<'_, PyAny>>) -> PyResult<ArrowTable> {
        let columns = convert::texts("columns", columns)?;
        detached(py, || self.0.files(columns.as_deref())).map(arrow_table)
    }

    /// How many rows there are.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.0.count())
    }

    /// Pieces of about so many bytes.
    fn splits(&self, py: Python<'_>, target_size: i128) -> PyResult<Vec<Split>> {
        let size = convert::unsigned(py, "target_size", target_size)?;
        let splits = detached(py, || self.0.splits(size))?;
        Ok(splits.into_iter().map(Split).collect())
    }

    /// The files that were passed over so far.
    fn skipped(&self) -> Vec<Skipped> {
        listed(self.0.skipped())
    }
}

/// A piece of a scan.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Split(scan::Split);

#[pymethods]
impl Split {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        detached(py, || scan::Split::from_json(json)).map(Self)
    }

    /// The split as JSON, which makes it anew.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_json())
    }

    /// The schema of the rows.
    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        detached(py, || self.0.schema()).map(ArrowSchema)
    }

    /// The paths of the files as the log has them.
    fn paths(&self) -> Vec<String> {
        self.0.paths().map(str::to_owned).collect()
    }

    /// About how many bytes of data files it covers.
    #[getter]
    fn size_in_bytes(&self) -> u64 {
        self.0.size_in_bytes()
    }

    /// The rows, read as they are pulled from the files of this table.
    fn rows(&self, py: Python<'_>, table: &crate::table::Table) -> PyResult<BatchIterator> {
        let rows = detached(py, || self.0.rows(table.0.source()))?;
        Ok(BatchIterator::new(rows.schema(), Box::new(rows)))
    }

    /// The files that were passed over so far.
    fn skipped(&self) -> Vec<Skipped> {
        listed(self.0.skipped())
    }
}
