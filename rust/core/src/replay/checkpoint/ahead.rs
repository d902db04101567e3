//! Parts of a checkpoint that are fetched before they are read, and the pieces in which rows are.

use std::ops::Range;

use crate::codec::checkpoint::{CheckpointFile, FileAction};
use crate::codec::file_columns::FileColumns;
use crate::codec::parquet_file::FooterDecoder;
use crate::log::CheckpointInstance;
use crate::log::path::CheckpointName;

/// The rows of a checkpoint that will be read first.
#[derive(Clone, Debug)]
pub struct RowsAhead {
    /// `add` or `remove`.
    pub action: FileAction,
    /// The columns of each row, or those of a filter that comes before them.
    pub columns: FileColumns,
    /// True if these are the columns of a filter.
    pub filters: bool,
    /// In what pieces.
    pub grain: Grain,
}

impl RowsAhead {
    pub(super) fn ranges(&self, file: &CheckpointFile) -> Vec<Range<u64>> {
        let fetched = file.unfetched();
        let mut ranges = Vec::new();
        for unit in file.units(self.action, &self.columns, self.grain.unit_bytes) {
            let request = match self.filters {
                true => file.request_parsed(&unit, &self.columns),
                false => file.request(&unit, self.action, &self.columns, None),
            };
            ranges.extend(request.missing(&fetched));
        }
        ranges
    }
}

/// The ranges with which the files of a checkpoint are opened.
pub fn heads(instance: &CheckpointInstance) -> Vec<(String, Option<Range<u64>>)> {
    let mut heads = Vec::with_capacity(instance.files.len());
    for file in &instance.files {
        let json = instance.name == (CheckpointName::Uuid { json: true });
        if json || file.size <= SMALL {
            heads.push((file.path.clone(), None));
        } else if let Ok(decoder) = FooterDecoder::far(file.size, CheckpointFile::FOOTER) {
            let ranges = decoder.missing().iter();
            heads.extend(ranges.map(|range| (file.path.clone(), Some(range.clone()))));
        }
    }
    heads
}

/// A checkpoint file of at most this many bytes is fetched whole before it is opened.
const SMALL: u64 = 1 << 20;

/// The size of the pieces that the rows of a checkpoint are cut into.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    /// A batch is closed at this many rows.
    pub batch_rows: usize,
    /// A row group is cut where its asked-for leaves have more compressed bytes than this.
    pub unit_bytes: u64,
}

impl Grain {
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
    /// Small batches, to be looked at once: what is decoded stays in the CPU caches.
    pub const STREAMED: Self = Self {
        batch_rows: 4 * 1024,
        unit_bytes: 2 << 20,
    };
}
