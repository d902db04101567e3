//! Rows written by other processes, for a single commit.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};
use crate::storage::{FileMeta, delete_all, is_below, pool};
use crate::table::{RowSource, Table};
use crate::write::{
    AddFile, FooterStatistics, InputConverter, Layout, Purpose, RowWriter, WriteOptions,
    WrittenFiles, each_step, encoded,
};

/// Files that are not committed yet.
#[derive(Debug, Default)]
pub struct StagedRows {
    /// The files to commit.
    pub adds: Vec<AddFile>,
    /// The number of rows.
    pub rows: u64,
    /// The size in bytes.
    pub bytes: u64,
}

impl Table {
    /// Writes rows to files of a table with this metadata and protocol, without a commit; each row must
    /// satisfy the condition. Deletes the files if anything fails.
    ///
    /// # Errors
    ///
    /// As [`InputConverter::new`], [`InputConverter::convert`], [`each_step`], [`RowWriter::write`] and, for
    /// the condition, [`Predicate::bind`]; Unsupported: `protocol.writer_features`, and `rows.identity` for
    /// identity columns that the rows lack, whose values several processes cannot assign.
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
        layout.check_writable()?;
        let mut converter = InputConverter::new(metadata, protocol, &rows.schema())?;
        if let Some(condition) = condition {
            let schema = StructType::parse(&metadata.schema_string)?;
            converter.add_replaced_condition(condition, &schema)?;
        }
        let mut written = WrittenFiles::new(self.source());
        let mut writer = RowWriter::new(Arc::new(layout), write);
        each_step(rows, &mut |step| {
            let rows = converter.convert(&step)?;
            if let Some((name, _)) = converter.high_water_marks().first() {
                let message = format!(
                    "the column {name} is an identity column, whose values a single process must assign: write \
                     these rows with Table.append, or pass the values"
                );
                return Err(Error::unsupported("rows.identity", message));
            }
            writer.write(&rows, &mut written)
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

    /// Returns the Parquet files that another engine has written into a directory of a table with this
    /// metadata and protocol, each with its statistics as JSON. Hidden files are skipped, as in Spark.
    ///
    /// # Errors
    ///
    /// As [`FooterStatistics::read`].
    pub fn staged_statistics(
        &self,
        metadata: &Metadata,
        protocol: &Protocol,
        directory: &str,
    ) -> Result<Vec<(FileMeta, String)>> {
        let statistics = FooterStatistics::new(metadata, protocol)?;
        let is_visible = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            !name.starts_with('.') && (!name.starts_with('_') || name.contains('='))
        };
        let mut files = self.source().storage.list_below(directory, &is_visible)?;
        files.retain(|file| is_visible(&file.path) && file.path.ends_with(".parquet"));
        let source = self.source().clone();
        pool::map_concurrently(files, move |file| {
            let stats = statistics.read(&source, &encoded(&file.path), file.size)?;
            Ok((file.clone(), stats))
        })
    }

    /// Deletes a directory in the table root with all of its files; none of them may be committed.
    ///
    /// # Errors
    ///
    /// Storage.
    pub fn discard_directory(&self, directory: &str) -> Result<()> {
        let storage = &*self.source().storage;
        let files = storage.list_below(directory, &|_| true)?;
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        delete_all(storage, &paths)?;
        let directories =
            storage.list_directories(&|path| path == directory || is_below(path, directory))?;
        for entry in directories.iter().rev() {
            storage.delete_empty(&entry.path)?;
        }
        Ok(())
    }

    /// Deletes uncommitted files, by the paths that their actions would have.
    ///
    /// # Errors
    ///
    /// As [`PathResolver::resolve`](crate::storage::PathResolver::resolve). Storage.
    pub fn discard_staged(&self, paths: &[String]) -> Result<()> {
        let resolver = &self.source().resolver;
        let paths = paths.iter().map(|path| resolver.resolve("", path));
        let paths = paths.collect::<Result<Vec<_>>>()?;
        let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
        delete_all(&*self.source().storage, &paths)
    }

    /// Moves uncommitted files with random names to other paths in the table; the paths are not encoded. Skips
    /// files that were moved before, so that a step can be repeated.
    ///
    /// # Errors
    ///
    /// Invalid argument: a path that leads out of the table. Storage.
    pub fn move_staged(&self, files: &[(String, String)]) -> Result<()> {
        let storage = Arc::clone(&self.source().storage);
        pool::map_concurrently(files.to_vec(), move |(from, to)| {
            match storage.copy(from, to) {
                Err(error) if error.code() == "storage.not_found" && storage.head(to).is_ok() => {
                    Ok(())
                }
                other => other.map(drop),
            }
        })?;
        let from: Vec<&str> = files.iter().map(|(from, _)| from.as_str()).collect();
        delete_all(&*self.source().storage, &from)
    }
}
