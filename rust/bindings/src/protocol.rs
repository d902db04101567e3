//! `deltareplay.Protocol` as an argument and as a result, and functions of it.

use deltareplay_core::spec::Protocol;
use deltareplay_core::spec::protocol::Obstacle;
use pyo3::prelude::*;

use crate::convert::field;
use crate::gate::detached;
use crate::metadata::PyMetadata;

/// Feature, reason, remedy.
type ObstacleFields = (String, String, String);

/// The fields of a `Protocol` in Python, by their names there.
pub(crate) struct PyProtocol {
    min_reader_version: i32,
    min_writer_version: i32,
    reader_features: Option<Vec<String>>,
    writer_features: Option<Vec<String>>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for PyProtocol {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let version = "an integer of 32 bits";
        let features = "a list of names or None";
        Ok(Self {
            min_reader_version: field(&object, "min_reader_version", version)?,
            min_writer_version: field(&object, "min_writer_version", version)?,
            reader_features: field(&object, "reader_features", features)?,
            writer_features: field(&object, "writer_features", features)?,
        })
    }
}

impl From<PyProtocol> for Protocol {
    fn from(fields: PyProtocol) -> Self {
        Self {
            min_reader_version: fields.min_reader_version,
            min_writer_version: fields.min_writer_version,
            reader_features: fields.reader_features,
            writer_features: fields.writer_features,
        }
    }
}

impl From<Protocol> for PyProtocol {
    fn from(protocol: Protocol) -> Self {
        Self {
            min_reader_version: protocol.min_reader_version,
            min_writer_version: protocol.min_writer_version,
            reader_features: protocol.reader_features,
            writer_features: protocol.writer_features,
        }
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
            self.min_reader_version,
            self.min_writer_version,
            self.reader_features,
            self.writer_features,
        ))
    }
}

/// Returns the features that prevent this build from reading tables with this protocol: (feature, reason,
/// remedy) each.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn why_not_readable(protocol: PyProtocol) -> Vec<ObstacleFields> {
    obstacle_fields(Protocol::from(protocol).why_not_readable())
}

/// Returns the features that prevent this build from writing to tables with this protocol: (feature, reason,
/// remedy) each.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn why_not_writable(protocol: PyProtocol) -> Vec<ObstacleFields> {
    obstacle_fields(Protocol::from(protocol).why_not_writable())
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
    let metadata = metadata.into();
    detached(py, || Protocol::for_new_table(&metadata)).map(Into::into)
}

/// Returns the lowest versions by the rules from before table features, and the features that apply.
#[pyfunction]
#[pyo3(signature = (metadata, /))]
pub(crate) fn protocol_required_minimum(
    py: Python<'_>,
    metadata: PyMetadata,
) -> PyResult<(PyProtocol, Vec<&'static str>)> {
    let metadata = metadata.into();
    let (minimum, used) = detached(py, || Protocol::required_minimum(&metadata))?;
    Ok((minimum.into(), used))
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
    let (metadata, listed) = (metadata.into(), protocol.map(Protocol::from));
    detached(py, || {
        Protocol::automatically_enabled_features(&metadata, listed.as_ref())
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
    let old = Protocol::from(protocol);
    detached(py, || old.with_feature(name)).map(Into::into)
}

/// Returns the protocol without one feature.
#[pyfunction]
#[pyo3(signature = (protocol, name, /))]
pub(crate) fn protocol_without_feature(
    py: Python<'_>,
    protocol: PyProtocol,
    name: &str,
) -> PyResult<PyProtocol> {
    let old = Protocol::from(protocol);
    detached(py, || old.without_feature(name)).map(Into::into)
}

/// Returns the weakest protocol with the features of both.
#[pyfunction]
#[pyo3(signature = (protocol, other, /))]
pub(crate) fn protocol_merge(protocol: PyProtocol, other: PyProtocol) -> PyProtocol {
    Protocol::from(protocol).merge(&other.into()).into()
}

/// Returns the protocol that a table needs once it has this schema and these properties.
#[pyfunction]
#[pyo3(signature = (protocol, metadata, /))]
pub(crate) fn protocol_upgrade_for(
    py: Python<'_>,
    protocol: PyProtocol,
    metadata: PyMetadata,
) -> PyResult<PyProtocol> {
    let (old, metadata) = (Protocol::from(protocol), metadata.into());
    detached(py, || old.upgrade_for(&metadata)).map(Into::into)
}

/// Returns `true` if every feature of the old protocol is in the new one.
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(crate) fn protocol_can_upgrade_to(old: PyProtocol, new: PyProtocol) -> bool {
    Protocol::from(old).can_upgrade_to(&new.into())
}

/// Returns the features of a protocol, implied and listed.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn protocol_features(protocol: PyProtocol) -> Vec<String> {
    Protocol::from(protocol).features()
}
