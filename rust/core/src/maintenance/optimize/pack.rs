//! The rows of a bin into one file.

use crate::error::Result;
use crate::replay::Source;
use crate::scan::Split;
use crate::spec::{Metadata, Protocol};
use crate::storage::interrupt;
use crate::storage::pool::rows::Look;
use crate::write::{DataWriter, WriteOptions, WrittenFiles};

/// The table's definition, as far as its data files depend on it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The table's metadata.
    pub metadata: Metadata,
    /// The table's protocol.
    pub protocol: Protocol,
    /// True if files are on disk when they are said to be written.
    pub durable: bool,
}

impl Facts {
    /// A writer that closes no file before its end.
    pub(super) fn writer(&self) -> Result<DataWriter> {
        let options = WriteOptions {
            target_file_size: usize::MAX,
            durable: self.durable,
        };
        DataWriter::new(&self.metadata, &self.protocol, options)
    }
}

/// Writes the rows of a bin, as [`super::Plan::split`] gives them, into one file; `threads` decode.
///
/// # Errors
///
/// The errors of the data files and their vectors; storage.
pub fn pack(source: &Source, facts: &Facts, split: &Split, threads: usize) -> Result<WrittenFiles> {
    let mut written = WrittenFiles::new(source);
    let mut writer = facts.writer()?;
    let look = Look {
        threads,
        ..Look::default()
    };
    for rows in split.rows_with(source, look)? {
        interrupt::check()?;
        writer.copy(&rows?, &mut written)?;
    }
    writer.finish(&mut written)?;
    Ok(written)
}
