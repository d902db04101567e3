//! Reads one Parquet data file as logical rows.
//!
//! A [`ReadPlan`] has the columns to read, the same for all files of a snapshot. It opens a [`DataFile`]:
//! the footer determines the physical columns; then each [`UnitRows`] is read separately, only the
//! requested columns, without deleted rows, as batches of the plan's schema. No log is read here, and
//! nothing is kept of a file after reading.
//!
//! Protocol: "Reader Requirements for Column Mapping", "Type Widening", "Row Tracking",
//! "Partition Value Serialization", "Deletion Vectors".

use std::borrow::Cow;
use std::sync::Arc;

use super::scan_file::ScanFile;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::storage::{FileBytes, PathResolver};

mod cast;
mod columns;
mod file_schema;
mod file_unit;
mod footer;
mod matching;
mod open;
mod plan;
mod prune;
mod reader;
mod shape;
mod unit_decoder;
mod views;

pub use file_unit::FileUnit;
pub(crate) use footer::RULES as FOOTER_RULES;
pub use open::{OpenFile, UnitRows};
pub use plan::{Extras, ReadPlan, TableLayout, extra_index};
pub(crate) use prune::has_usable_bounds;

/// A data file of the log, with everything needed to read it.
#[derive(Clone, Debug, Default)]
pub struct DataFile<'a> {
    /// The storage path.
    pub path: Cow<'a, str>,
    /// The file as in the log. A negative size is unknown: it is requested from the storage.
    pub file: Cow<'a, ScanFile>,
    /// The deleted rows.
    pub deletion_vector: Option<Arc<DeletionVector>>,
    /// The rows to read of those that are not deleted; `None` for all.
    pub only: Option<Arc<DeletionVector>>,
    /// Its bytes, if they are cached or already being fetched.
    pub bytes: Option<Arc<FileBytes>>,
}

impl ScanFile {
    /// Combines a file of the log with its storage path and its deletion vector.
    pub fn data_file(
        &self,
        resolver: &PathResolver,
        vector: Option<Arc<DeletionVector>>,
    ) -> Result<DataFile<'_>> {
        let path = resolver
            .resolve("", &self.path)
            .map_err(|error| error.at_path(self.path.clone()))?;
        Ok(DataFile {
            path,
            file: Cow::Borrowed(self),
            deletion_vector: vector,
            only: None,
            bytes: None,
        })
    }
}

#[cfg(test)]
mod tests;
