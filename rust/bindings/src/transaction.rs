//! `Transaction`: staged actions, committed as one version.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_schema::Schema;
use deltareplay_core::error::{Error, Result};
use deltareplay_core::replay::Source;
use deltareplay_core::spec::DeletionVectorDescriptor;
use deltareplay_core::spec::schema::StructType;
use deltareplay_core::table::Table;
use deltareplay_core::transaction as core;
use deltareplay_core::write::actions::parse_actions;
use deltareplay_core::write::{AddFile, StagedFile};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::json;

use crate::arguments;
use crate::batches::import;
use crate::exceptions::{invalid, to_exception};
use crate::filter;
use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::protocol::PyProtocol;

/// The next version of a table, not committed yet.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Transaction {
    table: Table,
    id: String,
    staged: Mutex<Option<core::Transaction>>,
}

impl Transaction {
    pub(crate) fn new(table: Table, staged: core::Transaction) -> Self {
        Self {
            table,
            id: staged.id().to_owned(),
            staged: Mutex::new(Some(staged)),
        }
    }

    pub(crate) fn source(&self) -> &Source {
        self.table.source()
    }

    fn take(&self) -> Result<core::Transaction> {
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        staged.take().ok_or_else(finished)
    }

    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut core::Transaction) -> Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, || {
            let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
            work(staged.as_mut().ok_or_else(finished)?)
        })
    }
}

/// Returns the error for a transaction that was committed or aborted.
pub(crate) fn finished() -> Error {
    let message = "the transaction has ended: begin a new one";
    Error::invalid("transaction.finished", message)
}

#[pymethods]
impl Transaction {
    /// Returns the id of the commit.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// Sets the description of the commit: JSON parameters, metrics, user metadata, tags, engine.
    fn describe(
        &self,
        py: Python<'_>,
        parameters: &str,
        metrics: BTreeMap<String, String>,
        user_metadata: Option<String>,
        tags: BTreeMap<String, String>,
        engine_info: Option<String>,
    ) -> PyResult<()> {
        self.with(py, |staged| {
            let parameters = parse_actions(
                "operationParameters of the commitInfo",
                &format!("[{parameters}]"),
            )?;
            let description = staged.description();
            description.parameters = parameters.into_iter().next().unwrap_or_default();
            description.metrics = metrics;
            description.user_metadata = user_metadata;
            description.tags = tags;
            description.engine_info = engine_info;
            Ok(())
        })
    }

    /// Records that rows were read: all, or those of a filter.
    #[pyo3(signature = (filter=None))]
    fn read(&self, py: Python<'_>, filter: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let predicate = filter::predicate(filter)?;
        self.with(py, |staged| staged.read(predicate.as_ref()))
    }

    /// Records that files were read.
    fn read_files(&self, py: Python<'_>, paths: &Bound<'_, PyAny>) -> PyResult<()> {
        let paths = arguments::strings("paths", paths)?;
        self.with(py, |staged| {
            staged.read_files(&paths);
            Ok(())
        })
    }

    /// Stages `add` bodies, a JSON array.
    fn add(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.with(py, |staged| {
            let files: Vec<AddFile> = parse_actions("add", json)?;
            files.iter().try_for_each(AddFile::check_stats)?;
            staged.add(files);
            Ok(())
        })
    }

    /// Stages `add` bodies, a JSON array, of files that were written for this commit.
    fn add_written(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.with(py, |staged| staged.add_written(parse_actions("add", json)?))
    }

    /// Records files that were written for this commit: encoded paths, sizes in bytes, and timestamps in
    /// milliseconds.
    fn record_written(&self, py: Python<'_>, files: Vec<(String, u64, i64)>) -> PyResult<()> {
        let resolver = &self.table.source().resolver;
        let files = files.into_iter().map(|(path, size, written)| {
            let path = resolver.resolve("", &path)?.into_owned();
            Ok(StagedFile {
                path,
                size: Some(size),
                written,
            })
        });
        let files = files
            .collect::<Result<Vec<_>>>()
            .map_err(|error| to_exception(py, &error))?;
        self.with(py, |staged| {
            staged.record_written(files);
            Ok(())
        })
    }

    /// Stages `remove` bodies, a JSON array.
    fn remove(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.with(py, |staged| {
            staged.remove(parse_actions("remove", json)?);
            Ok(())
        })
    }

    /// Stages `cdc` bodies, a JSON array.
    fn change_data(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.with(py, |staged| {
            staged.change_data(parse_actions("cdc", json)?);
            Ok(())
        })
    }

    /// Stages the removal of live files.
    fn remove_paths(
        &self,
        py: Python<'_>,
        paths: &Bound<'_, PyAny>,
        data_change: bool,
    ) -> PyResult<()> {
        let paths = arguments::strings("paths", paths)?;
        self.with(py, |staged| staged.remove_paths(&paths, data_change))
    }

    /// Stages deletion vectors of live files: path and JSON descriptor each.
    fn update_vectors(&self, py: Python<'_>, vectors: BTreeMap<String, String>) -> PyResult<()> {
        self.with(py, |staged| {
            let mut parsed = BTreeMap::new();
            for (path, json) in vectors {
                let descriptors = parse_actions::<DeletionVectorDescriptor>(
                    "deletionVector of the add",
                    &format!("[{json}]"),
                )?;
                parsed.extend(descriptors.into_iter().map(|it| (path.clone(), it)));
            }
            staged.update_vectors(parsed)
        })
    }

    /// Stages metadata.
    fn set_metadata(&self, py: Python<'_>, metadata: PyMetadata) -> PyResult<()> {
        self.with(py, |staged| staged.set_metadata(metadata.0))
    }

    /// Stages a protocol.
    fn set_protocol(&self, py: Python<'_>, protocol: PyProtocol) -> PyResult<()> {
        self.with(py, |staged| staged.set_protocol(protocol.0))
    }

    /// Stages the version of an application; returns whether it was committed before.
    fn set_transaction(&self, py: Python<'_>, app_id: &str, version: i128) -> PyResult<bool> {
        let version = i64::try_from(version).map_err(|_| {
            let message = format!("version is {version}: pass a signed 64-bit integer");
            invalid(py, "argument.range", message)
        })?;
        self.with(py, |staged| staged.set_transaction(app_id, version))
    }

    /// Stages the configuration of a domain; None removes it.
    fn set_domain(
        &self,
        py: Python<'_>,
        domain: &str,
        configuration: Option<&str>,
    ) -> PyResult<()> {
        self.with(py, |staged| staged.set_domain(domain, configuration))
    }

    /// Returns the metadata and the protocol that the table will have, and the parameters of the commit as
    /// JSON.
    fn definition(&self, py: Python<'_>) -> PyResult<(PyMetadata, PyProtocol, String)> {
        self.with(py, |staged| {
            let parameters = json!(staged.description().parameters).to_string();
            let (metadata, protocol) = staged.effective()?;
            let (metadata, protocol) = (metadata.clone(), protocol.clone());
            Ok((PyMetadata(metadata), PyProtocol(protocol), parameters))
        })
    }

    /// Returns `true` if there is nothing to commit.
    fn is_empty(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |staged| Ok(staged.is_empty()))
    }

    /// Commits. Returns the version, None if the application's version was committed before; the number of
    /// attempts; and the error of work after the commit, if any.
    fn commit(&self, py: Python<'_>) -> PyResult<(Option<u64>, u32, Option<String>)> {
        let committed = detached(py, || self.table.commit(self.take()?))?;
        let afterwards = committed.afterwards.map(|error| error.to_string());
        let commit = committed.commit;
        Ok((commit.version, commit.attempts, afterwards))
    }

    /// Drops the staged actions.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.take().map(drop))
    }
}

/// The struct of the C data interface up to the callback that is null once the struct was released: its memory
/// must not be read then. The `arrow` crate does not check this.
#[repr(C)]
struct SchemaHead {
    _texts: [*const c_void; 3],
    _numbers: [i64; 2],
    _inner: [*const c_void; 2],
    release: *const c_void,
}

/// Returns the `schemaString` of a table with this Arrow schema. If it `defines` a new table, the metadata of its
/// columns may make them identity columns.
#[pyfunction]
#[pyo3(signature = (schema, /, *, defines=false))]
pub(crate) fn schema_string(
    py: Python<'_>,
    schema: &Bound<'_, PyAny>,
    defines: bool,
) -> PyResult<String> {
    let capsule = schema.call_method0("__arrow_c_schema__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?;
    #[allow(unsafe_code)]
    // SAFETY: the capsule has the name that the interface gives to this struct, and stays alive.
    let is_released = unsafe { (*pointer.as_ptr().cast::<SchemaHead>()).release.is_null() };
    if is_released {
        let message = "the Arrow schema was consumed before: export it again";
        return Err(PyTypeError::new_err(message));
    }
    #[allow(unsafe_code)]
    // SAFETY: as above; the struct was not released.
    let arrow = unsafe { &*pointer.as_ptr().cast::<FFI_ArrowSchema>() };
    let arrow = import(|| Schema::try_from(arrow));
    let arrow = arrow.map_err(|cause| PyTypeError::new_err(cause.to_string()))?;
    detached(py, || {
        let parsed = if defines {
            StructType::definition_from_arrow(&arrow)
        } else {
            StructType::from_arrow(&arrow)
        };
        parsed.map(|parsed| parsed.to_json())
    })
}
