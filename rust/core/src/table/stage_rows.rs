//! Rows that other processes write, for a commit of one.

use std::sync::Arc;

use super::{RowSource, Table};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::schema::StructType;
use crate::storage::interrupt;
use crate::transaction::actions::AddFile;
use crate::transaction::rows::{
    Intake, Layout, Purpose, RowWriter, WriteOptions, WrittenFiles, each_step,
};

/// Files that no commit speaks of yet.
#[derive(Debug, Default)]
pub struct StagedRows {
    /// What to commit.
    pub adds: Vec<AddFile>,
    /// Their rows.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Table {
    /// Writes rows into files as a table of this metadata and protocol wants them, and commits nothing;
    /// each row has to satisfy the condition. Where anything fails the files go away again.
    ///
    /// # Errors
    ///
    /// As [`Table::append`]; Unsupported: `rows.identity` where the table counts its rows, which several
    /// processes cannot.
    pub fn stage_rows(
        &self,
        metadata: &Metadata,
        protocol: &Protocol,
        rows: RowSource,
        condition: Option<&Predicate>,
        write: WriteOptions,
    ) -> Result<StagedRows> {
        protocol.check_writable()?;
        let layout = Layout::new(metadata, protocol, Purpose::Data, &[])?;
        let mut intake = Intake::new(metadata, protocol, &rows.schema())?;
        if let Some(condition) = condition {
            intake.demand(condition, &StructType::parse(&metadata.schema_string)?)?;
        }
        let mut written = WrittenFiles::new(&self.source);
        let mut writer = RowWriter::new(Arc::new(layout), write);
        each_step(rows, &mut |step| {
            let taken = intake.take(&step)?;
            if let Some((name, _)) = intake.marks().first() {
                let message = format!(
                    "the column {name} is an identity column, whose values one process gives: write these rows by \
                     Table.append, or bring the values along"
                );
                return Err(Error::unsupported("rows.identity", message));
            }
            writer.write(&taken, &mut written)
        })?;
        writer.finish(&mut written)?;
        let staged = StagedRows {
            adds: std::mem::take(&mut written.adds),
            rows: written.rows,
            bytes: written.bytes,
        };
        written.keep();
        Ok(staged)
    }

    /// Deletes files that no commit speaks of, by the paths that their actions would have.
    ///
    /// # Errors
    ///
    /// Corrupt: a path that leads out of the table. Storage.
    pub fn discard_staged(&self, paths: &[String]) -> Result<()> {
        let resolver = &self.source.resolver;
        let located = paths
            .iter()
            .map(|path| resolver.resolve("", path))
            .collect::<Result<Vec<_>>>()?;
        let located: Vec<&str> = located.iter().map(AsRef::as_ref).collect();
        let done = self.source.storage.delete(&located);
        done.into_iter().collect()
    }

    /// Moves files that no commit names to other paths in the table, neither encoded. A file that was
    /// moved before is left alone, so that a step that is repeated does no harm.
    ///
    /// # Errors
    ///
    /// Invalid argument: a path that climbs. Storage.
    pub fn move_staged(&self, files: &[(String, String)]) -> Result<()> {
        let storage = &*self.source.storage;
        for (from, to) in files {
            interrupt::check()?;
            match storage.copy(from, to) {
                Err(error) if error.code() == "storage.not_found" && storage.head(to).is_ok() => {}
                other => other?,
            }
        }
        let from: Vec<&str> = files.iter().map(|(from, _)| from.as_str()).collect();
        storage.delete(&from).into_iter().collect()
    }
}
