//! Checks that files written for a commit still exist: a vacuum deletes files that stay uncommitted for longer
//! than the retention, even if their writer is still running.

use std::sync::Arc;

use super::Transaction;
use crate::error::{Error, Result};
use crate::spec::properties::TableProperties;
use crate::storage::{now, pool};
use crate::write::StagedFile;

/// The age from which files are checked, in milliseconds, unless half of the retention is shorter.
const CHECKED_AGE: i64 = 60 * 60 * 1000;

impl Transaction {
    /// Checks the files that are older than an hour, or than half of the retention.
    ///
    /// # Errors
    ///
    /// Storage: `rows.vacuumed` for a file that is gone, or has another size.
    pub(super) fn check_staged(&self) -> Result<()> {
        if self.staged_files.is_empty() {
            return Ok(());
        }
        let retention = |(metadata, protocol)| {
            let (properties, _) = TableProperties::new(metadata, protocol)?;
            Ok::<_, Error>(properties.deleted_file_retention)
        };
        let mut shortest = retention(self.effective()?)?;
        if let Some(base) = &self.base {
            shortest = shortest.min(retention((&base.metadata, &base.protocol))?);
        }
        let latest = now().saturating_sub((shortest / 2).min(CHECKED_AGE));
        let old = |file: &&StagedFile| file.written <= latest;
        let old: Vec<StagedFile> = self.staged_files.iter().filter(old).cloned().collect();
        if old.is_empty() {
            return Ok(());
        }
        let storage = Arc::clone(&self.source.storage);
        pool::map_concurrently(old, move |file| match storage.head(&file.path) {
            Ok(stored) if file.size.is_none_or(|size| size == stored.size) => Ok(()),
            Err(error) if error.code() != "storage.not_found" => Err(error),
            _ => Err(vacuumed(file)),
        })
        .map(drop)
    }
}

fn vacuumed(file: &StagedFile) -> Error {
    let message = "this file was written for the commit, and is gone or has another size: probably a \
                   vacuum deleted it, since writing took longer than delta.deletedFileRetentionDuration. \
                   Nothing was committed: write again, and set a longer retention";
    Error::storage("rows.vacuumed", message).at_path(file.path.clone())
}
