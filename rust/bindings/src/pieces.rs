//! `ReplayPiece` and `ReplayTail`: the live files of a snapshot, replayed by other processes.

use deltareplay_core::derived::checkpoint::distributed::write_sidecars;
use deltareplay_core::snapshot::plain_value::PlainValue;
use deltareplay_core::table;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batches::{ArrowSchema, BatchIterator};
use crate::gate::detached;
use crate::table::Table;
use crate::written::{PySidecar, sidecar_out};

/// A part of a snapshot's log.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ReplayPiece(pub(crate) table::ReplayPiece);

#[pymethods]
impl ReplayPiece {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        detached(py, || table::ReplayPiece::from_json(json)).map(Self)
    }

    /// Returns the piece as JSON, from which it can be created again.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_json())
    }

    /// Returns the log files that it reads.
    fn paths(&self) -> Vec<String> {
        self.0.paths().into_iter().map(str::to_owned).collect()
    }

    /// Returns their approximate size in bytes.
    #[getter]
    fn size_in_bytes(&self) -> u64 {
        self.0.size_in_bytes()
    }

    /// Returns its live files, read on demand from the log of this table.
    #[pyo3(signature = (table, tail, threads=None))]
    fn rows(
        &self,
        py: Python<'_>,
        table: &Table,
        tail: &ReplayTail,
        threads: Option<usize>,
    ) -> PyResult<BatchIterator> {
        let rows = detached(py, || self.0.rows(table.0.source(), &tail.0, threads));
        rows.map(BatchIterator::new)
    }

    /// Writes its rows as sidecars of a planned checkpoint.
    #[pyo3(signature = (table, tail, codec=None, threads=None))]
    fn write_sidecars(
        &self,
        py: Python<'_>,
        table: &Table,
        tail: &ReplayTail,
        codec: Option<String>,
        threads: Option<usize>,
    ) -> PyResult<Vec<PySidecar>> {
        let written = detached(py, || {
            write_sidecars(
                table.0.source(),
                &self.0,
                &tail.0,
                codec.as_deref(),
                threads,
            )
        })?;
        Ok(written.into_iter().map(sidecar_out).collect())
    }
}

/// The values needed to read the pieces of one plan.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ReplayTail(pub(crate) table::ReplayTail);

#[pymethods]
impl ReplayTail {
    #[new]
    fn new(py: Python<'_>, json: &str, hidden: &[u8]) -> PyResult<Self> {
        detached(py, || table::ReplayTail::from_parts(json, hidden)).map(Self)
    }

    /// Returns everything except the keys as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_json())
    }

    /// Returns the keys of the files that the tail adds or removes, 16 bytes each.
    fn hidden_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || Ok(self.0.hidden_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the number of keys.
    #[getter]
    fn num_hidden(&self) -> usize {
        self.0.num_hidden()
    }

    /// Returns the version of the snapshot.
    #[getter]
    fn version(&self) -> u64 {
        self.0.version()
    }

    /// Returns the schema of a piece's rows.
    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        detached(py, || self.0.schema()).map(ArrowSchema)
    }
}
