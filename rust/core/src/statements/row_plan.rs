//! The change that a statement makes to each row that it reads, and the number of rows and files
//! that it changed.

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};

use crate::error::Result;

/// The changes to the rows of one batch.
#[derive(Debug)]
pub struct RowPlan {
    /// The rows that leave their file: deleted or updated.
    pub removed: BooleanArray,
    /// The updated rows among them by position in the batch, and their new values: the table's columns.
    pub updated: Option<(UInt32Array, RecordBatch)>,
}

/// Decides what happens to rows of live files.
pub trait RowPlanner {
    /// The columns of the table that it looks at, in the table's order; `None` if it looks at nothing of a
    /// row, not even at its id.
    fn columns(&self) -> Option<Vec<String>>;

    /// The number of rows that it takes at a time: what it makes of more may take too much memory.
    fn most_rows(&self) -> usize {
        usize::MAX
    }

    /// Returns `true` if a plan that failed leaves nothing behind: then it is made of fewer rows
    /// where the values of all are too large together.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Plans the changes to these rows, which have at least those columns first, and others after
    /// them.
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

/// The numbers of the rows that were changed so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Deleted rows.
    pub deleted: u64,
    /// True if there are more: of files that were removed unread, and whose statistics lack their number.
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
    /// Rows that are left in files that got a deletion vector.
    pub vectors_rows: u64,
    /// Bytes of these files.
    pub vectors_bytes: u64,
}
