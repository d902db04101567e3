//! The definition of a table, as bodies of actions: nothing is written here.

use std::collections::BTreeMap;

use deltareplay_core::codec::action_json::metadata_from_json;
use deltareplay_core::error::Error;
use deltareplay_core::spec::schema::StructType;
use deltareplay_core::table::TableDefinition;
use deltareplay_core::transaction::alter::replaced;
use deltareplay_core::transaction::alter::{first_actions, with_schema};
use deltareplay_core::transaction::rows::merged;
use pyo3::prelude::*;

use crate::gate::detached;
use crate::protocol::{Versions, versions};
use serde_json::json;

/// The body of `metaData` as JSON, and the protocol, of a new table.
#[pyfunction]
pub(crate) fn new_table(
    py: Python<'_>,
    schema_string: &str,
    partition_columns: Vec<String>,
    properties: BTreeMap<String, String>,
) -> PyResult<(String, Versions)> {
    detached(py, || {
        let definition = TableDefinition {
            schema: StructType::parse(schema_string).map_err(Error::of_argument)?,
            partition_columns,
            properties,
            ..TableDefinition::default()
        };
        let (metadata, protocol) = first_actions(definition.metadata()?)?;
        Ok((json!(metadata).to_string(), versions(protocol)))
    })
}

/// The body of a `metaData` with columns, and fields of structs, that only other rows have; None if there
/// are none.
#[pyfunction]
pub(crate) fn with_columns(
    py: Python<'_>,
    metadata: &str,
    schema_string: &str,
) -> PyResult<Option<String>> {
    detached(py, || {
        let old = metadata_from_json(metadata)?;
        let known = StructType::parse(&old.schema_string)?;
        let new = merged(
            &known,
            &StructType::parse(schema_string).map_err(Error::of_argument)?,
        )?;
        if new == known {
            return Ok(None);
        }
        Ok(Some(json!(with_schema(&old, &new)?).to_string()))
    })
}

/// The body of a `metaData` with these columns in place of its own, where all rows are replaced.
#[pyfunction]
pub(crate) fn overwritten_metadata(
    py: Python<'_>,
    metadata: &str,
    schema_string: &str,
    partition_columns: Vec<String>,
) -> PyResult<String> {
    detached(py, || {
        let old = metadata_from_json(metadata)?;
        let schema = StructType::parse(schema_string).map_err(Error::of_argument)?;
        let new = replaced::overwritten_metadata(&old, &schema, partition_columns)?;
        Ok(json!(new).to_string())
    })
}
