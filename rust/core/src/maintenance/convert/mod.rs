//! CONVERT: turns a directory of Parquet files into a table; the files stay in place.
//!
//! The files are listed, without hidden ones; the table's schema is merged from their footers, and the values
//! of partition columns are parsed from directory names. One commit adds all files.
//!
//! Not part of the protocol; rules, names and the commit as in delta-spark.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;

use crate::definition::{adopted_metadata, first_actions};
use crate::error::{Error, ErrorKind, Result};
use crate::replay::Source;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};
use crate::storage::{FileMeta, now, pool};
use crate::table::Table;
use crate::transaction::{CommitDescription, Transaction, TransactionOptions, json_text};
use crate::write::{AddFile, FooterStatistics, encoded, footer_schema};

mod partitions;
mod schema;
mod sink_log;

pub use partitions::partition_values;
pub use schema::MergedSchema;

/// The definition of the table that files are converted to.
#[derive(Clone, Debug, Default)]
pub struct Conversion {
    /// The partition columns, in the order of the directories.
    pub partition_schema: StructType,
    /// Table properties, including those that select the table's protocol.
    pub properties: BTreeMap<String, String>,
    /// True if statistics are read from the footers.
    pub statistics: bool,
}

impl Conversion {
    /// Creates a table from the Parquet files below the root of `table`; returns `None` if there is a table
    /// already.
    pub fn convert(&self, table: &Table, options: TransactionOptions) -> Result<Option<u64>> {
        if table.exists()? {
            return Ok(None);
        }
        let files = self.files(table.source())?;
        // footers are read for the schema, and again for statistics, which depend on it
        let cached = table.with_file_cache();
        let definition = self.definition(Self::schema_of(cached.source(), &files)?)?;
        let adds = self.adds(cached.source(), &definition, &files)?;
        self.commit(table, definition, adds, options)
    }

    /// Lists the files of the directory, sorted by path; hidden files are ignored, and those that a stream
    /// of Spark did not commit. Checks that their directories match the partition columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `convert.no_files`, and `convert.path` for an entry that is not a file or cannot be
    /// listed, a file of a stream that is missing, or a stream's log of another format: rows would be lost.
    pub fn files(&self, source: &Source) -> Result<Vec<FileMeta>> {
        let is_visible = |path: &str| self.is_visible(path);
        if let Some(entry) = source.storage.find_unlisted(&is_visible)? {
            let message = format!(
                "cannot convert this: {}; rename or move it, or hide it with a name that begins with _",
                entry.reason
            );
            return Err(Error::invalid("convert.path", message).at_path(entry.path));
        }
        let mut files = source.storage.list_below("", &is_visible)?;
        files.retain(|file| self.is_visible(&file.path));
        if let Some(committed) = sink_log::committed_names(&*source.storage)? {
            retain_committed(&mut files, committed)?;
        }
        if files.is_empty() {
            let message = "there are no files to convert: check the path";
            return Err(Error::invalid("convert.no_files", message).at_path(source.storage.root()));
        }
        for file in &files {
            partition_values(&file.path, &self.partition_schema)?;
        }
        Ok(files)
    }

    /// Returns `true` unless the name begins with `_` or `.`, which hides it; directories of partitions are
    /// visible.
    fn is_visible(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let column = name.split_once('=').map(|(column, _)| column);
        !name.starts_with(['_', '.'])
            || column.is_some_and(|column| self.partition_schema.contains(column))
    }

    /// Merges the schemas in the footers of these files.
    pub fn schema_of(source: &Source, files: &[FileMeta]) -> Result<MergedSchema> {
        let source = source.clone();
        let read = move |file: &FileMeta| footer_schema(&source, &encoded(&file.path), file.size);
        let mut merged = MergedSchema::default();
        let schemas = pool::map_concurrently(files.to_vec(), read)?;
        for (file, schema) in files.iter().zip(schemas) {
            let joined = merged.join(&schema);
            joined.map_err(|error| error.at_path(&file.path))?;
        }
        Ok(merged)
    }

    /// Returns the metadata and protocol of the table.
    pub fn definition(&self, files: MergedSchema) -> Result<(Metadata, Protocol)> {
        let names = self.partition_schema.fields().iter();
        let names = names.map(|field| field.name.clone()).collect();
        let schema = files.partitioned(&self.partition_schema)?;
        first_actions(adopted_metadata(&schema, names, &self.properties, now())?)
    }

    /// Returns the `add` of each file, with statistics if requested.
    pub fn adds(
        &self,
        source: &Source,
        (metadata, protocol): &(Metadata, Protocol),
        files: &[FileMeta],
    ) -> Result<Vec<AddFile>> {
        if !self.statistics {
            return files.iter().map(|file| self.add(file, None)).collect();
        }
        let statistics = FooterStatistics::new(metadata, protocol)?;
        let (source, conversion) = (source.clone(), self.clone());
        pool::map_concurrently(files.to_vec(), move |file| {
            let stats = statistics.read(&source, &encoded(&file.path), file.size)?;
            conversion.add(file, Some(stats))
        })
    }

    fn add(&self, file: &FileMeta, stats: Option<String>) -> Result<AddFile> {
        Ok(AddFile {
            path: encoded(&file.path),
            partition_values: partition_values(&file.path, &self.partition_schema)?,
            size: i64::try_from(file.size).unwrap_or(i64::MAX),
            modification_time: file.modification_time,
            data_change: true,
            stats,
            ..AddFile::default()
        })
    }

    /// Commits the files; returns `None` if another writer created the table meanwhile.
    ///
    /// # Errors
    ///
    /// Unsupported: `protocol.writer_features`.
    pub fn commit(
        &self,
        table: &Table,
        (metadata, protocol): (Metadata, Protocol),
        adds: Vec<AddFile>,
        options: TransactionOptions,
    ) -> Result<Option<u64>> {
        let parameters = [
            ("numFiles", json!(adds.len())),
            ("partitionedBy", json_text(&metadata.partition_columns)),
            ("collectStats", json!(self.statistics)),
            ("sourceFormat", json!("parquet")),
        ];
        let description = CommitDescription {
            metrics: BTreeMap::from([("numConvertedFiles".to_owned(), adds.len().to_string())]),
            ..CommitDescription::new("CONVERT", parameters)
        };
        let mut transaction = Transaction::for_new_table(table.source(), description, options);
        transaction.read(None)?;
        transaction.set_metadata(metadata)?;
        transaction.set_protocol(protocol)?;
        transaction.add(adds);
        match table.commit(transaction) {
            Ok(committed) => Ok(committed.commit.version),
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn retain_committed(files: &mut Vec<FileMeta>, mut names: HashSet<String>) -> Result<()> {
    files.retain(|file| names.remove(file.path.rsplit('/').next().unwrap_or_default()));
    let Some(missing) = names.into_iter().min() else {
        return Ok(());
    };
    let message = "a stream committed this file, which is no longer in the directory: restore it, or, to \
                   convert all files, move _spark_metadata elsewhere";
    Err(Error::invalid("convert.path", message).at_path(missing))
}
