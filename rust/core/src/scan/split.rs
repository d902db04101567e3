//! A piece of a scan as a plain value: another process reads it without the log.

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::data_file::{Extras, ReadPlan, TableLayout};
use super::files::{FilePart, Skipped, SkippedFile, read_parts};
use super::scan_file::ScanFile;
use crate::codec::batches::Batches;
use crate::error::Result;
use crate::expr::{BoundPredicate, Predicate};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::plain_value::PlainValue;
use crate::spec::file_size::split_files;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::StructType;
use crate::storage::pool::rows::ReadAheadLimits;

/// The options for reading the rows of a table at one version, as serializable values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ScanSpec {
    schema: String,
    partition_columns: Vec<String>,
    column_mapping: ColumnMappingMode,
    row_id_column: Option<String>,
    row_commit_version_column: Option<String>,
    columns: Option<Vec<String>>,
    #[serde(flatten)]
    extras: Extras,
    /// The predicate as SQL.
    filter: Option<String>,
}

impl ScanSpec {
    pub(super) fn new(
        snapshot: &Snapshot,
        columns: Option<Vec<String>>,
        extras: Extras,
        filter: Option<String>,
    ) -> Self {
        let properties = snapshot.properties();
        let metadata = snapshot.metadata();
        Self {
            schema: metadata.schema_string.clone(),
            partition_columns: metadata.partition_columns.clone(),
            column_mapping: properties.column_mapping_mode,
            row_id_column: properties.materialized_row_id_column.clone(),
            row_commit_version_column: properties.materialized_row_commit_version_column.clone(),
            columns,
            extras,
            filter,
        }
    }

    pub(super) fn plan_with(
        &self,
        schema: StructType,
        filter: Option<BoundPredicate>,
    ) -> Result<ReadPlan> {
        let layout = TableLayout {
            schema,
            partition_columns: self.partition_columns.clone(),
            column_mapping: self.column_mapping,
            row_id_column: self.row_id_column.clone(),
            row_commit_version_column: self.row_commit_version_column.clone(),
        };
        let plan = ReadPlan::new(layout, self.columns.as_deref(), self.extras)?;
        match filter {
            Some(filter) => plan.with_filter(filter),
            None => Ok(plan),
        }
    }

    fn plan(&self) -> Result<ReadPlan> {
        let schema = StructType::parse(&self.schema)?;
        let filter = match &self.filter {
            Some(text) => Some(Predicate::parse_sql(text)?.bind(&schema)?),
            None => None,
        };
        self.plan_with(schema, filter)
    }

    /// Returns the plan that decodes least.
    pub(super) fn counting(&self) -> Result<ReadPlan> {
        let counting = Self {
            columns: Some(Vec::new()),
            extras: Extras::default(),
            ..self.clone()
        };
        counting.plan()
    }
}

/// Some files of a scan, or row groups of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Split {
    spec: ScanSpec,
    parts: Vec<FilePart>,
    skip_errors: bool,
    #[serde(skip)]
    skipped: Skipped,
}

impl PlainValue for Split {
    const CODE: &'static str = "split.json";
    const NAME: &'static str = "a split";
}

impl Split {
    pub(super) fn new(spec: ScanSpec, parts: Vec<FilePart>, skip_errors: bool) -> Self {
        Self {
            spec,
            parts,
            skip_errors,
            skipped: Skipped::default(),
        }
    }

    /// Splits files of a snapshot into pieces of about `target_size` bytes, with all columns of the schema
    /// and the extras.
    pub fn of_files(
        snapshot: &Snapshot,
        files: Vec<ScanFile>,
        extras: Extras,
        target_size: u64,
    ) -> Vec<Self> {
        let spec = ScanSpec::new(snapshot, None, extras, None);
        group_into_splits(files, target_size.max(1))
            .into_iter()
            .map(|parts| Self::new(spec.clone(), parts, false))
            .collect()
    }

    /// Returns the files that were skipped so far.
    pub fn skipped(&self) -> Vec<SkippedFile> {
        self.skipped.list()
    }

    /// Returns the paths of the files, as in the log.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.file.path.as_str())
    }

    /// Returns the approximate size of its data files in bytes.
    pub fn size_in_bytes(&self) -> u64 {
        let size = |part: &FilePart| {
            let size = u64::try_from(part.file.size).unwrap_or_default();
            let bytes = part.bytes.clone().unwrap_or(0..size);
            bytes.end.min(size).saturating_sub(bytes.start)
        };
        self.parts.iter().map(size).fold(0, u64::saturating_add)
    }

    /// Returns the schema of its rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.spec.plan().map(|plan| plan.schema())
    }

    /// Reads its rows; `source` is that of the table.
    pub fn rows(&self, source: &Source) -> Result<Batches> {
        self.rows_with(source, ReadAheadLimits::default())
    }

    /// Reads its rows with these limits on threads and memory.
    pub fn rows_with(&self, source: &Source, limits: ReadAheadLimits) -> Result<Batches> {
        let skipped = self.skip_errors.then(|| self.skipped.clone());
        let (plan, parts) = (self.spec.plan()?, self.parts.clone());
        Ok(read_parts(plan, source, parts, skipped, limits))
    }
}

/// The minimum size of a piece of a file: row groups are rarely smaller.
const MIN_PIECE: u64 = 4096;

/// Groups files into splits of about `target_size` bytes; larger files are split by bytes.
pub(super) fn group_into_splits(files: Vec<ScanFile>, target_size: u64) -> Vec<Vec<FilePart>> {
    let size = |file: ScanFile| {
        let size = u64::try_from(file.size).unwrap_or_default();
        (file, size)
    };
    let part = |file, bytes| FilePart { file, bytes };
    split_files(files.into_iter().map(size), target_size, MIN_PIECE, part)
}

#[cfg(test)]
mod tests;
