//! One Parquet data file into logical rows.
//!
//! A [`ReadPlan`] says what is read, the same for all files of a snapshot. It opens a [`DataFile`]:
//! one look at the footer finds the physical columns of the logical ones; then each [`UnitRows`] is read
//! on its own, only the wanted columns, without the deleted rows, as batches of the plan's schema.
//! No log is read here, and nothing is kept of a file that has been read.
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
pub use open::{OpenFile, UnitRows};
pub use plan::{Extras, ReadPlan, TableLayout};
pub use reader::UnitBatches;

/// A data file of the log, with what is needed to read it.
#[derive(Clone, Debug, Default)]
pub struct DataFile<'a> {
    /// The path that the storage takes.
    pub path: Cow<'a, str>,
    /// The file as the log has it. Without a size, which is then below zero, the storage is asked.
    pub file: Cow<'a, ScanFile>,
    /// The rows that are deleted.
    pub deletion_vector: Option<Arc<DeletionVector>>,
    /// The rows to read of those that are not deleted; `None` for all.
    pub only: Option<Arc<DeletionVector>>,
    /// Its bytes, where somebody has begun to fetch them, or keeps them.
    pub bytes: Option<Arc<FileBytes>>,
}

impl ScanFile {
    /// The file as the reader of data files takes it.
    ///
    /// # Errors
    ///
    /// Corrupt: a path that leads out of the table and its allowed roots.
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
