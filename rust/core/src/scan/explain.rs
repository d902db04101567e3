//! The files that remain after each step of a scan.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_buffer::BooleanBuffer;

/// The number and the size of some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesAndBytes {
    /// The number of files.
    pub files: u64,
    /// The sum of their sizes in the log.
    pub bytes: u64,
}

impl FilesAndBytes {
    /// Adds those files of a batch with the column `size` whose bit is set.
    pub(super) fn add(&mut self, rows: &RecordBatch, passed: Option<&BooleanBuffer>) {
        let Some(sizes) = rows
            .column_by_name("size")
            .and_then(|sizes| sizes.as_primitive_opt::<Int64Type>())
        else {
            return;
        };
        for (row, size) in sizes.values().iter().enumerate() {
            if passed.is_none_or(|passed| passed.value(row)) {
                self.files += 1;
                self.bytes = self
                    .bytes
                    .saturating_add(u64::try_from(*size).unwrap_or_default());
            }
        }
    }
}

/// The files that remain after each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// All live files.
    pub all: FilesAndBytes,
    /// After pruning by partition values.
    pub partitions: FilesAndBytes,
    /// After skipping by statistics: the files to read.
    pub statistics: FilesAndBytes,
}
