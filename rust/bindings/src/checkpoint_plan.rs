//! `CheckpointPlan`: a checkpoint whose sidecars other processes write.

use deltareplay_core::derived::checkpoint::distributed::Planned;
use pyo3::prelude::*;

use crate::arguments;
use crate::gate::detached;
use crate::pieces::{ReplayPiece, ReplayTail};
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::written::{PyCheckpoint, PySidecar, checkpoint_out, sidecar_in};

/// The plan for a checkpoint of a snapshot.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct CheckpointPlan(Planned);

#[pymethods]
impl CheckpointPlan {
    #[new]
    fn new(py: Python<'_>, table: &Table, snapshot: &Snapshot, piece_size: i128) -> PyResult<Self> {
        let size = arguments::unsigned(py, "piece_size", piece_size)?;
        detached(py, || table.0.plan_checkpoint(snapshot.state(), size)).map(Self)
    }

    /// Returns the pieces that other processes write, the tail that they need, and the codec; None if the
    /// checkpoint exists.
    fn work(&self) -> Option<(Vec<ReplayPiece>, ReplayTail, Option<String>)> {
        match &self.0 {
            Planned::Existing(_) => None,
            Planned::ToDo(plan) => Some((
                plan.pieces.iter().cloned().map(ReplayPiece).collect(),
                ReplayTail(plan.tail.clone()),
                plan.codec.clone(),
            )),
        }
    }

    /// Writes the rest of the checkpoint, with the sidecars of other processes; returns the existing
    /// checkpoint if there is one.
    fn finish(
        &self,
        py: Python<'_>,
        table: &Table,
        written: Vec<PySidecar>,
    ) -> PyResult<PyCheckpoint> {
        let written = written.into_iter().map(sidecar_in).collect();
        let checkpoint = detached(py, || match &self.0 {
            Planned::Existing(written) => Ok(written.clone()),
            Planned::ToDo(plan) => plan.finish(table.0.source(), written),
        })?;
        Ok(checkpoint_out(checkpoint))
    }
}
