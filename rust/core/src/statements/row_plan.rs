//! The changes of a statement to the rows that it reads, and the numbers of changed rows and files.

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};

use crate::error::Result;

/// The changes to the rows of one batch.
#[derive(Debug)]
pub struct RowPlan {
    /// The rows to remove from their file: deleted or updated.
    pub removed: BooleanArray,
    /// The updated rows among them: their positions in the batch, and their new values of the table's
    /// columns.
    pub updated: Option<(UInt32Array, RecordBatch)>,
}

/// Plans the changes to rows of live files.
pub trait RowPlanner {
    /// Returns the columns of the table that it needs, in the table's order; `None` if it needs nothing,
    /// not even row ids.
    fn columns(&self) -> Option<Vec<String>>;

    /// Returns the maximum number of rows that it takes at a time, if its result may be large.
    fn max_rows(&self) -> usize {
        usize::MAX
    }

    /// Returns `true` if a failed plan has no side effects: if the new values are too large, it is repeated
    /// with fewer rows.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Plans the changes to these rows, whose first columns are those of [`RowPlanner::columns`].
    ///
    /// # Errors
    ///
    /// The errors of evaluation.
    fn plan(&mut self, rows: &RecordBatch) -> Result<RowPlan>;
}

/// Deletes every row that is read.
#[derive(Debug)]
pub struct DeleteAll;

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

/// The numbers of changed rows and files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Deleted rows.
    pub deleted: u64,
    /// True if the number is incomplete: files were removed unread whose statistics lack it.
    pub deleted_unknown: bool,
    /// Updated rows.
    pub updated: u64,
    /// Unchanged rows that were copied to another file.
    pub copied: u64,
    /// Removed files.
    pub removed_files: u64,
    /// Bytes of the removed files.
    pub removed_bytes: u64,
    /// Files that got their first deletion vector.
    pub vectors_added: u64,
    /// Files whose deletion vector was replaced.
    pub vectors_updated: u64,
    /// Remaining rows in files that got a deletion vector.
    pub vectors_rows: u64,
    /// Bytes of files that got a deletion vector.
    pub vectors_bytes: u64,
}
