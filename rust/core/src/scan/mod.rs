//! From the live files of a snapshot to their rows.
//!
//! A [`Scan`] has the options. Its files come from the snapshot; its rows from the files, in order, each
//! file opened once; its splits are plain values that another process reads without the log.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::codec::batches::Batches;
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::replay::{FileFilter, Source};
use crate::snapshot::Snapshot;
use crate::snapshot::files::FileTable;
use crate::snapshot::row_count::live_rows;
use crate::storage::pool::rows::ReadAheadLimits;

pub mod bitmaps;
pub mod data_file;
pub(crate) mod data_files;
pub mod deletion_vectors;
mod explain;
mod files;
pub mod marked_rows;
pub mod min_max;
pub mod scan_file;
pub mod split;
pub mod vector_windows;

pub use explain::{Explanation, FilesAndBytes};
pub use files::SkippedFile;
pub use scan_file::ScanFile;
pub use split::Split;

use data_file::{Extras, ReadPlan};
use files::{FilePart, Skipped, read_parts};
use scan_file::SCAN_FIELDS;
use split::{ScanSpec, group_into_splits};

/// The options of a scan.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// Logical names of the requested columns, in order; `None` for all columns of the schema.
    pub columns: Option<Vec<String>>,
    /// A filter on the rows; `None` for all.
    pub filter: Option<Predicate>,
    /// Columns in addition to those of the schema.
    pub extras: Extras,
    /// Skip files that cannot be read, and list them, instead of failing.
    pub skip_errors: bool,
    /// The maximum number of bytes that are fetched or decoded and not yet taken; `None` for 64 MiB.
    pub look_ahead: Option<usize>,
}

/// The rows of a snapshot, or some of them; nothing is read yet. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Scan {
    source: Source,
    snapshot: Snapshot,
    spec: ScanSpec,
    plan: ReadPlan,
    filter: Option<Arc<FileFilter>>,
    skipped: Option<Skipped>,
    limits: ReadAheadLimits,
}

impl Scan {
    /// Creates a scan of `snapshot`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.row_tracking` for row ids of a table that does not track rows. As
    /// [`Predicate::bind`], [`ReadPlan::new`], [`ReadPlan::with_filter`] and [`Snapshot::file_filter`].
    pub fn new(source: &Source, snapshot: &Snapshot, options: ScanOptions) -> Result<Self> {
        let properties = snapshot.properties();
        if options.extras.row_id && !properties.row_tracking {
            return Err(Error::invalid(
                "columns.row_tracking",
                "this table does not track rows: `delta.enableRowTracking` is not set, so rows have no ids",
            ));
        }
        let filter = options.filter.as_ref();
        let bound = filter.map(|filter| filter.bind(snapshot.schema()));
        let bound = bound.transpose()?;
        let text = filter.map(ToString::to_string);
        let spec = ScanSpec::new(snapshot, options.columns, options.extras, text);
        let plan = spec.plan_with(snapshot.schema().clone(), bound.clone())?;
        let filter = bound.map(|bound| snapshot.file_filter(bound)).transpose()?;
        let mut limits = ReadAheadLimits::default();
        limits.bytes = options.look_ahead.unwrap_or(limits.bytes);
        Ok(Self {
            source: source.clone(),
            snapshot: snapshot.clone(),
            spec,
            plan,
            filter: filter.map(Arc::new),
            skipped: options.skip_errors.then(Skipped::default),
            limits,
        })
    }

    /// Refuses additional columns with the names of others, as [`ReadPlan::check_names`].
    pub fn check_names(&self) -> Result<()> {
        self.plan.check_names()
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// Returns the files to read, with these columns of [`Snapshot::files`].
    pub fn files(&self, columns: Option<&[String]>) -> Result<FileTable> {
        let columns = FileColumns::of_names(columns, &self.snapshot)?;
        self.snapshot
            .files(&self.source, &columns, self.filter.as_ref())
    }

    fn scan_files(&self) -> Result<Vec<ScanFile>> {
        let columns = FileColumns::fields_only(&SCAN_FIELDS);
        let live_files = self
            .snapshot
            .files(&self.source, &columns, self.filter.as_ref())?;
        let mut files = Vec::new();
        for rows in &live_files.batches {
            for file in ScanFile::of(rows)? {
                files.extend(self.skip_invalid(file)?);
            }
        }
        Ok(files)
    }

    /// Returns `None` for a file with an invalid action if errors are skipped.
    fn skip_invalid(&self, file: Result<ScanFile>) -> Result<Option<ScanFile>> {
        file.map(Some).or_else(|error| match &self.skipped {
            Some(skipped) if skipped.add_if_skippable(error.path().unwrap_or_default(), &error) => {
                Ok(None)
            }
            _ => Err(error),
        })
    }

    /// Returns the rows: files in the order of the log, rows in the order of their file.
    pub fn rows(&self) -> Result<Batches> {
        Ok(self.read(self.plan.clone(), self.scan_files()?))
    }

    fn read(&self, plan: ReadPlan, files: Vec<ScanFile>) -> Batches {
        let parts = files.into_iter().map(FilePart::whole).collect();
        read_parts(plan, &self.source, parts, self.skipped.clone(), self.limits)
    }

    /// Splits the scan into pieces of about `target_size` bytes of data files; together, in order, they are
    /// the scan.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0. As [`ScanFile::of`]; errors of the log.
    pub fn splits(&self, target_size: u64) -> Result<Vec<Split>> {
        if target_size == 0 {
            return Err(Error::invalid(
                "split.size",
                "splits need a target size of at least 1 byte",
            ));
        }
        let groups = group_into_splits(self.scan_files()?, target_size);
        Ok(groups
            .into_iter()
            .map(|parts| Split::new(self.spec.clone(), parts, self.skipped.is_some()))
            .collect())
    }

    /// Returns the files that were skipped so far; empty unless [`ScanOptions::skip_errors`] is set.
    pub fn skipped(&self) -> Vec<SkippedFile> {
        self.skipped.as_ref().map(Skipped::list).unwrap_or_default()
    }

    /// Returns the number of rows: of each file from the log if possible, otherwise from the file.
    pub fn count(&self) -> Result<u64> {
        let plan = self.spec.counting()?;
        if self.filter.is_some() {
            return count_rows(self.read(plan, self.scan_files()?));
        }
        let names = SCAN_FIELDS.iter().map(|field| field.name());
        let names: Vec<String> = names.chain(["numRecords"]).map(str::to_owned).collect();
        let columns = FileColumns::of_names(Some(&names), &self.snapshot)?;
        let mut total = 0_u64;
        let mut unknown = Vec::new();
        // batch by batch, so that the statistics of all files are not in memory together
        for batch in self.snapshot.file_batches(&self.source, columns, None)? {
            let batch = batch?;
            let live = live_rows(&batch)?;
            for (file, live) in ScanFile::of(&batch)?.into_iter().zip(live) {
                let Some(file) = self.skip_invalid(file)? else {
                    continue;
                };
                match live {
                    Some(rows) => total = total.saturating_add(rows),
                    None => unknown.push(file),
                }
            }
        }
        Ok(total.saturating_add(count_rows(self.read(plan, unknown))?))
    }

    /// Returns the number and the size of the files that remain after each step of the filter, without
    /// reading data files.
    pub fn explain(&self) -> Result<Explanation> {
        let mut explanation = Explanation::default();
        let mut fields = vec![FileField::Size];
        if let Some(filter) = &self.filter {
            fields.extend(filter.columns().fields());
        }
        let columns = FileColumns::fields_only(&fields);
        for rows in self.snapshot.file_batches(&self.source, columns, None)? {
            let rows = rows?;
            let (mut partitions, mut statistics) = (None, None);
            if let Some(filter) = &self.filter {
                let parsed = filter.columns().compute(&rows)?;
                partitions = Some(filter.partitions_may_match(&parsed)?);
                statistics = Some(filter.may_match(&parsed)?);
            }
            explanation.all.add(&rows, None);
            explanation.partitions.add(&rows, partitions.as_ref());
            explanation.statistics.add(&rows, statistics.as_ref());
        }
        Ok(explanation)
    }
}

fn count_rows(batches: Batches) -> Result<u64> {
    let mut total = 0_u64;
    for batch in batches {
        total = total.saturating_add(batch?.num_rows() as u64);
    }
    Ok(total)
}
