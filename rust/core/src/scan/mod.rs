//! From the live files of a snapshot to their rows.
//!
//! A [`Scan`] holds what is to be read. Its files come from the snapshot; its rows from the files, in
//! their order, each file opened once; its splits are plain values that another process reads without
//! the log.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::error::{Error, Result};
use crate::replay::{FileFilter, Source};
use crate::snapshot::Snapshot;
use crate::snapshot::columns::FileColumns;
use crate::snapshot::files::FileTable;

pub mod data_file;
pub mod deletion_vectors;
pub mod file_bounds;
mod files;
pub mod rows;
pub mod scan_file;
pub mod split;

pub use files::{Rows, SkippedFile};
pub use scan_file::ScanFile;
pub use split::Split;

use data_file::{Extras, ReadPlan};
use files::{Files, Part, Skipped};
use rows::Look;
use scan_file::SCAN_FIELDS;
use split::{Definition, cut};

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// Logical names in the order wanted; `None` for all columns of the schema.
    pub columns: Option<Vec<String>>,
    /// Columns beside those of the schema.
    pub extras: Extras,
    /// Pass over files that cannot be read, and list them, rather than fail.
    pub skip_errors: bool,
    /// Decoded bytes that may wait to be taken; `None` for 64 MiB.
    pub look_ahead: Option<usize>,
}

/// The rows of a snapshot, or some of them; nothing is read yet. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Scan {
    source: Source,
    snapshot: Snapshot,
    definition: Definition,
    plan: ReadPlan,
    filter: Option<Arc<dyn FileFilter>>,
    skipped: Option<Skipped>,
    look: Look,
}

impl Scan {
    /// A scan of `snapshot`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.unknown`, `columns.twice`, `columns.reserved`.
    pub fn new(source: &Source, snapshot: &Snapshot, options: ScanOptions) -> Result<Self> {
        let properties = snapshot.properties();
        if options.extras.row_id && !properties.row_tracking {
            return Err(Error::invalid(
                "columns.row_tracking",
                "this table does not track rows: `delta.enableRowTracking` is not set, so rows have no ids",
            ));
        }
        let definition = Definition::new(snapshot, options.columns, options.extras);
        let plan = definition.plan_with(snapshot.schema().clone())?;
        let mut look = Look::default();
        look.bytes = options.look_ahead.unwrap_or(look.bytes);
        Ok(Self {
            source: source.clone(),
            snapshot: snapshot.clone(),
            definition,
            plan,
            filter: None,
            skipped: options.skip_errors.then(Skipped::default),
            look,
        })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// The files that are left to read, as `snapshot.files()` shows them.
    pub fn files(&self, columns: Option<&[String]>) -> Result<FileTable> {
        let columns = FileColumns::new(columns, &self.snapshot)?;
        self.snapshot
            .files(&self.source, &columns, self.filter.as_ref())
    }

    fn scan_files(&self) -> Result<Vec<ScanFile>> {
        let columns = FileColumns::fields_only(&SCAN_FIELDS);
        let found = self
            .snapshot
            .files(&self.source, &columns, self.filter.as_ref())?;
        let mut files = Vec::new();
        for rows in &found.batches {
            files.extend(ScanFile::of(rows)?);
        }
        Ok(files)
    }

    /// The rows: files in the order of the log, rows in the order of their file.
    pub fn rows(&self) -> Result<Rows> {
        let parts = self.scan_files()?.into_iter().map(Part::whole).collect();
        Ok(Rows::new(self.work(parts), self.look))
    }

    fn work(&self, parts: Vec<Part>) -> Files {
        let (storage, resolver) = (&self.source.storage, &self.source.resolver);
        Files::new(
            self.plan.clone(),
            storage,
            resolver,
            parts,
            self.skipped.clone(),
        )
    }

    /// The scan in pieces of about `target_size` bytes of data files; together they are the scan, in
    /// its order.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn splits(&self, target_size: u64) -> Result<Vec<Split>> {
        if target_size == 0 {
            return Err(Error::invalid(
                "split.size",
                "splits need a target size of at least 1 byte",
            ));
        }
        let runs = cut(self.scan_files()?, target_size);
        Ok(runs
            .into_iter()
            .map(|parts| Split::new(self.definition.clone(), parts, self.skipped.is_some()))
            .collect())
    }

    /// The files that were passed over so far; none unless [`ScanOptions::skip_errors`] is set.
    pub fn skipped(&self) -> Vec<SkippedFile> {
        self.skipped.as_ref().map(Skipped::list).unwrap_or_default()
    }

    /// How many rows there are: told by the log where it knows, else counted in the footers.
    pub fn count(&self) -> Result<u64> {
        let mut total = 0_u64;
        let rows = Rows::new(
            Files::new(
                self.definition.counting()?,
                &self.source.storage,
                &self.source.resolver,
                self.scan_files()?.into_iter().map(Part::whole).collect(),
                self.skipped.clone(),
            ),
            self.look,
        );
        for batch in rows {
            total += batch?.num_rows() as u64;
        }
        Ok(total)
    }
}
