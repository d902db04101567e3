//! The definition of a table, as bodies of actions; nothing is written here.

use std::collections::BTreeMap;

use deltareplay_core::definition::first_actions;
use deltareplay_core::definition::replace;
use deltareplay_core::error::Error;
use deltareplay_core::spec::property_rules;
use deltareplay_core::spec::schema::{PrimitiveType, StructType};
use deltareplay_core::statements::{TableDefinition, merged_metadata};
use deltareplay_core::write::{Widening, with_high_water_marks};
use pyo3::prelude::*;

use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::protocol::PyProtocol;

/// Returns the metadata and the protocol of a new table.
#[pyfunction]
pub(crate) fn new_table(
    py: Python<'_>,
    schema_string: &str,
    partition_columns: Vec<String>,
    properties: BTreeMap<String, String>,
) -> PyResult<(PyMetadata, PyProtocol)> {
    detached(py, || {
        let definition = TableDefinition {
            schema: StructType::parse(schema_string).map_err(Error::of_argument)?,
            partition_columns,
            properties,
            ..TableDefinition::default()
        };
        let (metadata, protocol) = first_actions(definition.metadata(None)?)?;
        Ok((PyMetadata(metadata), PyProtocol(protocol)))
    })
}

/// Returns the metadata with the columns and nested fields that it lacks, and with wider types if the table
/// widens them; None if nothing changes.
#[pyfunction]
pub(crate) fn with_columns(
    py: Python<'_>,
    metadata: PyMetadata,
    columns: &str,
) -> PyResult<Option<PyMetadata>> {
    detached(py, || {
        let columns = StructType::parse(columns).map_err(Error::of_argument)?;
        let new = merged_metadata(&metadata.0, &columns, &columns, Widening::Any)?;
        Ok(new.map(PyMetadata))
    })
}

/// Returns metadata with these columns instead of its own, for replacing all rows.
#[pyfunction]
pub(crate) fn overwritten_metadata(
    py: Python<'_>,
    metadata: PyMetadata,
    schema_string: &str,
    partition_columns: Vec<String>,
) -> PyResult<PyMetadata> {
    detached(py, || {
        let schema = StructType::parse(schema_string).map_err(Error::of_argument)?;
        let new = replace::overwritten_metadata(&metadata.0, &schema, partition_columns)?;
        Ok(PyMetadata(new))
    })
}

/// Returns metadata with the high-water marks of identity columns; None if none changed.
#[pyfunction]
pub(crate) fn with_identity_marks(
    py: Python<'_>,
    metadata: PyMetadata,
    marks: Vec<(String, i64)>,
) -> PyResult<Option<PyMetadata>> {
    detached(py, || {
        with_high_water_marks(&metadata.0, &marks).map(|new| new.map(PyMetadata))
    })
}

/// Returns the canonical name of a table property that a user may set to this value.
#[pyfunction]
pub(crate) fn checked_property(py: Python<'_>, key: &str, value: &str) -> PyResult<String> {
    detached(py, || property_rules::checked_property(key, value))
}

/// Returns `true` if rows with these schemas, as JSON, are read from data files in the same way.
#[pyfunction]
pub(crate) fn is_read_as(py: Python<'_>, old: &str, new: &str) -> PyResult<bool> {
    detached(py, || {
        Ok(old == new || StructType::parse(new)?.is_read_as(&StructType::parse(old)?))
    })
}

/// Returns `true` if columns of a primitive type may be widened to another type; the types are given by their
/// names in schemas.
#[pyfunction]
pub(crate) fn widens(old: &str, new: &str) -> bool {
    let types = (PrimitiveType::from_name(old), PrimitiveType::from_name(new));
    matches!(types, (Some(old), Some(new)) if old.widens_to(&new))
}
