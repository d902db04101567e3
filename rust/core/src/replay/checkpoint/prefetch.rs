//! Parts of a checkpoint that are fetched ahead, and the sizes of batches and units.

use std::ops::Range;

use crate::codec::checkpoint::{CheckpointFile, FileAction};
use crate::codec::file_columns::FileColumns;
use crate::codec::parquet_file::FooterDecoder;
use crate::log::CheckpointInstance;
use crate::log::path::CheckpointName;

/// The rows of a checkpoint to read first.
#[derive(Clone, Debug)]
pub struct RowsToPrefetch {
    /// `add` or `remove`.
    pub action: FileAction,
    /// The columns of each row, or those of a filter to apply first.
    pub columns: FileColumns,
    /// True if these are the columns of a filter.
    pub for_filter: bool,
    /// The size of batches and units.
    pub sizes: BatchSizes,
}

impl RowsToPrefetch {
    pub(super) fn ranges(&self, file: &CheckpointFile) -> Vec<Range<u64>> {
        let fetched = file.unfetched();
        let mut ranges = Vec::new();
        for unit in file.units(self.action, &self.columns, self.sizes.unit_bytes) {
            let request = if self.for_filter {
                file.request_parsed(&unit, &self.columns)
            } else {
                file.request(&unit, self.action, &self.columns, None)
            };
            ranges.extend(request.missing(&fetched));
        }
        ranges
    }
}

/// Returns the ranges with which the files of a checkpoint are opened.
pub fn opening_ranges(instance: &CheckpointInstance) -> Vec<(String, Option<Range<u64>>)> {
    let mut ranges_by_path = Vec::with_capacity(instance.files.len());
    for file in &instance.files {
        let json = instance.name == (CheckpointName::Uuid { json: true });
        if json || file.size <= WHOLE_CHECKPOINT_BYTES {
            ranges_by_path.push((file.path.clone(), None));
        } else if let Ok(decoder) = FooterDecoder::remote(file.size, CheckpointFile::FOOTER) {
            let ranges = decoder.missing().iter();
            ranges_by_path.extend(ranges.map(|range| (file.path.clone(), Some(range.clone()))));
        }
    }
    ranges_by_path
}

/// A checkpoint file of at most this many bytes is fetched as a whole.
const WHOLE_CHECKPOINT_BYTES: u64 = 1 << 20;

/// The size of the batches and units in which the rows of a checkpoint are read.
#[derive(Clone, Copy, Debug)]
pub struct BatchSizes {
    /// The number of rows at which a batch is closed.
    pub batch_rows: usize,
    /// A row group is split if its requested leaves have more compressed bytes than this.
    pub unit_bytes: u64,
}

impl BatchSizes {
    /// Few large batches, to be kept: each batch has a fixed cost.
    pub const KEPT: Self = Self {
        batch_rows: 32 * 1024,
        unit_bytes: 8 << 20,
    };
    /// Medium batches, to be sent to another process.
    pub const SENT: Self = Self {
        batch_rows: 16 * 1024,
        unit_bytes: 4 << 20,
    };
    /// Small batches, for immediate use: decoded data stays in the CPU caches.
    pub const STREAMED: Self = Self {
        batch_rows: 4 * 1024,
        unit_bytes: 2 << 20,
    };
}
