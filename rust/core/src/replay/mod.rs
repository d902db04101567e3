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
pub use checkpoint::{Checkpoint, CheckpointPart, Grain, KeyedRows, RowsAhead, Selection, heads};
pub use file_filter::FileFilter;
pub use key::{FileActionKey, Folded, KeySet, Keys};
pub use reconciler::{LiveActions, Reconciler};
pub use source::Source;
pub use state::LogState;
pub use tail::{decode_in_turn, decode_tail};
