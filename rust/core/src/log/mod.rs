//! The files of the log, and those that make up a version.

pub mod actions;
pub mod catalog;
pub(crate) mod clock;
pub mod commit;
pub mod hint;
pub mod history;
pub mod listing;
pub mod managed;
pub mod path;
pub mod segment;
pub mod warning;

pub use catalog::Catalog;
pub use listing::{CheckpointInstance, LogListing, VersionedFile};
pub use managed::ManagedLog;
pub use segment::{LogSegment, TailFile, UnreadableFiles};
pub use warning::LogWarning;
