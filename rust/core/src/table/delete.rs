//! DELETE: removes rows from the table.

use serde_json::json;

use super::write::{RowsOptions, RowsWritten, changed, nothing_done, set_txn, write_options};
use super::{At, Table};
use crate::error::Result;
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::statements::{Changer, DeleteAll};
use crate::transaction::metric_strings;
use crate::write::WrittenFiles;

impl Table {
    /// Deletes the rows of the newest version that satisfy a condition, or all.
    ///
    /// # Errors
    ///
    /// Invalid argument: the condition; as [`Table::commit`].
    pub fn delete(
        &self,
        condition: Option<&Predicate>,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let text = condition.map_or_else(|| "true".to_owned(), ToString::to_string);
        let parameters = [("predicate", json!(json!([text]).to_string()))];
        let mut transaction = self.begin(&snapshot, "DELETE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.settle(transaction, WrittenFiles::new(&self.source));
        }
        transaction.read(condition)?;
        let feed = !snapshot.properties().deletion_vectors;
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(&self.source, &snapshot, metadata, protocol, write, feed)?;
        mark(&mut changer, &snapshot, condition)?;
        if changer.is_empty() && options.txn.is_none() {
            return Ok(nothing_done([
                "numDeletedRows",
                "numRemovedFiles",
                "numAddedFiles",
            ]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        let mut metrics = changed(&written, &counts);
        metrics.extend(metric_strings([
            ("numRemovedFiles", counts.removed_files),
            ("numRemovedBytes", counts.removed_bytes),
        ]));
        transaction.description().metrics = metrics;
        self.settle(transaction, written)
    }
}

/// Marks the rows that satisfy the condition as deleted. A file is not read if the log shows that all of
/// its rows do.
pub(super) fn mark(
    changer: &mut Changer,
    snapshot: &Snapshot,
    condition: Option<&Predicate>,
) -> Result<()> {
    let Some(condition) = condition else {
        for file in changer.candidates(None)? {
            changer.remove_whole(file);
        }
        return Ok(());
    };
    let bound = condition.bind(snapshot.schema())?;
    // the files with rows for which the condition may be false or unknown
    let others = snapshot.filter_of(&condition.clone().not_true())?;
    let others = changer.candidate_paths(others)?;
    let partly_matching = changer.candidates(Some(snapshot.filter_of(condition)?))?;
    let (partly_matching, matching): (Vec<_>, Vec<_>) = partly_matching
        .into_iter()
        .partition(|file| others.contains(&file.path));
    changer.change(partly_matching, Some(&bound), &mut DeleteAll)?;
    matching
        .into_iter()
        .for_each(|file| changer.remove_whole(file));
    Ok(())
}
