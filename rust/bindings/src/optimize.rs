//! OPTIMIZE: as one call, and as tasks for other processes.

use std::collections::BTreeSet;

use deltareplay_core::error::{Error, Result};
use deltareplay_core::maintenance::optimize as core;
use deltareplay_core::maintenance::to_json;
use deltareplay_core::scan::Split;
use deltareplay_core::snapshot::plain_value::PlainValue;
use deltareplay_core::write::actions::parse_actions;
use deltareplay_core::write::{AddFile, WrittenFiles};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::filter;
use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::rows::{Definition, Options, Outcome, outcome};
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Returns the target file size of a table in bytes, or the default.
#[pyfunction]
pub(crate) fn target_file_size(snapshot: &Snapshot) -> u64 {
    core::target_file_size(snapshot.state().metadata())
}

/// Compacts files or orders their rows, and commits.
#[pyfunction]
pub(crate) fn optimize(
    py: Python<'_>,
    table: &Table,
    condition: Option<&Bound<'_, PyAny>>,
    z_order_by: Vec<String>,
    purge: bool,
    full: bool,
    options: Options,
) -> PyResult<Outcome> {
    let condition = filter::predicate(condition)?;
    let work = || {
        let request = core::Request {
            condition,
            z_order_by,
            purge,
            full,
            target_file_size: options.target()?,
            ..core::Request::default()
        };
        table.0.optimize(&request, options.core()?)
    };
    detached(py, work).map(outcome)
}

/// The plan for optimizing a version, in tasks.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct OptimizePlan {
    table: Table,
    plan: core::Plan,
}

/// An order of rows as JSON, the pieces of its bin, the number of its files.
type PyOrder = (String, Vec<String>, usize);

#[pymethods]
impl OptimizePlan {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "the options of one call")]
    fn new(
        py: Python<'_>,
        table: &Table,
        snapshot: &Snapshot,
        condition: Option<&Bound<'_, PyAny>>,
        z_order_by: Vec<String>,
        purge: bool,
        full: bool,
        target_file_size: Option<i128>,
    ) -> PyResult<Self> {
        let condition = filter::predicate(condition)?;
        let table = Table(table.0.clone());
        let plan = detached(py, || {
            let request = core::Request {
                condition,
                z_order_by,
                purge,
                full,
                target_file_size: crate::rows::target(target_file_size)?,
                ..core::Request::default()
            };
            core::Plan::new(table.0.source(), snapshot.state(), &request)
        })?;
        Ok(Self { table, plan })
    }

    /// Returns the plan of the auto compaction after a write of these files, a JSON array of `add` bodies; None
    /// if there is nothing to compact. The caller checks whether it is enabled.
    #[staticmethod]
    fn after_write(
        py: Python<'_>,
        table: &Table,
        snapshot: &Snapshot,
        added: &str,
    ) -> PyResult<Option<Self>> {
        let table = Table(table.0.clone());
        let plan = detached(py, || {
            let added: Vec<AddFile> = parse_actions("add", added)?;
            let request = core::compaction(table.0.source(), snapshot.state(), &added)?;
            let plan = request
                .map(|request| core::Plan::new(table.0.source(), snapshot.state(), &request));
            plan.transpose()
        })?;
        Ok(plan.map(|plan| Self { table, plan }))
    }

    /// Returns `true` if rows are ordered.
    #[getter]
    fn is_ordered(&self) -> bool {
        self.plan.order.is_some()
    }

    /// Returns the target file size in bytes.
    #[getter]
    fn target_file_size(&self) -> u64 {
        self.plan.target
    }

    /// Returns the number of files to rewrite, their bytes, and the number of their partitions.
    fn totals(&self) -> (usize, u64, usize) {
        let bins = &self.plan.bins;
        let first = bins.iter().filter_map(|bin| bin.files.first());
        let partitions: BTreeSet<_> = first.map(|file| &file.partition_values).collect();
        (
            bins.iter().map(|bin| bin.files.len()).sum(),
            bins.iter().map(core::Bin::bytes).sum(),
            partitions.len(),
        )
    }

    /// Returns the bins as JSON, for `pack_files`.
    fn bins(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || {
            let splits = self.plan.bins.iter().filter_map(|bin| self.plan.split(bin));
            splits.map(|split| split.to_json()).collect()
        })
    }

    /// Returns the order of each bin, for `spill_piece` and `write_ordered`; reads a sample of the rows.
    fn orders(&self, py: Python<'_>, piece_size: u64) -> PyResult<Vec<PyOrder>> {
        detached(py, || {
            let mut orders = Vec::with_capacity(self.plan.bins.len());
            for bin in &self.plan.bins {
                let order = core::sample_order(self.table.0.source(), &self.plan, bin)?;
                let Some(order) = order else {
                    continue;
                };
                let pieces = self.plan.splits(bin, piece_size);
                let pieces = pieces.iter().map(Split::to_json).collect::<Result<_>>()?;
                orders.push((to_json(&order), pieces, order.files()));
            }
            Ok(orders)
        })
    }

    /// Commits the files that tasks wrote: the index of a bin, and `add` bodies as a JSON array.
    fn commit(
        &self,
        py: Python<'_>,
        added: Vec<(usize, String)>,
        options: Options,
    ) -> PyResult<Outcome> {
        let work = || {
            let mut adds: Vec<AddFile> = Vec::new();
            for (bin, json) in added {
                let tags = self.plan.bins.get(bin).and_then(|bin| bin.tags.clone());
                for mut file in parse_actions::<AddFile>("add", &json)? {
                    file.tags.clone_from(&tags);
                    adds.push(file);
                }
            }
            let written = WrittenFiles::adopted(self.table.0.source(), adds)?;
            self.table
                .0
                .commit_optimized(&self.plan, written, options.core()?)
        };
        detached(py, work).map(outcome)
    }
}

fn parsed<T: for<'de> Deserialize<'de>>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|cause| {
        let message = "the task was planned by another release of deltareplay: plan the work again";
        Error::invalid("optimize.task", message).because(cause)
    })
}

/// Returns `add` bodies as a JSON array, and keeps the files: their commit follows.
fn keep_files(mut written: WrittenFiles) -> String {
    let json = to_json(&std::mem::take(&mut written.adds));
    written.keep();
    json
}

fn rewrite_settings(definition: Definition) -> core::RewriteSettings {
    core::RewriteSettings {
        metadata: definition.0.0,
        protocol: definition.1.0,
        durable: true,
    }
}

/// Writes the rows of a bin to one uncommitted file.
#[pyfunction]
pub(crate) fn pack_files(
    py: Python<'_>,
    table: &Table,
    definition: Definition,
    packed: &str,
    threads: usize,
) -> PyResult<String> {
    let settings = rewrite_settings(definition);
    detached(py, || {
        let split = Split::from_json(packed)?;
        core::pack(table.0.source(), &settings, &split, threads).map(keep_files)
    })
}

/// Returns `true` if the table's properties enable auto compaction.
#[pyfunction]
pub(crate) fn is_auto_compacted(metadata: PyMetadata) -> bool {
    core::is_auto_compacted(&metadata.0)
}

/// Writes the rows of a piece to a temporary file, grouped by part of an order.
#[pyfunction]
pub(crate) fn spill_piece(
    py: Python<'_>,
    table: &Table,
    order: &str,
    piece: &str,
    path: String,
) -> PyResult<String> {
    detached(py, || {
        let (source, split) = (table.0.source(), Split::from_json(piece)?);
        let order = parsed(order)?;
        let spilled = core::spill_piece(source, &order, &split, &*source.storage, path)?;
        Ok(to_json(&spilled))
    })
}

/// Writes one file of an order from temporary files.
#[pyfunction]
pub(crate) fn write_ordered(
    py: Python<'_>,
    table: &Table,
    definition: Definition,
    order: &str,
    file: usize,
    spilled: Vec<String>,
) -> PyResult<String> {
    let settings = rewrite_settings(definition);
    detached(py, || {
        let source = table.0.source();
        let spilled = spilled.iter().map(|rows| parsed(rows));
        let spilled = spilled.collect::<Result<Vec<core::SpilledFile>>>()?;
        let order = parsed(order)?;
        core::write_ordered(source, &settings, &order, file, &spilled, &*source.storage)
            .map(keep_files)
    })
}

/// Deletes a directory of temporary files.
#[pyfunction]
pub(crate) fn discard_spilled(py: Python<'_>, table: &Table, directory: &str) -> PyResult<()> {
    detached(py, || {
        let storage = &table.0.source().storage;
        let files = storage.list(directory, "")?;
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        storage.delete(&paths).into_iter().collect::<Result<()>>()?;
        storage.delete_empty(directory).map(drop)
    })
}
