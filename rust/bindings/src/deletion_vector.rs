//! `DeletionVector`: a set of rows, its bytes and its Arrow forms.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, cast::AsArray, make_array,
};
use arrow_schema::{ArrowError, DataType};
use deltareplay_core::codec::deletion_vector::{self as core, FileBuilder};
use deltareplay_core::error::{Error, Result};
use deltareplay_core::spec::DeletionVectorDescriptor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arguments;
use crate::batches::{ArrowBatch, import};
use crate::exceptions::invalid;
use crate::gate::detached;

/// The deleted rows of one data file.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct DeletionVector(core::DeletionVector);

#[pymethods]
impl DeletionVector {
    /// Decodes a bitmap, or a vector of a whole file: the one at `offset`, or the first.
    #[staticmethod]
    #[pyo3(signature = (data, offset=None, cardinality=None))]
    fn decode(
        py: Python<'_>,
        data: &[u8],
        offset: Option<i128>,
        cardinality: Option<i128>,
    ) -> PyResult<Self> {
        let offset = arguments::optional(py, "offset", offset)?;
        let cardinality = arguments::optional(py, "cardinality", cardinality)?;
        let is_file = offset.is_some() || data.first() == Some(&1);
        detached(py, || {
            if !is_file {
                return core::DeletionVector::decode(data, cardinality);
            }
            let vector = core::DeletionVector::decode_file(data, offset)?;
            cardinality.map_or(Ok(()), |promised| vector.check_cardinality(promised))?;
            Ok(vector)
        })
        .map(Self)
    }

    /// Decodes the fields of an inline descriptor.
    #[staticmethod]
    fn from_inline(
        py: Python<'_>,
        storage_type: &str,
        text: String,
        size_in_bytes: i128,
        cardinality: i128,
    ) -> PyResult<Self> {
        detached(py, || {
            let out_of_range = |_| {
                let message = format!(
                    "the sizeInBytes {size_in_bytes} or the cardinality {cardinality} is out of range"
                );
                Error::corrupt("dv.descriptor", message)
            };
            let size = i32::try_from(size_in_bytes).map_err(out_of_range)?;
            let rows = i64::try_from(cardinality).map_err(out_of_range)?;
            let descriptor = DeletionVectorDescriptor::new(storage_type, text, None, size, rows)?;
            if storage_type != "i" {
                return Err(Error::invalid(
                    "dv.not_inline",
                    format!(
                        "the deletion vector is not inline but in a file (storage type {storage_type}): \
                         read the file, and decode its bytes with the descriptor's offset"
                    ),
                ));
            }
            let (size, cardinality) = (descriptor.size_in_bytes(), descriptor.cardinality());
            core::DeletionVector::decode_inline(
                descriptor.path_or_inline(),
                size,
                Some(cardinality),
            )
        })
        .map(Self)
    }

    /// Builds a vector from an Arrow array of integers.
    #[staticmethod]
    fn from_rows(py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = imported(rows)?;
        if array.null_count() > 0 {
            return Err(invalid(py, "dv.row_range", "a row number is null"));
        }
        let negative = |row: i64| {
            invalid(
                py,
                "dv.row_range",
                format!("row {row} is out of range: row numbers start at 0"),
            )
        };
        let rows: Vec<u64> = match array.data_type() {
            DataType::UInt64 => array.as_primitive::<UInt64Type>().values().to_vec(),
            DataType::Int64 => {
                let rows = array.as_primitive::<Int64Type>().values();
                let unsigned = |row: &i64| u64::try_from(*row).map_err(|_| negative(*row));
                rows.iter().map(unsigned).collect::<PyResult<_>>()?
            }
            other => {
                return Err(PyTypeError::new_err(format!(
                    "rows must be integers, not {other}"
                )));
            }
        };
        detached(py, || core::DeletionVector::from_rows(rows)).map(Self)
    }

    /// Returns the deleted rows: one column `row`.
    fn rows(&self, py: Python<'_>) -> PyResult<ArrowBatch> {
        detached(py, || {
            let rows: ArrayRef = Arc::new(self.0.rows()?);
            batch([("row", rows)])
        })
    }

    /// Returns the deleted rows as ranges: the columns `start` and `end`.
    fn ranges(&self, py: Python<'_>) -> PyResult<ArrowBatch> {
        detached(py, || range_batch(self.0.ranges()))
    }

    /// Returns the live rows of a file as ranges: the columns `start` and `end`.
    fn live_ranges(&self, py: Python<'_>, num_rows: i128) -> PyResult<ArrowBatch> {
        let num_rows = self.check_num_rows(py, num_rows)?;
        detached(py, || {
            range_batch(self.0.live_ranges(0..num_rows).into_iter())
        })
    }

    /// Returns a column with a bit for each row of a file: set if the row is live, or without `live` if it is
    /// deleted.
    fn mask(&self, py: Python<'_>, num_rows: i128, live: bool) -> PyResult<ArrowBatch> {
        let num_rows = self.check_num_rows(py, num_rows)?;
        detached(py, || {
            let bits = if live {
                self.0.live_mask(0..num_rows)
            } else {
                self.0.mask(0..num_rows)
            };
            let mask: ArrayRef = Arc::new(BooleanArray::new(bits, None));
            batch([("mask", mask)])
        })
    }

    /// Returns the rows in either vector.
    fn union(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        detached(py, || self.0.union(&other.0)).map(Self)
    }

    /// Returns the rows in both vectors.
    fn intersection(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        detached(py, || self.0.intersection(&other.0)).map(Self)
    }

    /// Returns the rows of this vector that are not in the other.
    fn difference(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        detached(py, || self.0.difference(&other.0)).map(Self)
    }

    /// Returns `true` if both have the same rows.
    fn same(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Returns the number of deleted rows.
    fn cardinality(&self) -> u64 {
        self.0.len()
    }

    /// Returns `true` if a row is deleted.
    fn contains(&self, row: u64) -> bool {
        self.0.contains(row)
    }

    /// Returns the first and the last deleted row.
    fn bounds(&self) -> Option<(u64, u64)> {
        self.0.min().zip(self.0.max())
    }

    /// Returns the bitmap.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || self.0.encode())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns an inline descriptor of the vector.
    fn encode_inline<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let descriptor = detached(py, || self.0.encode_inline())?;
        descriptor_out(py, &descriptor)
    }
}

impl DeletionVector {
    /// Checks a file's number of rows: it must be in range, and every deleted row below it.
    fn check_num_rows(&self, py: Python<'_>, num_rows: i128) -> PyResult<u64> {
        const MAX_ROWS: u64 = 1 << 40;
        let last = self.0.max();
        match u64::try_from(num_rows) {
            Ok(rows) if rows <= MAX_ROWS && last.is_none_or(|last| last < rows) => Ok(rows),
            Ok(rows) if rows <= MAX_ROWS => Err(invalid(
                py,
                "argument.range",
                format!(
                    "num_rows is {rows}, and row {} is deleted: pass the number of rows of the \
                     data file that the deletion vector belongs to",
                    last.unwrap_or(0)
                ),
            )),
            _ => Err(invalid(
                py,
                "argument.range",
                format!("num_rows is {num_rows}: pass a number from 0 to {MAX_ROWS}"),
            )),
        }
    }
}

/// Packs vectors into one file; returns its path relative to the table root, its bytes, the descriptors.
#[pyfunction]
#[pyo3(signature = (vectors, uuid, prefix, /))]
pub(crate) fn pack_deletion_vectors<'py>(
    py: Python<'py>,
    vectors: Vec<Bound<'py, DeletionVector>>,
    uuid: [u8; 16],
    prefix: &str,
) -> PyResult<(String, Bound<'py, PyBytes>, Vec<Bound<'py, PyDict>>)> {
    let vectors: Vec<_> = vectors
        .iter()
        .map(|vector| vector.get().0.clone())
        .collect();
    let (path, bytes, descriptors) = detached(py, || {
        let mut file = FileBuilder::new(uuid, prefix);
        let descriptors = vectors
            .iter()
            .map(|vector| file.push(vector))
            .collect::<Result<Vec<_>>>()?;
        Ok((file.relative_path()?, file.finish(), descriptors))
    })?;
    let descriptors = descriptors
        .iter()
        .map(|descriptor| descriptor_out(py, descriptor))
        .collect::<PyResult<_>>()?;
    Ok((path, PyBytes::new(py, &bytes), descriptors))
}

/// A descriptor: storage type, path or inline vector, offset, size in bytes, cardinality.
pub(crate) type Descriptor = (String, String, Option<i32>, i32, i64);

pub(crate) fn descriptor_in(
    (storage_type, path_or_inline, offset, size, cardinality): Descriptor,
) -> Result<DeletionVectorDescriptor> {
    DeletionVectorDescriptor::new(&storage_type, path_or_inline, offset, size, cardinality)
}

/// Converts a descriptor to Python, with the names of its fields in the log.
pub(crate) fn descriptor_out<'py>(
    py: Python<'py>,
    descriptor: &DeletionVectorDescriptor,
) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("storageType", descriptor.storage().letter())?;
    fields.set_item("pathOrInlineDv", descriptor.path_or_inline())?;
    if let Some(offset) = descriptor.offset() {
        fields.set_item("offset", offset)?;
    }
    fields.set_item("sizeInBytes", descriptor.size_in_bytes())?;
    fields.set_item("cardinality", descriptor.cardinality())?;
    Ok(fields)
}

fn range_batch(ranges: impl Iterator<Item = Range<u64>>) -> Result<ArrowBatch> {
    let (starts, ends): (Vec<i64>, Vec<i64>) = ranges
        .map(|range| (range.start.cast_signed(), range.end.cast_signed()))
        .unzip();
    let starts: ArrayRef = Arc::new(Int64Array::from(starts));
    let ends: ArrayRef = Arc::new(Int64Array::from(ends));
    batch([("start", starts), ("end", ends)])
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<ArrowBatch> {
    let columns = columns.map(|(name, array)| (name, array, false));
    RecordBatch::try_from_iter_with_nullable(columns)
        .map(ArrowBatch)
        .map_err(|cause| {
            Error::invalid("dv.too_many_rows", "the rows do not fit into Arrow arrays")
                .because(cause)
        })
}

/// Imports an array by the Arrow C data interface.
fn imported(owner: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        owner.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema
        .pointer_checked(Some(c"arrow_schema"))?
        .cast::<FFI_ArrowSchema>();
    let array = array
        .pointer_checked(Some(c"arrow_array"))?
        .cast::<FFI_ArrowArray>();
    #[allow(unsafe_code)]
    // SAFETY: the capsules have the names that the interface gives to these structs, and stay alive
    // until the end of this function; moving the array out marks it as released.
    let array = import(|| unsafe {
        from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()).map(make_array)
    });
    array.map_err(|cause: ArrowError| PyTypeError::new_err(cause.to_string()))
}
