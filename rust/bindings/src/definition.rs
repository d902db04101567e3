//! The definition of a table, as bodies of actions: nothing is written here.

use std::collections::BTreeMap;

use deltareplay_core::definition::first_actions;
use deltareplay_core::definition::replace;
use deltareplay_core::error::Error;
use deltareplay_core::spec::property_rules;
use deltareplay_core::spec::schema::{PrimitiveType, StructType};
use deltareplay_core::table::{TableDefinition, merged_metadata};
use deltareplay_core::write::{Widened, with_marks};
use pyo3::prelude::*;

use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::protocol::PyProtocol;

/// The metadata and the protocol of a new table.
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
        let (metadata, protocol) = first_actions(definition.metadata()?)?;
        Ok((metadata.into(), protocol.into()))
    })
}

/// Metadata with columns, and fields of structs, that only other rows have, and with wider
/// types where the table widens them; None if nothing changes.
#[pyfunction]
pub(crate) fn with_columns(
    py: Python<'_>,
    metadata: PyMetadata,
    columns: &str,
) -> PyResult<Option<PyMetadata>> {
    let metadata = metadata.into();
    detached(py, || {
        let columns = StructType::parse(columns).map_err(Error::of_argument)?;
        let new = merged_metadata(&metadata, &columns, &columns, Widened::All)?;
        Ok(new.map(Into::into))
    })
}

/// Metadata with these columns in place of its own, where all rows are replaced.
#[pyfunction]
pub(crate) fn overwritten_metadata(
    py: Python<'_>,
    metadata: PyMetadata,
    schema_string: &str,
    partition_columns: Vec<String>,
) -> PyResult<PyMetadata> {
    let metadata = metadata.into();
    detached(py, || {
        let schema = StructType::parse(schema_string).map_err(Error::of_argument)?;
        let new = replace::overwritten_metadata(&metadata, &schema, partition_columns)?;
        Ok(new.into())
    })
}

/// Metadata with the values that identity columns have got to; None if none got any further.
#[pyfunction]
pub(crate) fn with_identity_marks(
    py: Python<'_>,
    metadata: PyMetadata,
    marks: Vec<(String, i64)>,
) -> PyResult<Option<PyMetadata>> {
    let metadata = metadata.into();
    detached(py, || {
        with_marks(&metadata, &marks).map(|new| new.map(Into::into))
    })
}

/// The name of a table property in its own case, which a user may set to this value.
#[pyfunction]
pub(crate) fn checked_property(py: Python<'_>, key: &str, value: &str) -> PyResult<String> {
    detached(py, || property_rules::checked_property(key, value))
}

/// Returns `true` if columns of a primitive type may get another type, both by their names in
/// schemas.
#[pyfunction]
pub(crate) fn widens(old: &str, new: &str) -> bool {
    let types = (PrimitiveType::from_name(old), PrimitiveType::from_name(new));
    matches!(types, (Some(old), Some(new)) if old.widens_to(&new))
}
