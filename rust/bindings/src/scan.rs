//! `Scan` and `Split`: rows of a snapshot.

use deltareplay_core::scan;
use deltareplay_core::snapshot::plain_value::PlainValue;
use pyo3::prelude::*;

use crate::arguments;
use crate::batches::{ArrowSchema, ArrowTable, BatchIterator};
use crate::gate::detached;
use crate::table::Table;

/// A file that was skipped: path, code, message.
type Skipped = (String, &'static str, String);

fn skipped_files(skipped: Vec<scan::SkippedFile>) -> Vec<Skipped> {
    skipped
        .into_iter()
        .map(|file| (file.path, file.code, file.message))
        .collect()
}

/// A scan of a snapshot.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Scan(pub(crate) scan::Scan);

#[pymethods]
impl Scan {
    /// Returns the schema of the rows.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    /// Returns the rows, read on demand.
    fn rows(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        detached(py, || self.0.rows()).map(BatchIterator::new)
    }

    /// Returns the files to read.
    #[pyo3(signature = (columns=None))]
    fn files(&self, py: Python<'_>, columns: Option<&Bound<'_, PyAny>>) -> PyResult<ArrowTable> {
        let columns = arguments::optional_strings("columns", columns)?;
        detached(py, || self.0.files(columns.as_deref())).map(ArrowTable::from)
    }

    /// Returns the number of rows.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.0.count())
    }

    /// Returns files and bytes: all, after pruning by partition values, after skipping by statistics.
    fn explain(&self, py: Python<'_>) -> PyResult<[(u64, u64); 3]> {
        let explained = detached(py, || self.0.explain())?;
        Ok([explained.all, explained.partitions, explained.statistics]
            .map(|remaining| (remaining.files, remaining.bytes)))
    }

    /// Returns splits of about this many bytes.
    fn splits(&self, py: Python<'_>, target_size: i128) -> PyResult<Vec<Split>> {
        let size = arguments::unsigned(py, "target_size", target_size)?;
        let splits = detached(py, || self.0.splits(size))?;
        Ok(splits.into_iter().map(Split).collect())
    }

    /// Returns the files that were skipped so far.
    fn skipped(&self) -> Vec<Skipped> {
        skipped_files(self.0.skipped())
    }
}

/// A part of a scan.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Split(pub(crate) scan::Split);

#[pymethods]
impl Split {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        detached(py, || scan::Split::from_json(json)).map(Self)
    }

    /// Returns the split as JSON, from which it can be created again.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_json())
    }

    /// Returns the schema of the rows.
    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        detached(py, || self.0.schema()).map(ArrowSchema)
    }

    /// Returns the paths of the files, as in the log.
    fn paths(&self) -> Vec<String> {
        self.0.paths().map(str::to_owned).collect()
    }

    /// Returns the approximate size of its data files in bytes.
    #[getter]
    fn size_in_bytes(&self) -> u64 {
        self.0.size_in_bytes()
    }

    /// Returns the rows, read on demand from the files of this table.
    fn rows(&self, py: Python<'_>, table: &Table) -> PyResult<BatchIterator> {
        detached(py, || self.0.rows(table.0.source())).map(BatchIterator::new)
    }

    /// Returns the files that were skipped so far.
    fn skipped(&self) -> Vec<Skipped> {
        skipped_files(self.0.skipped())
    }
}
