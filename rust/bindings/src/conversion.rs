//! `Conversion`: converts a directory of Parquet files to a table, in one process or in many.

use std::collections::BTreeMap;

use deltareplay_core::error::{Error, Result};
use deltareplay_core::maintenance::convert::{self as core, MergedSchema};
use deltareplay_core::maintenance::to_json;
use deltareplay_core::spec::schema::StructType;
use deltareplay_core::storage::FileMeta;
use deltareplay_core::transaction::TransactionOptions;
use deltareplay_core::write::AddFile;
use deltareplay_core::write::actions::parse_actions;
use pyo3::prelude::*;

use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::protocol::PyProtocol;
use crate::rows::Definition;
use crate::table::Table;

/// Path, bytes, modification time in milliseconds.
type PyFile = (String, u64, i64);

fn file_in((path, size, modification_time): PyFile) -> FileMeta {
    FileMeta {
        path,
        size,
        modification_time,
        tag: 0,
    }
}

fn file_out(file: FileMeta) -> PyFile {
    (file.path, file.size, file.modification_time)
}

/// The definition of the table that files are converted to.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Conversion(core::Conversion);

#[pymethods]
impl Conversion {
    #[new]
    fn new(
        py: Python<'_>,
        partition_schema: &str,
        properties: BTreeMap<String, String>,
        statistics: bool,
    ) -> PyResult<Self> {
        detached(py, || {
            Ok(Self(core::Conversion {
                partition_schema: StructType::parse(partition_schema)
                    .map_err(Error::of_argument)?,
                properties,
                statistics,
            }))
        })
    }

    /// Converts all files; returns the version, None if there is a table already.
    fn convert(&self, py: Python<'_>, table: &Table, durable: bool) -> PyResult<Option<u64>> {
        let options = TransactionOptions::durable(durable);
        detached(py, || self.0.convert(&table.0, options))
    }

    /// Returns the files below the table root, after checking their directories.
    fn files(&self, py: Python<'_>, table: &Table) -> PyResult<Vec<PyFile>> {
        detached(py, || {
            let files = self.0.files(table.0.source())?;
            Ok(files.into_iter().map(file_out).collect())
        })
    }

    /// Returns the merged schema of the footers of some files, as JSON.
    #[staticmethod]
    fn schema_of(py: Python<'_>, table: &Table, files: Vec<PyFile>) -> PyResult<String> {
        detached(py, || {
            let files: Vec<FileMeta> = files.into_iter().map(file_in).collect();
            let merged = core::Conversion::schema_of(table.0.source(), &files)?;
            Ok(merged.schema().to_json())
        })
    }

    /// Returns metadata and protocol of the table, from the path of the first file and the schema of each
    /// part.
    fn definition(
        &self,
        py: Python<'_>,
        parts: Vec<(String, String)>,
    ) -> PyResult<(PyMetadata, PyProtocol)> {
        detached(py, || {
            let mut merged = MergedSchema::default();
            for (path, schema) in parts {
                let schema = StructType::parse(&schema)?;
                merged.join(&schema).map_err(|error| error.at_path(path))?;
            }
            let (metadata, protocol) = self.0.definition(merged)?;
            Ok((PyMetadata(metadata), PyProtocol(protocol)))
        })
    }

    /// Returns the `add` actions of some files, a JSON array.
    fn adds(
        &self,
        py: Python<'_>,
        table: &Table,
        definition: Definition,
        files: Vec<PyFile>,
    ) -> PyResult<String> {
        let definition = (definition.0.0, definition.1.0);
        detached(py, || {
            let files: Vec<FileMeta> = files.into_iter().map(file_in).collect();
            let adds = self.0.adds(table.0.source(), &definition, &files)?;
            Ok(to_json(&adds))
        })
    }

    /// Commits the files; returns the version, None if another writer created the table.
    fn commit(
        &self,
        py: Python<'_>,
        table: &Table,
        definition: Definition,
        adds: Vec<String>,
        durable: bool,
    ) -> PyResult<Option<u64>> {
        let options = TransactionOptions::durable(durable);
        let definition = (definition.0.0, definition.1.0);
        detached(py, || {
            let adds = adds
                .iter()
                .map(|json| parse_actions::<AddFile>("add", json));
            let adds: Vec<Vec<AddFile>> = adds.collect::<Result<_>>()?;
            let adds = adds.into_iter().flatten().collect();
            self.0.commit(&table.0, definition, adds, options)
        })
    }
}
