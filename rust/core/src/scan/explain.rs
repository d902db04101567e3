//! The number and the size of the files that remain after each step of a filter.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_buffer::BooleanBuffer;

use crate::codec::file_actions::FileField;

/// The number and the size of some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesAndBytes {
    /// The number of files.
    pub files: u64,
    /// The sum of their sizes in the log.
    pub bytes: u64,
}

impl FilesAndBytes {
    /// Adds the files of a batch that passed a step, or all of them without `passed`; their sizes are in the
    /// column `size`.
    pub(super) fn add(&mut self, rows: &RecordBatch, passed: Option<&BooleanBuffer>) {
        let Some(sizes) = rows
            .column_by_name(FileField::Size.name())
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

/// The files that remain after each step of a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// All live files.
    pub all: FilesAndBytes,
    /// After pruning by partition values.
    pub partitions: FilesAndBytes,
    /// After skipping by statistics: the files to read.
    pub statistics: FilesAndBytes,
}
