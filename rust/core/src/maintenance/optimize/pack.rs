//! Compaction of the rows of a bin into one file.

use crate::error::Result;
use crate::replay::Source;
use crate::scan::Split;
use crate::spec::{Metadata, Protocol};
use crate::storage::interrupt;
use crate::storage::pool::rows::ReadAheadLimits;
use crate::write::{DataWriter, WriteOptions, WrittenFiles};

/// The parts of the table's definition that its data files depend on.
#[derive(Clone, Debug)]
pub struct RewriteSettings {
    /// The table's metadata.
    pub metadata: Metadata,
    /// The table's protocol.
    pub protocol: Protocol,
    /// True if files are synced to disk before the write returns.
    pub durable: bool,
}

impl RewriteSettings {
    /// Creates a writer that closes its file only at the end.
    pub(super) fn writer(&self) -> Result<DataWriter> {
        let options = WriteOptions {
            target_file_size: usize::MAX,
            durable: self.durable,
        };
        DataWriter::new(&self.metadata, &self.protocol, options)
    }
}

/// Writes the rows of a bin, as returned by [`super::Plan::split`], into one file; `threads` is the number of
/// decoding threads.
pub fn pack(
    source: &Source,
    settings: &RewriteSettings,
    split: &Split,
    threads: usize,
) -> Result<WrittenFiles> {
    let mut written = WrittenFiles::new(source);
    let mut writer = settings.writer()?;
    let limits = ReadAheadLimits {
        threads,
        ..ReadAheadLimits::default()
    };
    for rows in split.rows_with(source, limits)? {
        interrupt::check()?;
        writer.copy(&rows?, &mut written)?;
    }
    writer.finish(&mut written)?;
    Ok(written)
}
