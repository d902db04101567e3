//! `deltareplay.Metadata` as an argument and as a result.

use deltareplay_core::spec::Metadata;
use deltareplay_core::spec::actions::Format;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::field;

/// A `Metadata` of Python.
pub(crate) struct PyMetadata(pub(crate) Metadata);

impl<'a, 'py> FromPyObject<'a, 'py> for PyMetadata {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let text = "a string that UTF-8 can encode";
        let optional = "a string that UTF-8 can encode, or None";
        let texts = "a dict of strings";
        Ok(Self(Metadata {
            id: field(&object, "id", text)?,
            name: field(&object, "name", optional)?,
            description: field(&object, "description", optional)?,
            schema_string: field(&object, "schema_string", text)?,
            partition_columns: field(&object, "partition_columns", "a list of names")?,
            configuration: field(&object, "configuration", texts)?,
            created_time: field(&object, "created_time", "an integer of 64 bits or None")?,
            format: Format {
                provider: field(&object, "format_provider", text)?,
                options: field(&object, "format_options", texts)?,
            },
        }))
    }
}

impl<'py> IntoPyObject<'py> for PyMetadata {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Self(metadata) = self;
        let fields = PyDict::new(py);
        fields.set_item("id", metadata.id)?;
        fields.set_item("name", metadata.name)?;
        fields.set_item("description", metadata.description)?;
        fields.set_item("schema_string", metadata.schema_string)?;
        fields.set_item("partition_columns", metadata.partition_columns)?;
        fields.set_item("configuration", metadata.configuration)?;
        fields.set_item("created_time", metadata.created_time)?;
        fields.set_item("format_provider", metadata.format.provider)?;
        fields.set_item("format_options", metadata.format.options)?;
        let module = py.import("deltareplay._protocol.metadata")?;
        module.getattr("Metadata")?.call((), Some(&fields))
    }
}
