//! Export and import of Arrow data by the C data interface: nothing is copied, and reading a stream needs
//! no interpreter lock.

use std::iter;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use deltareplay_core::codec::batches::Batches as CoreBatches;
use deltareplay_core::error::{Error, Result, panic_message};
use deltareplay_core::table::FileTable;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::exceptions::to_exception;
use crate::gate::detached;

/// Batches that are read on demand, in the process that created them: they may need threads, which a forked
/// child does not have.
pub(crate) struct Batches {
    process: u32,
    inner: ManuallyDrop<CoreBatches>,
}

impl Batches {
    fn new(inner: CoreBatches) -> Self {
        Self {
            process: std::process::id(),
            inner: ManuallyDrop::new(inner),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.process != std::process::id() {
            return Some(Err(forked()));
        }
        self.inner.next()
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // in a forked child, waiting for the threads would never end
        if self.process == std::process::id() {
            #[allow(unsafe_code)]
            // SAFETY: `inner` is not used after this, since `self` is dropped.
            unsafe {
                ManuallyDrop::drop(&mut self.inner)
            }
        }
    }
}

fn forked() -> Error {
    Error::invalid(
        "internal.forked",
        "this stream was started before the process forked: start it again in the child",
    )
}

/// A schema, for `pyarrow.schema()`.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ArrowSchema(pub(crate) SchemaRef);

#[pymethods]
impl ArrowSchema {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }
}

/// A whole table in memory; for `pyarrow.table()`, any number of times.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ArrowTable {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl From<FileTable> for ArrowTable {
    fn from(table: FileTable) -> Self {
        Self {
            schema: table.schema,
            batches: table.batches,
        }
    }
}

impl From<RecordBatch> for ArrowTable {
    fn from(batch: RecordBatch) -> Self {
        Self {
            schema: batch.schema(),
            batches: vec![batch],
        }
    }
}

#[pymethods]
impl ArrowTable {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// Returns the batches as a capsule of the Arrow C stream interface; they share memory with this table.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // only a hint: the consumer casts
        let batches = self.batches.clone().into_iter().map(Ok);
        let batches = CoreBatches::new(Arc::clone(&self.schema), batches);
        stream_capsule(py, Batches::new(batches))
    }
}

/// One record batch, for `pyarrow.record_batch()`.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ArrowBatch(pub(crate) RecordBatch);

#[pymethods]
impl ArrowBatch {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema); // only a hint: the consumer casts
        let data = StructArray::from(self.0.clone()).into_data();
        let (array, _) = to_ffi(&data).map_err(|cause| unsupported_schema(py, &cause))?;
        Ok((
            schema_capsule(py, self.0.schema_ref())?,
            PyCapsule::new_with_value::<FFI_ArrowArray>(py, array, c"arrow_array")?,
        ))
    }
}

/// Batches that are read on demand, only once.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct BatchIterator {
    schema: SchemaRef,
    process: u32,
    batches: Mutex<Option<Batches>>,
}

impl BatchIterator {
    pub(crate) fn new(batches: CoreBatches) -> Self {
        Self {
            schema: batches.schema(),
            process: std::process::id(),
            batches: Mutex::new(Some(Batches::new(batches))),
        }
    }

    /// Returns the batches, or an error in a forked child, where the lock may never be released.
    fn lock(&self) -> Result<MutexGuard<'_, Option<Batches>>> {
        if self.process != std::process::id() {
            return Err(forked());
        }
        Ok(self.batches.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl BatchIterator {
    /// Returns the schema of every batch.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(Arc::clone(&self.schema))
    }

    /// Returns the next batch, or None after the last one. Unlike with the C stream interface, errors keep
    /// their class, and Ctrl-C interrupts the read.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        let batch = detached(py, || {
            let mut batches = self.lock()?;
            let next = batches.as_mut().and_then(Iterator::next).transpose();
            if !matches!(next, Ok(Some(_))) {
                *batches = None; // releases its memory at the end and after an error
            }
            next
        })?;
        Ok(batch.map(ArrowBatch))
    }

    /// Returns the remaining batches as a capsule of the Arrow C stream interface; none are left here.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // only a hint: the consumer casts
        let batches = detached(py, || Ok(self.lock()?.take()))?;
        let Some(batches) = batches else {
            return Err(PyRuntimeError::new_err(
                "these batches have already been read",
            ));
        };
        stream_capsule(py, batches)
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = c_schema(py, schema)?;
    PyCapsule::new_with_value::<FFI_ArrowSchema>(py, schema, c"arrow_schema")
}

fn stream_capsule(py: Python<'_>, mut batches: Batches) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = batches.inner.schema();
    // before the export, since a consumer of the stream would report an invalid schema as its own error
    drop(c_schema(py, &schema)?);
    // errors become text, and no panic crosses the boundary
    let next = move || match catch_unwind(AssertUnwindSafe(|| batches.next())) {
        Ok(next) => next.map(|batch| batch.map_err(|e| ArrowError::ExternalError(Box::new(e)))),
        Err(payload) => {
            let message = panic_message(payload.as_ref());
            let error = ArrowError::ComputeError(format!("a bug in deltareplay: {message}"));
            Some(Err(error))
        }
    };
    let reader = RecordBatchIterator::new(iter::from_fn(next), schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value::<FFI_ArrowArrayStream>(py, stream, c"arrow_array_stream")
}

fn c_schema(py: Python<'_>, schema: &SchemaRef) -> PyResult<FFI_ArrowSchema> {
    FFI_ArrowSchema::try_from(schema.as_ref()).map_err(|cause| unsupported_schema(py, &cause))
}

/// Returns the error for a schema that the C data interface cannot represent.
fn unsupported_schema(py: Python<'_>, cause: &ArrowError) -> PyErr {
    let message =
        format!("a column has a name that Arrow cannot represent ({cause}): omit it, or rename it");
    to_exception(py, &Error::unsupported("schema.name", message))
}

/// Runs code that imports foreign data by the C data interface. The `arrow` crate panics for some structs that
/// break its rules, such as those with negative lengths.
pub(crate) fn import<T>(
    work: impl FnOnce() -> std::result::Result<T, ArrowError>,
) -> std::result::Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = panic_message(payload.as_ref());
        Err(ArrowError::CDataInterface(message))
    })
}

/// Returns the batches of a Python object with the Arrow C stream interface; reads nothing yet.
pub(crate) fn stream(owner: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let invalid = |cause: &dyn std::fmt::Display| {
        let message = format!("the rows are not a valid Arrow stream: {cause}");
        to_exception(owner.py(), &Error::invalid("rows.source", message))
    };
    let capsule = owner.call_method0("__arrow_c_stream__")?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|cause| invalid(&cause))?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"));
    let stream = stream.map_err(|cause| invalid(&cause.value(owner.py())))?;
    #[allow(unsafe_code)]
    // SAFETY: the name of the capsule, which was checked, guarantees that it holds an `ArrowArrayStream`;
    // `from_raw` moves the struct out of the capsule, and leaves a released one there.
    let reader = import(|| unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) });
    let mut reader = reader.map_err(|cause| invalid(&cause))?;
    let schema = reader.schema();
    let batches = iter::from_fn(move || import(|| reader.next().transpose()).transpose());
    Ok(Box::new(RecordBatchIterator::new(batches, schema)))
}
