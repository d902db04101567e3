//! The protocol gate, asked about plain values.

use deltareplay_core::spec::actions::Protocol;
use deltareplay_core::spec::protocol::Obstacle;
use pyo3::prelude::*;

/// Feature, reason, remedy.
type Facts = (String, String, String);

/// What keeps this build from reading tables of such a protocol: (feature, reason, remedy) each.
#[pyfunction]
#[pyo3(signature = (min_reader_version, min_writer_version, reader_features, writer_features, /))]
pub(crate) fn why_not_readable(
    min_reader_version: i32,
    min_writer_version: i32,
    reader_features: Option<Vec<String>>,
    writer_features: Option<Vec<String>>,
) -> Vec<Facts> {
    let protocol = Protocol {
        min_reader_version,
        min_writer_version,
        reader_features,
        writer_features,
    };
    facts(protocol.why_not_readable())
}

/// What keeps this build from writing to tables of such a protocol: (feature, reason, remedy) each.
#[pyfunction]
#[pyo3(signature = (min_reader_version, min_writer_version, reader_features, writer_features, /))]
pub(crate) fn why_not_writable(
    min_reader_version: i32,
    min_writer_version: i32,
    reader_features: Option<Vec<String>>,
    writer_features: Option<Vec<String>>,
) -> Vec<Facts> {
    let protocol = Protocol {
        min_reader_version,
        min_writer_version,
        reader_features,
        writer_features,
    };
    facts(protocol.why_not_writable())
}

fn facts(obstacles: Vec<Obstacle>) -> Vec<Facts> {
    obstacles
        .into_iter()
        .map(|one| (one.feature, one.reason, one.remedy))
        .collect()
}
