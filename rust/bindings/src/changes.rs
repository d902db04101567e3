//! `Changes`: what happened to rows between two versions.

use deltareplay_core::changes;
use pyo3::prelude::*;

use crate::batches::{ArrowSchema, BatchIterator};
use crate::gate::detached;

/// The changes of a range of versions.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Changes(pub(crate) changes::Changes);

#[pymethods]
impl Changes {
    /// The schema of the rows.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    /// First and last version, or None for an empty range.
    #[getter]
    fn versions(&self) -> Option<(u64, u64)> {
        self.0.versions()
    }

    /// The rows, read as they are pulled.
    fn rows(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        let rows = detached(py, || self.0.rows())?;
        Ok(BatchIterator::new(rows.schema(), Box::new(rows)))
    }
}
