//! `MarkedRows`: rows of data files that Spark has selected.

use deltareplay_core::error::Result;
use deltareplay_core::scan::marked_rows;
use deltareplay_core::statements::write_vectors;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batches::{BatchIterator, stream};
use crate::deletion_vector::{Descriptor, descriptor_in, descriptor_out};
use crate::gate::detached;
use crate::transaction::Transaction;

/// Sets of rows by the index of the file.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct MarkedRows(marked_rows::MarkedRows);

#[pymethods]
impl MarkedRows {
    /// Builds the sets from a stream of the columns `file`, `word` and `bits`.
    #[new]
    fn new(py: Python<'_>, words: &Bound<'_, PyAny>) -> PyResult<Self> {
        let words = stream(words)?;
        detached(py, || marked_rows::MarkedRows::from_words(words)).map(Self)
    }

    /// Returns the number of rows of each file, by its index.
    fn counts(&self) -> Vec<(i32, u64)> {
        let files = self.0.files();
        files.map(|(file, rows)| (file, rows.len())).collect()
    }

    /// Returns the rows as bitmaps, in chunks of `2^chunk_bits`, in the format of `Table.bitmaps`.
    fn bitmaps(&self, chunk_bits: u32) -> BatchIterator {
        BatchIterator::new(self.0.bitmaps(chunk_bits))
    }

    /// Writes the deletion vectors of these files: their marked rows and their old vectors; returns the
    /// descriptors.
    fn write_vectors<'py>(
        &self,
        py: Python<'py>,
        transaction: &Transaction,
        files: Vec<(i32, Option<Descriptor>)>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let written = transaction.with(py, |staged| {
            let files = files
                .into_iter()
                .map(|(file, old)| Ok((file, old.map(descriptor_in).transpose()?)));
            let files = files.collect::<Result<Vec<_>>>()?;
            let (vectors, written) = write_vectors(transaction.source(), &self.0, &files, true)?;
            staged.record_written(written);
            Ok(vectors)
        })?;
        written
            .iter()
            .map(|vector| descriptor_out(py, vector))
            .collect()
    }
}
