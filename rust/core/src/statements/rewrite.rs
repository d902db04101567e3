//! Rewrites files without changing any row.

use super::change::Changer;
use super::read_ahead::OWN_VECTOR;
use super::row_plan::Counts;
use crate::error::Result;
use crate::scan::data_file::{Extras, ReadPlan};
use crate::scan::data_files::open_with_deleted_rows;
use crate::transaction::Transaction;
use crate::write::{AddFile, WrittenFiles};

/// Rewrites files of one snapshot.
#[derive(Debug)]
pub(super) struct Rewrite {
    changer: Changer,
}

impl Rewrite {
    /// Creates a rewrite with this changer; files are read with the snapshot's metadata.
    pub(super) fn new(mut changer: Changer) -> Result<Self> {
        changer.read_with_old_metadata()?;
        Ok(Self { changer })
    }

    /// Returns `true` if a column of the file has a different type than the table's.
    pub(super) fn has_other_types(&self, file: &AddFile) -> Result<bool> {
        let plan = ReadPlan::new(self.changer.table.clone(), None, Extras::default())?;
        let open = open_with_deleted_rows(&plan, &self.changer.source, &file.scan_file())?;
        Ok(open.has_other_types())
    }

    /// Removes a file and rewrites its live rows: once enough files are collected, or in [`Self::stage`].
    pub(super) fn file(&mut self, file: AddFile) -> Result<()> {
        self.changer.rewrite(file, OWN_VECTOR)
    }

    /// Returns `true` if no file is rewritten.
    pub(super) fn is_empty(&self) -> bool {
        self.changer.is_empty()
    }

    /// Stages the rewritten files.
    pub(super) fn stage(self, transaction: &mut Transaction) -> Result<(WrittenFiles, Counts)> {
        let (mut written, counts) = self.changer.stage_with(transaction, false)?;
        for file in &mut written.adds {
            file.data_change = false;
        }
        Ok((written, counts))
    }
}
