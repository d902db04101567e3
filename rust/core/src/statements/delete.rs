//! DELETE: removes rows from the table.

use super::change::Changer;
use super::row_plan::DeleteAll;
use super::write::{
    no_changes, predicate_parameter, row_metrics, set_times, set_txn, write_options,
};
use crate::error::Result;
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::table::{At, RowsOptions, RowsWritten, Table};
use crate::write::WrittenFiles;

impl Table {
    /// Deletes the rows of the newest version that satisfy a condition, or all.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`Predicate::bind`], [`Changer::change`] and [`Table::commit`].
    pub fn delete(
        &self,
        condition: Option<&Predicate>,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let parameters = predicate_parameter(condition);
        let mut transaction = self.begin(&snapshot, "DELETE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.commit_written(transaction, WrittenFiles::new(self.source()));
        }
        transaction.read(condition)?;
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(self.source(), &snapshot, metadata, protocol, write, true)?;
        delete_matching(&mut changer, &snapshot, condition)?;
        if changer.is_empty() && options.txn.is_none() {
            return Ok(no_changes([
                "numDeletedRows",
                "numRemovedFiles",
                "numAddedFiles",
            ]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        transaction.description().metrics = row_metrics(&written, &counts);
        set_times(&mut transaction, &counts);
        self.commit_written(transaction, written)
    }
}

/// Deletes the rows that satisfy the condition. A file is not read if the log shows that all of its rows do.
pub(super) fn delete_matching(
    changer: &mut Changer,
    snapshot: &Snapshot,
    condition: Option<&Predicate>,
) -> Result<()> {
    let Some(condition) = condition else {
        for file in changer.candidates(None)? {
            changer.remove_file(file);
        }
        return Ok(());
    };
    let bound = condition.bind(snapshot.schema())?;
    // the files with rows for which the condition may be false or unknown
    let not_matching = snapshot.filter_of(&condition.clone().not_true())?;
    let not_matching = changer.candidate_paths(not_matching)?;
    let candidates = changer.candidates(Some(snapshot.filter_of(condition)?))?;
    let (to_read, to_remove): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .partition(|file| not_matching.contains(&file.path));
    changer.leave_deletes_to_vectors(&to_read);
    changer.change(to_read, Some(&bound), &mut DeleteAll)?;
    to_remove
        .into_iter()
        .for_each(|file| changer.remove_file(file));
    Ok(())
}
