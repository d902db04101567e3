//! A data file with its footer: its columns for the plan, and its rows.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::StructArray;
use arrow_buffer::BooleanBuffer;
use arrow_schema::FieldRef;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::DataFile;
use super::columns::partition_values;
use super::file_schema::FileSchema;
use super::footer::{arrow_metadata, batch_rows, first_rows, footer};
use super::matching::{ColumnMatcher, project_positions};
use super::plan::{OutputColumn, ReadPlan};
use super::prune::{BoundsSource, FileBounds};
use super::shape::Origin;
use crate::codec::decoder::guarded;
use crate::codec::deletion_vector::DeletionVector;
use crate::codec::parquet_file::encrypted;
use crate::error::{Error, Result};
use crate::expr::{BoundColumn, BoundPredicate};
use crate::spec::schema::PrimitiveType;
use crate::storage::{FileBytes, Storage};

/// A data file that can be read unit by unit, from any thread.
pub struct OpenFile {
    pub(super) plan: ReadPlan,
    pub(super) bytes: Arc<FileBytes>,
    pub(super) log_path: String,
    pub(super) arrow: ArrowReaderMetadata,
    has_encrypted_columns: bool,
    /// The leaves to decode.
    pub(super) leaves: Vec<usize>,
    /// The origin of each column of the plan; columns that the file lacks are `Missing`.
    pub(super) origins: Vec<Origin>,
    /// The partition values, as one row.
    pub(super) partition_values: StructArray,
    deletion_vector: Option<Arc<DeletionVector>>,
    only: Option<DeletionVector>,
    pub(super) base_row_id: Option<i64>,
    pub(super) default_row_commit_version: Option<i64>,
    pub(super) batch_rows: usize,
    /// Finds the rows to read, if the filter is evaluated in a first step; then the plan has no filter.
    pub(super) filter_pass: Option<Arc<OpenFile>>,
    /// The sources of bounds for the filter's columns.
    bounds_sources: Vec<(BoundColumn, BoundsSource)>,
    /// The row groups in which the filter may match a row.
    matching_groups: BooleanBuffer,
    /// The position of the first row of each row group, and the number of all rows.
    first_rows: Vec<u64>,
}

/// Rows that are read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitRows {
    /// The row group that contains them.
    pub row_group: usize,
    /// Their positions in the file, including deleted rows.
    pub rows: Range<u64>,
    /// The compressed bytes of the requested columns.
    pub bytes: u64,
}

impl ReadPlan {
    /// Reads the file's footer, and determines the rows to read.
    ///
    /// # Errors
    ///
    /// Corrupt, with the file's path in the log: `data.missing`, `data.truncated`, `data.footer`,
    /// `data.type`, `data.ambiguous`, `dv.beyond_file`, `partition_value.parse`, `schema.physical_name`.
    /// Unsupported: `data.encrypted`. Storage errors.
    pub fn open_file(&self, storage: &Arc<dyn Storage>, file: &DataFile<'_>) -> Result<OpenFile> {
        let message = "the decoder failed on the Parquet footer";
        let broken = || Error::corrupt("data.footer", message);
        let opened = guarded(broken, || OpenFile::open(self, storage, file));
        opened.map_err(|error| locate_error(error, &file.file.path))
    }
}

impl OpenFile {
    fn open(plan: &ReadPlan, storage: &Arc<dyn Storage>, file: &DataFile<'_>) -> Result<Self> {
        let (footer, bytes) = footer(storage, file, plan.filters_data())?;
        let has_encrypted_columns = footer.has_encrypted_columns;
        let arrow = arrow_metadata(Arc::new(footer.metadata)).map_err(|cause| {
            let message = "the Parquet schema has no counterpart in Arrow";
            Error::corrupt("data.footer", message).because(cause)
        })?;
        let schema = FileSchema::new(arrow.schema(), arrow.metadata().file_metadata())?;
        let with_plan = |plan: &ReadPlan| -> Result<Self> {
            let opened = Self::of(plan, file, &schema, &arrow, &bytes)?;
            Ok(Self {
                has_encrypted_columns,
                ..opened
            })
        };
        if let Some(steps) = plan.steps() {
            let filter_pass = with_plan(&steps.filter_pass)?;
            let mut unfiltered = with_plan(&steps.unfiltered)?;
            if !filter_pass.leaves.is_empty() && filter_pass.size() <= unfiltered.size() {
                unfiltered.matching_groups = filter_pass.matching_groups.clone();
                unfiltered.filter_pass = Some(Arc::new(filter_pass));
                return Ok(unfiltered);
            }
        }
        with_plan(plan)
    }

    fn of(
        plan: &ReadPlan,
        file: &DataFile<'_>,
        schema: &FileSchema,
        arrow: &ArrowReaderMetadata,
        bytes: &Arc<FileBytes>,
    ) -> Result<Self> {
        let metadata = arrow.metadata();
        let parquet = metadata.file_metadata().schema_descr();
        let mut matcher = ColumnMatcher::new(schema, parquet, plan.layout().column_mapping);
        let (mut origins, partition_columns) = origins_of(plan, &mut matcher)?;
        let selected = matcher.selected();
        let bounds_sources = bounds_sources(plan, &origins, schema);
        for origin in &mut origins {
            project_positions(origin, &schema.roots, &selected);
        }
        let leaves: Vec<usize> = selected
            .iter()
            .enumerate()
            .filter(|(_, selected)| **selected)
            .map(|(leaf, _)| leaf)
            .collect();
        let first_rows = first_rows(metadata);
        let all_rows = first_rows.last().copied().unwrap_or_default();
        let only = only_rows(file, all_rows)?;
        let partition_values = partition_values(&file.file.partition_values, &partition_columns)?;
        let constant = constant_bytes(plan, &origins, &partition_values, &file.file.path);
        let matching_groups = match plan.filter() {
            None => BooleanBuffer::new_set(metadata.num_row_groups()),
            Some(filter) => FileBounds {
                metadata,
                partition_values: &partition_values,
                sources: &bounds_sources,
            }
            .row_groups_may_match(filter)?,
        };
        Ok(Self {
            matching_groups,
            batch_rows: plan
                .batch_rows()
                .unwrap_or_else(|| batch_rows(metadata, &leaves, constant)),
            plan: plan.clone(),
            bytes: Arc::clone(bytes),
            log_path: file.file.path.clone(),
            leaves,
            origins,
            partition_values,
            deletion_vector: file.deletion_vector.clone(),
            only,
            base_row_id: file.file.base_row_id,
            default_row_commit_version: file.file.default_row_commit_version,
            filter_pass: None,
            bounds_sources,
            first_rows,
            arrow: arrow.clone(),
            has_encrypted_columns: false,
        })
    }

    /// Returns the rows of a unit that may have to be read: not deleted, and in pages in which the filter
    /// may match.
    pub(super) fn candidates(&self, unit: &UnitRows) -> Result<Vec<Range<u64>>> {
        let live = self.live(unit.rows.clone());
        let Some(filter) = self.plan.filter() else {
            return Ok(live);
        };
        let bounds = FileBounds {
            metadata: self.arrow.metadata(),
            partition_values: &self.partition_values,
            sources: &self.bounds_sources,
        };
        let Some(pages) = bounds.pages_may_match(unit.row_group, filter)? else {
            return Ok(live);
        };
        let first = unit.rows.start;
        let pages = pages.into_iter();
        let pages = pages.map(|rows| first + rows.start..first + rows.end);
        Ok(intersection(live, pages))
    }

    /// Returns `true` if a column, or a part of one, has a different type in the file than in the table.
    pub fn has_other_types(&self) -> bool {
        self.origins.iter().any(Origin::is_type_change)
    }

    /// Returns `true` if the file has columns, or parts of columns, that the plan does not read.
    pub fn has_other_columns(&self) -> bool {
        let schema = self.arrow.metadata().file_metadata().schema_descr();
        self.leaves.len() < schema.num_columns()
    }

    /// Returns the number of rows in all row groups, including deleted ones.
    pub fn num_rows(&self) -> u64 {
        self.first_rows.last().copied().unwrap_or_default()
    }

    /// Returns the units to read, in the order of the file. They can be read in any order, at any time.
    pub fn units(&self) -> Vec<UnitRows> {
        let units = self.matching_groups.set_indices().filter_map(|row_group| {
            let rows = self.rows_of(row_group).filter(|rows| !rows.is_empty())?;
            Some(UnitRows {
                row_group,
                rows,
                bytes: self.size_of(row_group),
            })
        });
        units.collect()
    }

    pub(super) fn locate_error(&self, error: Error) -> Error {
        let error = match error.code() {
            "data.pages" if self.has_encrypted_columns => {
                encrypted("a column of the Parquet file is").because(error)
            }
            _ => error,
        };
        locate_error(error, &self.log_path)
    }

    /// Returns the byte in the middle of a row group, by which a row group is assigned to exactly one byte
    /// range of a split file.
    pub fn middle(&self, row_group: usize) -> Option<u64> {
        let group = self.arrow.metadata().row_groups().get(row_group)?;
        let starts = group.columns().iter().map(|chunk| chunk.byte_range().0);
        let start = starts.min()?;
        let bytes = u64::try_from(group.compressed_size()).ok()?;
        start.checked_add(bytes / 2)
    }

    /// Returns the ranges of these rows that are read.
    pub(super) fn live(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        match (&self.only, &self.deletion_vector) {
            (Some(only), _) => {
                let mut live = Vec::new();
                only.for_each_range(rows, |range| live.push(range));
                live
            }
            (None, Some(vector)) => vector.live_ranges(rows),
            (None, None) => vec![rows],
        }
    }

    fn rows_of(&self, row_group: usize) -> Option<Range<u64>> {
        let first = self.first_rows.get(row_group)?;
        Some(*first..*self.first_rows.get(row_group + 1)?)
    }

    fn size(&self) -> u64 {
        let groups = 0..self.arrow.metadata().num_row_groups();
        let sizes = groups.map(|group| self.size_of(group));
        sizes.fold(0, u64::saturating_add)
    }

    fn size_of(&self, row_group: usize) -> u64 {
        let groups = self.arrow.metadata().row_groups();
        let columns = groups
            .get(row_group)
            .map_or(&[][..], |group| group.columns());
        let chunks = self.leaves.iter().filter_map(|leaf| columns.get(*leaf));
        chunks
            .map(|chunk| u64::try_from(chunk.compressed_size()).unwrap_or_default())
            .fold(0, u64::saturating_add)
    }
}

/// The name in the log, and the field of the table.
type PartitionColumn = (String, FieldRef);

/// Returns the origin of each column of a plan, and the partition columns among them.
fn origins_of(
    plan: &ReadPlan,
    matcher: &mut ColumnMatcher<'_>,
) -> Result<(Vec<Origin>, Vec<PartitionColumn>)> {
    let layout = plan.layout();
    let mut partition_columns = Vec::new();
    let mut origins = Vec::with_capacity(plan.columns().len());
    for column in plan.columns() {
        let materialized = match column {
            OutputColumn::RowId => layout.row_id_column.as_deref(),
            OutputColumn::RowCommitVersion => layout.row_commit_version_column.as_deref(),
            _ => None,
        };
        origins.push(match (column, materialized) {
            (OutputColumn::Data(field), _) => matcher.column(field)?,
            (OutputColumn::ChangeType, _) => {
                matcher.metadata_column("_change_type", &PrimitiveType::String)?
            }
            (_, Some(name)) => matcher.metadata_column(name, &PrimitiveType::Long)?,
            (OutputColumn::Partition(key, field), _) => {
                partition_columns.push((key.clone(), Arc::clone(field)));
                Origin::Missing(field.data_type().clone())
            }
            _ => Origin::Missing(PrimitiveType::Long.arrow_type()),
        });
    }
    Ok((origins, partition_columns))
}

/// Returns the decoded bytes of each row that are not in the file.
fn constant_bytes(plan: &ReadPlan, origins: &[Origin], values: &StructArray, path: &str) -> u64 {
    let columns = plan.columns().iter().zip(origins);
    let others = columns.map(|(column, origin)| match (column, origin) {
        (OutputColumn::FilePath, _) => path.len(),
        (OutputColumn::Partition(..), _) => 0,
        (_, Origin::Missing(data_type)) => data_type.primitive_width().unwrap_or(4),
        _ => 0,
    });
    let values = values.columns().iter().map(|value| {
        value
            .to_data()
            .get_slice_memory_size()
            .unwrap_or(usize::MAX)
    });
    let bytes = others.chain(values).fold(0_usize, usize::saturating_add);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the rows of `only` that are not deleted; `None` if the file has no such selection. Checks that both
/// sets are within the file.
fn only_rows(file: &DataFile<'_>, all_rows: u64) -> Result<Option<DeletionVector>> {
    let deleted = file.deletion_vector.as_ref();
    if let Some(vector) = deleted {
        vector.check_within(all_rows)?;
    }
    let Some(only) = file.only.as_deref() else {
        return Ok(None);
    };
    let only = deleted.map_or_else(|| Ok(only.clone()), |vector| only.difference(vector))?;
    only.check_within(all_rows)?;
    Ok(Some(only))
}

/// Returns the sources of bounds for the filter's columns; the positions in `origins` are still those in the
/// file.
fn bounds_sources(
    plan: &ReadPlan,
    origins: &[Origin],
    schema: &FileSchema,
) -> Vec<(BoundColumn, BoundsSource)> {
    let filter_columns = plan.filter().map_or(&[][..], BoundPredicate::columns);
    let find = |(column, at): (&BoundColumn, &usize)| {
        let (_, rest) = column.path.split_first()?;
        let source = match plan.columns().get(*at)? {
            OutputColumn::Partition(..) => {
                let before = plan.columns().iter().take(*at);
                BoundsSource::Partition(
                    before
                        .filter(|column| matches!(column, OutputColumn::Partition(..)))
                        .count(),
                )
            }
            OutputColumn::Data(_) => {
                BoundsSource::of_field(origins.get(*at)?, &schema.roots, rest)?
            }
            _ => return None,
        };
        Some((column.clone(), source))
    };
    let filter_columns = filter_columns.iter().zip(plan.filter_columns());
    filter_columns.filter_map(find).collect()
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile")
            .field("path", &self.log_path)
            .field("leaves", &self.leaves)
            .finish_non_exhaustive()
    }
}

/// Returns the intersection of ranges; both inputs ascend and do not overlap.
fn intersection(
    ranges: Vec<Range<u64>>,
    others: impl IntoIterator<Item = Range<u64>>,
) -> Vec<Range<u64>> {
    let mut others = others.into_iter().peekable();
    let mut both = Vec::new();
    for range in ranges {
        while let Some(other) = others.peek() {
            let common = range.start.max(other.start)..range.end.min(other.end);
            let ends_first = other.end <= range.end;
            if !common.is_empty() {
                both.push(common);
            }
            if !ends_first {
                break;
            }
            others.next();
        }
    }
    both
}

pub(super) fn decoder_failed() -> Error {
    let message = "the decoder failed on the pages of the data file: the file is damaged, \
                   restore it or remove it from the table";
    Error::corrupt("data.pages", message)
}

/// Adds the file's path in the log to an error, and converts storage errors to errors of the table.
fn locate_error(error: Error, log_path: &str) -> Error {
    let renamed = match error.code() {
        "storage.not_found" => Error::corrupt(
            "data.missing",
            "the data file is live in the log, but does not exist: it was deleted by hand or by a VACUUM \
             with too short a retention; restore it, or remove it from the table in a transaction",
        )
        .because(error),
        "storage.truncated" => Error::corrupt(
            "data.truncated",
            "the data file ends before its footer says: restore it or remove it from the table",
        )
        .because(error),
        _ => return error.at_path(log_path),
    };
    renamed.at_path(log_path)
}
