//! `deltareplay.Protocol` as an argument and as a result, and functions of it.

use deltareplay_core::spec::Protocol;
use deltareplay_core::spec::protocol::Obstacle;
use pyo3::prelude::*;

use crate::arguments::field;
use crate::gate::detached;
use crate::metadata::PyMetadata;

/// Feature, reason, remedy.
type ObstacleFields = (String, String, String);

/// A `Protocol` of Python.
pub(crate) struct PyProtocol(pub(crate) Protocol);

impl<'a, 'py> FromPyObject<'a, 'py> for PyProtocol {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let version = "an integer of 32 bits";
        let features = "a list of names or None";
        Ok(Self(Protocol {
            min_reader_version: field(&object, "min_reader_version", version)?,
            min_writer_version: field(&object, "min_writer_version", version)?,
            reader_features: field(&object, "reader_features", features)?,
            writer_features: field(&object, "writer_features", features)?,
        }))
    }
}

impl<'py> IntoPyObject<'py> for PyProtocol {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = py
            .import("deltareplay._protocol.protocol")?
            .getattr("Protocol")?;
        class.call1((
            self.0.min_reader_version,
            self.0.min_writer_version,
            self.0.reader_features,
            self.0.writer_features,
        ))
    }
}

/// Returns the features that prevent this build from reading tables with this protocol: (feature, reason,
/// remedy) each.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn why_not_readable(protocol: PyProtocol) -> Vec<ObstacleFields> {
    obstacle_fields(protocol.0.why_not_readable())
}

/// Returns the features that prevent this build from writing to tables with this protocol: (feature, reason,
/// remedy) each.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn why_not_writable(protocol: PyProtocol) -> Vec<ObstacleFields> {
    obstacle_fields(protocol.0.why_not_writable())
}

fn obstacle_fields(obstacles: Vec<Obstacle>) -> Vec<ObstacleFields> {
    obstacles
        .into_iter()
        .map(|obstacle| (obstacle.feature, obstacle.reason, obstacle.remedy))
        .collect()
}

/// Returns the protocol of a new table with this schema and these properties.
#[pyfunction]
#[pyo3(signature = (metadata, /))]
pub(crate) fn protocol_for_new_table(py: Python<'_>, metadata: PyMetadata) -> PyResult<PyProtocol> {
    detached(py, || Protocol::for_new_table(&metadata.0)).map(PyProtocol)
}

/// Returns the lowest versions by the rules from before table features, and the features that apply.
#[pyfunction]
#[pyo3(signature = (metadata, /))]
pub(crate) fn protocol_required_minimum(
    py: Python<'_>,
    metadata: PyMetadata,
) -> PyResult<(PyProtocol, Vec<&'static str>)> {
    let (minimum, used) = detached(py, || Protocol::required_minimum(&metadata.0))?;
    Ok((PyProtocol(minimum), used))
}

/// Returns the features that metadata requires, those that the protocol lists for writers, and all that they
/// depend on.
#[pyfunction]
#[pyo3(signature = (metadata, protocol, /))]
pub(crate) fn automatically_enabled_features(
    py: Python<'_>,
    metadata: PyMetadata,
    protocol: Option<PyProtocol>,
) -> PyResult<Vec<String>> {
    let listed = protocol.as_ref().map(|protocol| &protocol.0);
    detached(py, || {
        Protocol::automatically_enabled_features(&metadata.0, listed)
    })
}

/// Returns the protocol with one more feature.
#[pyfunction]
#[pyo3(signature = (protocol, name, /))]
pub(crate) fn protocol_with_feature(
    py: Python<'_>,
    protocol: PyProtocol,
    name: &str,
) -> PyResult<PyProtocol> {
    detached(py, || protocol.0.with_feature(name)).map(PyProtocol)
}

/// Returns the protocol without one feature.
#[pyfunction]
#[pyo3(signature = (protocol, name, /))]
pub(crate) fn protocol_without_feature(
    py: Python<'_>,
    protocol: PyProtocol,
    name: &str,
) -> PyResult<PyProtocol> {
    detached(py, || protocol.0.without_feature(name)).map(PyProtocol)
}

/// Returns the weakest protocol with the features of both.
#[pyfunction]
#[pyo3(signature = (protocol, other, /))]
pub(crate) fn protocol_merge(protocol: PyProtocol, other: PyProtocol) -> PyProtocol {
    PyProtocol(protocol.0.merge(&other.0))
}

/// Returns the protocol that a table needs once it has this schema and these properties.
#[pyfunction]
#[pyo3(signature = (protocol, metadata, /))]
pub(crate) fn protocol_upgrade_for(
    py: Python<'_>,
    protocol: PyProtocol,
    metadata: PyMetadata,
) -> PyResult<PyProtocol> {
    detached(py, || protocol.0.upgrade_for(&metadata.0)).map(PyProtocol)
}

/// Returns `true` if every feature of the old protocol is in the new one.
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(crate) fn protocol_can_upgrade_to(old: PyProtocol, new: PyProtocol) -> bool {
    old.0.can_upgrade_to(&new.0)
}

/// Returns the features of a protocol, implied and listed.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn protocol_features(protocol: PyProtocol) -> Vec<String> {
    protocol.0.features()
}
