//! `deltareplay.Metadata` as an argument and as a result.

use std::collections::BTreeMap;

use deltareplay_core::spec::Metadata;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::field;

/// The fields of a `Metadata` in Python, by their names there.
pub(crate) struct PyMetadata {
    id: String,
    name: Option<String>,
    description: Option<String>,
    schema_string: String,
    partition_columns: Vec<String>,
    configuration: BTreeMap<String, String>,
    created_time: Option<i64>,
    format_provider: String,
    format_options: BTreeMap<String, String>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for PyMetadata {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let text = "a string that UTF-8 can encode";
        let optional = "a string that UTF-8 can encode, or None";
        let texts = "a dict of strings";
        Ok(Self {
            id: field(&object, "id", text)?,
            name: field(&object, "name", optional)?,
            description: field(&object, "description", optional)?,
            schema_string: field(&object, "schema_string", text)?,
            partition_columns: field(&object, "partition_columns", "a list of names")?,
            configuration: field(&object, "configuration", texts)?,
            created_time: field(&object, "created_time", "an integer of 64 bits or None")?,
            format_provider: field(&object, "format_provider", text)?,
            format_options: field(&object, "format_options", texts)?,
        })
    }
}

impl From<PyMetadata> for Metadata {
    fn from(fields: PyMetadata) -> Self {
        let mut metadata = Self {
            id: fields.id,
            name: fields.name,
            description: fields.description,
            schema_string: fields.schema_string,
            partition_columns: fields.partition_columns,
            created_time: fields.created_time,
            configuration: fields.configuration,
            ..Self::default()
        };
        metadata.format.provider = fields.format_provider;
        metadata.format.options = fields.format_options;
        metadata
    }
}

impl From<Metadata> for PyMetadata {
    fn from(metadata: Metadata) -> Self {
        Self {
            id: metadata.id,
            name: metadata.name,
            description: metadata.description,
            schema_string: metadata.schema_string,
            partition_columns: metadata.partition_columns,
            configuration: metadata.configuration,
            created_time: metadata.created_time,
            format_provider: metadata.format.provider,
            format_options: metadata.format.options,
        }
    }
}

impl<'py> IntoPyObject<'py> for PyMetadata {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(py);
        fields.set_item("id", self.id)?;
        fields.set_item("name", self.name)?;
        fields.set_item("description", self.description)?;
        fields.set_item("schema_string", self.schema_string)?;
        fields.set_item("partition_columns", self.partition_columns)?;
        fields.set_item("configuration", self.configuration)?;
        fields.set_item("created_time", self.created_time)?;
        fields.set_item("format_provider", self.format_provider)?;
        fields.set_item("format_options", self.format_options)?;
        let module = py.import("deltareplay._protocol.metadata")?;
        module.getattr("Metadata")?.call((), Some(&fields))
    }
}
