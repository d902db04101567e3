//! UPDATE: sets columns of rows.

use super::write::{
    RowsOptions, RowsWritten, no_changes, predicate_parameter, row_metrics, set_txn, write_options,
};
use super::{At, Table};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::statements::{Assignments, Changer, UpdatePlanner};
use crate::transaction::metric_strings;
use crate::write::WrittenFiles;

impl Table {
    /// Sets columns of the rows that satisfy a condition, or of all.
    ///
    /// # Errors
    ///
    /// Invalid argument: a row that breaks a rule of the table; as [`Table::snapshot`], [`Predicate::bind`],
    /// [`UpdatePlanner::new`], [`Changer::change`] and [`Table::commit`].
    pub fn update_rows(
        &self,
        condition: Option<&Predicate>,
        set: &Assignments,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        if set.is_empty() {
            let message = "an update needs a column to set";
            return Err(Error::invalid("rows.column", message));
        }
        let snapshot = self.snapshot(At::Latest, None)?;
        let parameters = predicate_parameter(condition);
        let mut transaction = self.begin(&snapshot, "UPDATE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.commit_written(transaction, WrittenFiles::new(self.source()));
        }
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(self.source(), &snapshot, metadata, protocol, write, true)?;
        let mut planner = UpdatePlanner::new(metadata, protocol, set)?;
        transaction.read(condition)?;
        let bound = condition
            .map(|condition| condition.bind(snapshot.schema()))
            .transpose()?;
        let filter = condition
            .map(|condition| snapshot.filter_of(condition))
            .transpose()?;
        let files = changer.candidates(filter)?;
        changer.change(files, bound.as_ref(), &mut planner)?;
        if changer.is_empty() && options.txn.is_none() {
            return Ok(no_changes(["numUpdatedRows"]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        let mut metrics = row_metrics(&written, &counts);
        metrics.remove("numDeletedRows");
        metrics.extend(metric_strings([
            ("numUpdatedRows", counts.updated),
            ("numRemovedFiles", counts.removed_files),
            ("numRemovedBytes", counts.removed_bytes),
        ]));
        transaction.description().metrics = metrics;
        self.commit_written(transaction, written)
    }
}
