//! `CheckpointPlan`: a checkpoint whose sidecars other processes write.

use deltareplay_core::derived::checkpoint::WrittenCheckpoint;
use deltareplay_core::derived::checkpoint::distributed::{Planned, WrittenSidecar};
use deltareplay_core::spec::actions::Sidecar;
use pyo3::prelude::*;

use crate::convert;
use crate::gate::detached;
use crate::pieces::{ReplayPiece, ReplayTail};
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Path, actions, files, bytes, sidecars.
pub(crate) type PyCheckpoint = (String, u64, u64, u64, u64);

/// Path, bytes, modification time in milliseconds, files, tombstones.
pub(crate) type PySidecar = (String, i64, i64, u64, u64);

/// What is to be done for a checkpoint of a snapshot.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct CheckpointPlan(Planned);

#[pymethods]
impl CheckpointPlan {
    #[new]
    #[pyo3(signature = (table, snapshot, target_size))]
    fn new(
        py: Python<'_>,
        table: &Table,
        snapshot: &Snapshot,
        target_size: i128,
    ) -> PyResult<Self> {
        let size = convert::unsigned(py, "piece_size", target_size)?;
        detached(py, || table.0.plan_checkpoint(snapshot.state(), size)).map(Self)
    }

    /// The checkpoint that is there already.
    fn there(&self) -> Option<PyCheckpoint> {
        match &self.0 {
            Planned::There(written) => Some(checkpoint_out(written.clone())),
            Planned::ToDo(_) => None,
        }
    }

    /// What others are to write, what they read it with, and the codec.
    fn work(&self) -> Option<(Vec<ReplayPiece>, ReplayTail, Option<String>)> {
        match &self.0 {
            Planned::There(_) => None,
            Planned::ToDo(plan) => Some((
                plan.pieces.iter().cloned().map(ReplayPiece).collect(),
                ReplayTail(plan.tail.clone()),
                plan.codec.clone(),
            )),
        }
    }

    /// Writes what is left, with the sidecars that others have written.
    fn finish(
        &self,
        py: Python<'_>,
        table: &Table,
        written: Vec<PySidecar>,
    ) -> PyResult<PyCheckpoint> {
        let written = written.into_iter().map(sidecar_in).collect();
        let done = detached(py, || match &self.0 {
            Planned::There(written) => Ok(written.clone()),
            Planned::ToDo(plan) => table.0.finish_checkpoint(plan, written),
        })?;
        Ok(checkpoint_out(done))
    }
}

/// A checkpoint for Python.
pub(crate) fn checkpoint_out(written: WrittenCheckpoint) -> PyCheckpoint {
    (
        written.path,
        written.num_actions,
        written.num_files,
        written.size_in_bytes,
        written.num_sidecars,
    )
}

/// A sidecar for Python.
pub(crate) fn sidecar_out(written: WrittenSidecar) -> PySidecar {
    (
        written.sidecar.path,
        written.sidecar.size_in_bytes,
        written.sidecar.modification_time,
        written.num_files,
        written.num_removes,
    )
}

fn sidecar_in(written: PySidecar) -> WrittenSidecar {
    let (path, size_in_bytes, modification_time, num_files, num_removes) = written;
    WrittenSidecar {
        sidecar: Sidecar {
            path,
            size_in_bytes,
            modification_time,
        },
        num_files,
        num_removes,
    }
}
