//! Planned changes to the rows that a statement reads, and the counts of changed rows and files.

use std::time::Duration;

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};

use crate::error::Result;

/// The changes to the rows of one batch.
#[derive(Debug)]
pub(super) struct RowPlan {
    /// The rows to remove from their file: deleted or updated.
    pub removed: BooleanArray,
    /// The updated rows among them: their positions in the batch, and their new values of the table's
    /// columns.
    pub updated: Option<(UInt32Array, RecordBatch)>,
}

/// Plans the changes to rows of live files.
pub(super) trait RowPlanner {
    /// Returns the columns that `plan` needs, in the table's order; `None` if it deletes every row, and
    /// so needs neither columns nor row ids.
    fn columns(&self) -> Option<Vec<String>>;

    /// Returns the maximum number of rows for one call of `plan`; it limits the memory for their new values.
    fn max_rows(&self) -> usize {
        usize::MAX
    }

    /// Returns `true` if `plan` may be called again after an error: if the new values are too large
    /// (`formula.too_large`), it is called for each half of the rows.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Plans the changes to these rows. They have the columns of [`RowPlanner::columns`], or all of the
    /// table's if changes are recorded in change data files.
    fn plan(&mut self, rows: &RecordBatch) -> Result<RowPlan>;
}

/// Deletes every row that is read.
#[derive(Debug)]
pub(super) struct DeleteAll;

impl RowPlanner for DeleteAll {
    fn columns(&self) -> Option<Vec<String>> {
        None
    }

    fn plan(&mut self, rows: &RecordBatch) -> Result<RowPlan> {
        Ok(RowPlan {
            removed: BooleanArray::from(vec![true; rows.num_rows()]),
            updated: None,
        })
    }
}

/// The counts of changed rows and files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub deleted: u64,
    /// True if `deleted` is too low: a file without a row count in its statistics was removed unread.
    pub deleted_is_incomplete: bool,
    pub updated: u64,
    /// Unchanged rows that were copied to another file.
    pub copied: u64,
    pub removed_files: u64,
    pub removed_bytes: u64,
    /// Files that got their first deletion vector.
    pub vectors_added: u64,
    /// Files whose deletion vector was replaced.
    pub vectors_updated: u64,
    /// Removed files that had a deletion vector.
    pub vectors_removed: u64,
    /// Remaining rows in files that got a deletion vector.
    pub kept_rows: u64,
    /// Bytes of files that got a deletion vector.
    pub kept_bytes: u64,
    /// The time until all rows to change were known.
    pub scan: Duration,
    /// The time to stage their change.
    pub rewrite: Duration,
}
