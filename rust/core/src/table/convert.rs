//! CONVERT, as a method of the table.

use super::Table;
use crate::error::{ErrorKind, Result};
use crate::maintenance::convert::Conversion;
use crate::spec::{Metadata, Protocol};
use crate::storage::{FileMeta, pool};
use crate::transaction::TransactionOptions;
use crate::write::{AddFile, FooterStatistics, encoded};

impl Table {
    /// Creates a table from the Parquet files below its root; returns `None` if there is a table already.
    ///
    /// # Errors
    ///
    /// As [`Conversion::files`], [`Conversion::check_partitions`], [`Conversion::schema_of`],
    /// [`Conversion::definition`] and [`Table::commit_conversion`].
    pub fn convert(
        &self,
        conversion: &Conversion,
        options: TransactionOptions,
    ) -> Result<Option<u64>> {
        if self.exists()? {
            return Ok(None);
        }
        let files = conversion.files(&self.source)?;
        conversion.check_partitions(&files)?;
        // footers are read for the schema, and again for statistics, which depend on it
        let table = self.with_file_cache();
        let schema = Conversion::schema_of(&table.source, &files)?;
        let definition = conversion.definition(schema)?;
        let adds = table.converted_files(conversion, &definition, &files)?;
        self.commit_conversion(conversion, definition, adds, options)
    }

    /// Returns the `add` of each file, with statistics if requested.
    ///
    /// # Errors
    ///
    /// As [`Conversion::add`] and [`FooterStatistics::read`].
    pub fn converted_files(
        &self,
        conversion: &Conversion,
        (metadata, protocol): &(Metadata, Protocol),
        files: &[FileMeta],
    ) -> Result<Vec<AddFile>> {
        if !conversion.statistics {
            let adds = files.iter().map(|file| conversion.add(file, None));
            return adds.collect();
        }
        let statistics = FooterStatistics::new(metadata, protocol)?;
        let (source, conversion) = (self.source.clone(), conversion.clone());
        pool::map_concurrently(files.to_vec(), move |file| {
            let stats = statistics.read(&source, &encoded(&file.path), file.size)?;
            conversion.add(file, Some(stats))
        })
    }

    /// Commits the files of a conversion; returns `None` if another writer created the table meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Conversion::transaction`] and [`Table::commit`], except for conflicts.
    pub fn commit_conversion(
        &self,
        conversion: &Conversion,
        definition: (Metadata, Protocol),
        adds: Vec<AddFile>,
        options: TransactionOptions,
    ) -> Result<Option<u64>> {
        let transaction = conversion.transaction(&self.source, definition, adds, options)?;
        match self.commit(transaction) {
            Ok(committed) => Ok(committed.commit.version),
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(None),
            Err(error) => Err(error),
        }
    }
}
