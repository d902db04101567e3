//! What a filter on files is to replay: columns to judge by, and a verdict on each row.

use std::fmt::Debug;

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use crate::codec::judged::JudgedColumns;
use crate::error::Result;

/// Leaves out live files before the rest of their columns is decoded.
pub trait FileFilter: Debug + Send + Sync {
    /// What [`FileFilter::may_match`] looks at.
    fn columns(&self) -> &JudgedColumns;

    /// One bit for each row: unset only where no row of the file can match.
    fn may_match(&self, judged: &RecordBatch) -> Result<BooleanBuffer>;
}
