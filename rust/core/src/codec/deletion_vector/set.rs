//! Vectors as sets of the `roaring` crate: made of rows, combined, encoded.
//!
//! A new vector is written in the portable layout and decoded like any other vector, so that there
//! is one kind in memory. The crate is handed nothing but bytes that the decoder has checked.

use std::ops::{BitAndAssign, BitOrAssign, SubAssign};

use roaring::RoaringTreemap;

use super::decode::PORTABLE_MAGIC;
use super::{DeletionVector, ROWS_END, base85};
use crate::error::{Error, Result};
use crate::spec::DeletionVectorDescriptor;

impl DeletionVector {
    /// The vector of these rows, in any order; rows that are named twice count once.
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

    /// Rows that are in one of them or in both.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_large`, for more bytes than a descriptor can tell.
    pub fn union(&self, other: &Self) -> Result<Self> {
        let mut set = self.set();
        set.bitor_assign(other.set());
        Self::of_set(set)
    }

    /// Rows that are in both.
    ///
    /// # Errors
    ///
    /// As [`DeletionVector::union`] has them.
    pub fn intersection(&self, other: &Self) -> Result<Self> {
        let mut set = self.set();
        set.bitand_assign(other.set());
        Self::of_set(set)
    }

    /// Rows of this that are not in the other.
    ///
    /// # Errors
    ///
    /// As [`DeletionVector::union`] has them.
    pub fn difference(&self, other: &Self) -> Result<Self> {
        let mut set = self.set();
        set.sub_assign(other.set());
        Self::of_set(set)
    }

    /// The bitmap, from its magic number to its last container: what `sizeInBytes` counts.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_large`, for more bytes than a descriptor can tell.
    pub fn encode(&self) -> Result<Vec<u8>> {
        written(self.set())
    }

    /// The vector in the log itself: a descriptor of storage type `i`.
    ///
    /// # Errors
    ///
    /// As [`DeletionVector::encode`] has them.
    pub fn encode_inline(&self) -> Result<DeletionVectorDescriptor> {
        let bitmap = self.encode()?;
        let size = i32::try_from(bitmap.len()).map_err(|_| too_large())?;
        DeletionVectorDescriptor::new("i", base85::encode(&bitmap), None, size, self.len_signed())
    }

    /// The number of rows as descriptors have it.
    pub(super) fn len_signed(&self) -> i64 {
        i64::try_from(self.len).unwrap_or(i64::MAX)
    }

    fn of_set(set: RoaringTreemap) -> Result<Self> {
        Self::decode_shared(written(set)?.into(), None)
    }

    /// The rows as a set, which takes no more memory than a small multiple of the bytes.
    pub(super) fn set(&self) -> RoaringTreemap {
        let portable = self.bytes.strip_prefix(&PORTABLE_MAGIC.to_le_bytes());
        let set = portable.and_then(|bytes| RoaringTreemap::deserialize_from(bytes).ok());
        set.unwrap_or_else(|| self.set_by_ranges())
    }

    /// Decodes a layout that the crate does not read, though it is sound: that of older writers,
    /// runs that touch.
    fn set_by_ranges(&self) -> RoaringTreemap {
        let mut set = RoaringTreemap::new();
        for container in &self.containers {
            let ranges = self.ranges_of(container);
            // a container that begins with a long run is kept as runs, as its bytes are
            let longest = ranges.iter().max_by_key(|range| range.end - range.start);
            longest.map(|range| set.insert_range(range.clone()));
            for range in ranges {
                set.insert_range(range);
            }
        }
        set
    }
}

/// In the portable layout, each container in the smallest of its forms.
fn written(mut set: RoaringTreemap) -> Result<Vec<u8>> {
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
        "the deletion vectors take 2 GiB or more, which no descriptor can tell: \
         use more files, or rewrite the data file",
    )
}
