//! Vectors as sets of the `roaring` crate: built from rows, combined, encoded.
//!
//! A new vector is encoded in the portable layout and decoded like any other vector, so that there is a
//! single representation in memory. The crate only reads bytes that the decoder has validated.

use roaring::RoaringTreemap;

use super::decode::PORTABLE_MAGIC;
use super::{DeletionVector, ROWS_END, base85};
use crate::error::{Error, Result};
use crate::spec::DeletionVectorDescriptor;

impl DeletionVector {
    /// Builds the vector of these rows, in any order; duplicates are ignored.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.row_range`, for a row at or after [`ROWS_END`]; `dv.too_large`.
    pub fn from_rows(rows: impl IntoIterator<Item = u64>) -> Result<Self> {
        let set: RoaringTreemap = rows.into_iter().collect();
        match set.max() {
            Some(last) if last >= ROWS_END => Err(Error::invalid(
                "dv.row_range",
                format!("row {last} is out of range: a deletion vector has rows below {ROWS_END}"),
            )),
            _ => Self::of_set(set),
        }
    }

    /// Returns the rows that are in either vector.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_large` for more bytes than a descriptor can state.
    pub fn union(&self, other: &Self) -> Result<Self> {
        Self::of_set(self.set() | other.set())
    }

    /// Returns the rows that are in both vectors.
    pub fn intersection(&self, other: &Self) -> Result<Self> {
        Self::of_set(self.set() & other.set())
    }

    /// Returns the rows of this vector that are not in the other.
    pub fn difference(&self, other: &Self) -> Result<Self> {
        Self::of_set(self.set() - other.set())
    }

    /// Returns the encoded bitmap, from its magic number to its last container: the bytes that `sizeInBytes`
    /// counts.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_large` for more bytes than a descriptor can state.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encoded(self.set())
    }

    /// Returns an inline descriptor of the vector (storage type `i`).
    pub fn encode_inline(&self) -> Result<DeletionVectorDescriptor> {
        let bitmap = self.encode()?;
        let size = i32::try_from(bitmap.len()).map_err(|_| too_large())?;
        DeletionVectorDescriptor::new("i", base85::encode(&bitmap), None, size, self.len_signed())
    }

    /// Returns the number of rows in the type used by descriptors.
    pub(super) fn len_signed(&self) -> i64 {
        i64::try_from(self.len).unwrap_or(i64::MAX)
    }

    fn of_set(set: RoaringTreemap) -> Result<Self> {
        Self::decode_shared(encoded(set)?.into(), None)
    }

    /// Returns the rows as a set, whose memory use is at most a small multiple of the encoded size.
    pub(super) fn set(&self) -> RoaringTreemap {
        let portable = self.bytes.strip_prefix(&PORTABLE_MAGIC.to_le_bytes());
        let set = portable.and_then(|bytes| RoaringTreemap::deserialize_from(bytes).ok());
        set.unwrap_or_else(|| self.set_by_ranges())
    }

    /// Decodes valid layouts that the crate does not read: the native layout, and adjacent runs.
    fn set_by_ranges(&self) -> RoaringTreemap {
        let mut set = RoaringTreemap::new();
        for container in &self.containers {
            let ranges = self.ranges_of(container);
            // the crate keeps a container as runs only if the range inserted first is not short
            let longest = ranges.iter().max_by_key(|range| range.end - range.start);
            if let Some(range) = longest {
                set.insert_range(range.clone());
            }
            for range in ranges {
                set.insert_range(range);
            }
        }
        set
    }
}

/// Encodes in the portable layout, each container in its smallest form.
fn encoded(mut set: RoaringTreemap) -> Result<Vec<u8>> {
    set.optimize();
    let size = PORTABLE_MAGIC.to_le_bytes().len() + set.serialized_size();
    if i32::try_from(size).is_err() {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&PORTABLE_MAGIC.to_le_bytes());
    let written = set.serialize_into(&mut bytes);
    written.map_err(|cause| too_large().because(cause))?;
    Ok(bytes)
}

pub(super) fn too_large() -> Error {
    Error::invalid(
        "dv.too_large",
        "a deletion vector, or a file of them, takes 2 GiB or more, which a descriptor cannot address: \
         write the vectors to more files, or rewrite the data file",
    )
}
