//! Questions about protocols and table features, on plain values.

use std::collections::BTreeMap;

use deltareplay_core::spec::protocol::Obstacle;
use deltareplay_core::spec::{Metadata, Protocol};
use pyo3::prelude::*;

use crate::gate::detached;

/// Feature, reason, remedy.
type Facts = (String, String, String);

/// Reader version, writer version, reader features, writer features.
pub(crate) type Versions = (i32, i32, Option<Vec<String>>, Option<Vec<String>>);

pub(crate) fn protocol(versions: Versions) -> Protocol {
    Protocol {
        min_reader_version: versions.0,
        min_writer_version: versions.1,
        reader_features: versions.2,
        writer_features: versions.3,
    }
}

pub(crate) fn versions(protocol: Protocol) -> Versions {
    (
        protocol.min_reader_version,
        protocol.min_writer_version,
        protocol.reader_features,
        protocol.writer_features,
    )
}

fn metadata(schema_string: String, configuration: BTreeMap<String, String>) -> Metadata {
    Metadata {
        schema_string,
        configuration,
        ..Metadata::default()
    }
}

/// The features that prevent this build from reading tables with such a protocol: (feature, reason,
/// remedy) each.
#[pyfunction]
#[pyo3(signature = (min_reader_version, min_writer_version, reader_features, writer_features, /))]
pub(crate) fn why_not_readable(
    min_reader_version: i32,
    min_writer_version: i32,
    reader_features: Option<Vec<String>>,
    writer_features: Option<Vec<String>>,
) -> Vec<Facts> {
    let versions_and_features = (
        min_reader_version,
        min_writer_version,
        reader_features,
        writer_features,
    );
    facts(protocol(versions_and_features).why_not_readable())
}

/// The features that prevent this build from writing to tables with such a protocol: (feature,
/// reason, remedy) each.
#[pyfunction]
#[pyo3(signature = (min_reader_version, min_writer_version, reader_features, writer_features, /))]
pub(crate) fn why_not_writable(
    min_reader_version: i32,
    min_writer_version: i32,
    reader_features: Option<Vec<String>>,
    writer_features: Option<Vec<String>>,
) -> Vec<Facts> {
    let versions_and_features = (
        min_reader_version,
        min_writer_version,
        reader_features,
        writer_features,
    );
    facts(protocol(versions_and_features).why_not_writable())
}

fn facts(obstacles: Vec<Obstacle>) -> Vec<Facts> {
    obstacles
        .into_iter()
        .map(|obstacle| (obstacle.feature, obstacle.reason, obstacle.remedy))
        .collect()
}

/// The protocol of a new table with this schema and these properties.
#[pyfunction]
#[pyo3(signature = (schema_string, configuration, /))]
pub(crate) fn protocol_for_new_table(
    py: Python<'_>,
    schema_string: String,
    configuration: BTreeMap<String, String>,
) -> PyResult<Versions> {
    let table_metadata = metadata(schema_string, configuration);
    detached(py, || Protocol::for_new_table(&table_metadata)).map(versions)
}

/// The lowest versions by the rules from before table features, and the features that were found.
#[pyfunction]
#[pyo3(signature = (schema_string, configuration, /))]
pub(crate) fn protocol_required_minimum(
    py: Python<'_>,
    schema_string: String,
    configuration: BTreeMap<String, String>,
) -> PyResult<(Versions, Vec<&'static str>)> {
    let table_metadata = metadata(schema_string, configuration);
    let (minimum, used) = detached(py, || Protocol::required_minimum(&table_metadata))?;
    Ok((versions(minimum), used))
}

/// The features that metadata requires, those of the protocol, and all that they depend on.
#[pyfunction]
#[pyo3(signature = (schema_string, configuration, protocol, /))]
pub(crate) fn automatically_enabled_features(
    py: Python<'_>,
    schema_string: String,
    configuration: BTreeMap<String, String>,
    protocol: Option<Versions>,
) -> PyResult<Vec<String>> {
    let table_metadata = metadata(schema_string, configuration);
    let listed = protocol.map(self::protocol);
    detached(py, || {
        Protocol::automatically_enabled_features(&table_metadata, listed.as_ref())
    })
}

/// The protocol with one more feature.
#[pyfunction]
#[pyo3(signature = (protocol, name, /))]
pub(crate) fn protocol_with_feature(
    py: Python<'_>,
    protocol: Versions,
    name: &str,
) -> PyResult<Versions> {
    let old = self::protocol(protocol);
    detached(py, || old.with_feature(name)).map(versions)
}

/// The protocol without one feature.
#[pyfunction]
#[pyo3(signature = (protocol, name, /))]
pub(crate) fn protocol_without_feature(
    py: Python<'_>,
    protocol: Versions,
    name: &str,
) -> PyResult<Versions> {
    let old = self::protocol(protocol);
    detached(py, || old.without_feature(name)).map(versions)
}

/// The weakest protocol with the features of both.
#[pyfunction]
#[pyo3(signature = (one, other, /))]
pub(crate) fn protocol_merge(one: Versions, other: Versions) -> Versions {
    versions(protocol(one).merge(&protocol(other)))
}

/// The protocol that a table needs once it has this schema and these properties.
#[pyfunction]
#[pyo3(signature = (protocol, schema_string, configuration, /))]
pub(crate) fn protocol_upgrade_for(
    py: Python<'_>,
    protocol: Versions,
    schema_string: String,
    configuration: BTreeMap<String, String>,
) -> PyResult<Versions> {
    let old = self::protocol(protocol);
    let table_metadata = metadata(schema_string, configuration);
    detached(py, || old.upgrade_for(&table_metadata)).map(versions)
}

/// Returns `true` if every feature of the old protocol is in the new one.
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(crate) fn protocol_can_upgrade_to(old: Versions, new: Versions) -> bool {
    protocol(old).can_upgrade_to(&protocol(new))
}

/// The features of a protocol, implied and listed.
#[pyfunction]
#[pyo3(signature = (protocol, /))]
pub(crate) fn protocol_features(protocol: Versions) -> Vec<String> {
    self::protocol(protocol).features()
}
