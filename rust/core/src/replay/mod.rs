//! Replays log files to the live files of a version.

pub mod active_files;
pub mod checkpoint;
pub mod file_filter;
pub mod key;
pub mod reconciler;
pub mod source;
pub mod state;
pub mod tail;

pub use active_files::ActiveFiles;
pub use checkpoint::{
    BatchSizes, Checkpoint, CheckpointPart, KeyedRows, RowsToPrefetch, Selection, opening_ranges,
};
pub use file_filter::FileFilter;
pub use key::{FileActionKey, KeyHasher, KeySet, Keys};
pub use reconciler::{LiveActions, Reconciler};
pub use source::Source;
pub use state::LogState;
pub use tail::{decode_tail, decode_tail_sequentially};
