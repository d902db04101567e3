//! Deletion vectors: encoding, decoding, and the rows that a reader skips.
//!
//! A vector is kept in its encoded form: the bytes and an index of its containers, validated once. Ranges,
//! masks and selections iterate over its containers (arrays, bitmaps, runs), a word at a time where possible.
//! Vectors are built and combined with the `roaring` crate. No I/O: the caller fetches the bytes.
//!
//! Protocol: "Deletion Vector Format".

use std::fmt;

use bytes::Bytes;

use crate::error::{Error, Result};

pub mod base85;
mod container;
mod decode;
mod descriptors;
mod file;
mod location;
mod ranges;
mod select;
mod set;

pub use descriptors::Descriptors;
pub use file::FileBuilder;
pub(crate) use file::{FRAME_BYTES, check_version};
pub use location::{VectorLocation, as_relative, hash_of_text, vector_location};

use container::{Container, ContainerRows};

/// Rows are less than this: the high half of a row number is less than `i32::MAX`.
pub const ROWS_END: u64 = 0x7FFF_FFFF << 32;

/// Deleted rows of one data file: zero-based positions in file order, before any filter.
///
/// A clone shares the bytes that it was decoded from, and copies the index of the containers.
#[derive(Clone)]
pub struct DeletionVector {
    /// Sorted by key.
    containers: Vec<Container>,
    /// The bytes that the containers refer to.
    bytes: Bytes,
    len: u64,
}

impl DeletionVector {
    /// Returns the vector without deleted rows.
    pub fn empty() -> Self {
        Self {
            containers: Vec::new(),
            bytes: Bytes::new(),
            len: 0,
        }
    }

    /// Returns the number of deleted rows.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns `true` if no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns `true` if the row is deleted.
    pub fn contains(&self, row: u64) -> bool {
        let key = row >> 16;
        let low = container::low(row);
        self.containers
            .binary_search_by_key(&key, |container| container.key)
            .ok()
            .and_then(|index| self.containers.get(index))
            .is_some_and(|container| self.rows_of(container).contains(low))
    }

    /// Returns the first deleted row.
    pub fn min(&self) -> Option<u64> {
        let container = self.containers.first()?;
        Some(container.base() + u64::from(self.rows_of(container).min()?))
    }

    /// Returns the last deleted row.
    pub fn max(&self) -> Option<u64> {
        let container = self.containers.last()?;
        Some(container.base() + u64::from(self.rows_of(container).max()?))
    }

    /// Checks that all deleted rows exist in a file with this number of rows.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.beyond_file`.
    pub fn check_within(&self, num_rows: u64) -> Result<()> {
        match self.max() {
            Some(last) if last >= num_rows => Err(Error::corrupt(
                "dv.beyond_file",
                format!(
                    "the deletion vector deletes row {last} of a data file that has {num_rows} rows: \
                     it belongs to another file, or the log is wrong"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Checks the number of rows against the `cardinality` of the descriptor.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.cardinality`.
    pub fn check_cardinality(&self, cardinality: u64) -> Result<()> {
        if cardinality == self.len {
            return Ok(());
        }
        Err(Error::corrupt(
            "dv.cardinality",
            format!(
                "the descriptor states {cardinality} deleted rows, but the deletion vector has {}: one of them \
                 is damaged, or they do not belong together",
                self.len
            ),
        ))
    }

    /// Returns the approximate memory use in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.containers.len() * size_of::<Container>()
    }

    fn rows_of(&self, container: &Container) -> ContainerRows<'_> {
        container.rows(&self.bytes)
    }
}

impl PartialEq for DeletionVector {
    /// Compares the rows, independent of their encoding.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.set() == other.set()
    }
}

impl Eq for DeletionVector {}

impl fmt::Debug for DeletionVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeletionVector")
            .field("len", &self.len)
            .field("min", &self.min())
            .field("max", &self.max())
            .finish()
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests;
