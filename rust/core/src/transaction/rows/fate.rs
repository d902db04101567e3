//! What becomes of rows, and how many of them.

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};

use crate::error::Result;

/// What becomes of the rows of one batch.
#[derive(Debug)]
pub struct Fate {
    /// Rows that leave as they are.
    pub leaves: BooleanArray,
    /// Those of them that become others, by place in the batch, and what they become: the table's
    /// columns.
    pub becomes: Option<(UInt32Array, RecordBatch)>,
}

/// Judges the rows of live files.
pub trait Judge {
    /// What becomes of these rows: the table's columns, and more behind them.
    ///
    /// # Errors
    ///
    /// What evaluation says.
    fn judge(&mut self, rows: &RecordBatch) -> Result<Fate>;
}

/// All rows that are read are to go.
#[derive(Debug)]
pub struct All;

impl Judge for All {
    fn judge(&mut self, rows: &RecordBatch) -> Result<Fate> {
        Ok(Fate {
            leaves: BooleanArray::from(vec![true; rows.num_rows()]),
            becomes: None,
        })
    }
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Rows that are gone.
    pub deleted: u64,
    /// Rows that became others.
    pub updated: u64,
    /// Rows that were copied to another file.
    pub copied: u64,
    /// Files that are gone.
    pub removed_files: u64,
    /// Their bytes.
    pub removed_bytes: u64,
    /// Files that got their first vector.
    pub vectors_added: u64,
    /// Files that had one.
    pub vectors_updated: u64,
}
