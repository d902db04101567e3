//! `Cloning`: a planned clone of a table, copied here or elsewhere, and committed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use deltareplay_core::error::Result;
use deltareplay_core::maintenance::clone::{self as core, CloneOptions};
use deltareplay_core::storage::transfer::FileCopy;
use deltareplay_core::transaction::TransactionOptions;
use pyo3::prelude::*;

use crate::gate::detached;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::transaction::finished;

/// Source, source within the store, target, bytes.
type PyCopy = (String, Option<String>, String, Option<u64>);

/// A planned clone.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Cloning(Mutex<Option<core::Cloning>>);

impl Cloning {
    fn with<T>(&self, work: impl FnOnce(&core::Cloning) -> Result<T>) -> Result<T> {
        let planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(planned.as_ref().ok_or_else(finished)?)
    }
}

#[pymethods]
impl Cloning {
    #[new]
    fn new(
        py: Python<'_>,
        source: &Table,
        snapshot: &Snapshot,
        target: &Table,
        shallow: bool,
        replace: bool,
        properties: BTreeMap<String, String>,
    ) -> PyResult<Self> {
        let options = CloneOptions {
            shallow,
            replace,
            properties,
        };
        let planned = detached(py, || {
            core::Cloning::new(&source.0, snapshot.state(), &target.0, options)
        })?;
        Ok(Self(Mutex::new(Some(planned))))
    }

    /// Returns the files to copy before the commit.
    fn copies(&self, py: Python<'_>) -> PyResult<Vec<PyCopy>> {
        detached(py, || {
            self.with(|planned| {
                let copies = planned.copies().iter().cloned();
                Ok(copies
                    .map(|copy| (copy.from, copy.within_store, copy.to, copy.size))
                    .collect())
            })
        })
    }

    /// Copies these files; returns the number of bytes.
    fn copy(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.with(core::Cloning::copy))
    }

    /// Commits the clone, once its files are copied; returns the version.
    fn commit(&self, py: Python<'_>, durable: bool) -> PyResult<Option<u64>> {
        let options = TransactionOptions::durable(durable);
        detached(py, || {
            let mut planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            planned.take().ok_or_else(finished)?.commit(options)
        })
    }
}

/// Copies files of one table into another; returns the number of bytes.
#[pyfunction]
pub(crate) fn copy_files(
    py: Python<'_>,
    source: &Table,
    target: &Table,
    copies: Vec<PyCopy>,
) -> PyResult<u64> {
    let copies = copies
        .into_iter()
        .map(|(from, within_store, to, size)| FileCopy {
            from,
            within_store,
            to,
            size,
        })
        .collect();
    detached(py, || {
        core::copy_files(source.0.source(), target.0.source(), copies)
    })
}

/// Writes the symlink manifests; returns their number.
#[pyfunction]
pub(crate) fn generate_symlinks(py: Python<'_>, table: &Table) -> PyResult<usize> {
    detached(py, || table.0.generate_symlinks())
}
