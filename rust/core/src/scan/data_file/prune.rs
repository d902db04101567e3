//! Skipping of row groups by the statistics in the footer, and of pages by the page index.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StructArray, UInt32Array, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as ArrowType, Field};
use arrow_select::take::take;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::page_index::PageIndexProvider;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::cast::Cast;
use super::file_schema::FileNode;
use super::shape::{Origin, Shape};
use crate::error::Result;
use crate::expr::{BoundColumn, BoundPredicate, Bounds, ColumnBounds};

/// The source of the bounds of a predicate's column.
#[derive(Debug)]
pub(super) enum BoundsSource {
    /// All values are null, for example because the file does not have the column.
    AllNull,
    /// The statistics of a leaf.
    Leaf {
        /// The index of the leaf in the file.
        index: usize,
        /// The type in the file.
        data_type: ArrowType,
        /// The cast to the logical type.
        cast: Cast,
    },
    /// The index among the partition values.
    Partition(usize),
}

impl BoundsSource {
    /// Returns the source for the field at this path in a column; `None` if it has no statistics. `origin`
    /// has positions among all `siblings` in the file, not only among those that are read.
    pub(super) fn of_field(
        origin: &Origin,
        siblings: &[FileNode],
        path: &[String],
    ) -> Option<Self> {
        let Origin::File { at, shape } = origin else {
            return Some(Self::AllNull);
        };
        let node = siblings.get(*at)?;
        match (shape, path) {
            (Shape::Leaf(Cast::Nulls(_)), []) => Some(Self::AllNull),
            (Shape::Leaf(cast), []) => Some(Self::Leaf {
                index: node.leaves.start,
                data_type: node.data_type.clone(),
                cast: cast.clone(),
            }),
            (Shape::Struct(fields, origins), [name, rest @ ..]) => {
                let at = fields.iter().position(|field| field.name() == name)?;
                Self::of_field(origins.get(at)?, &node.children, rest)
            }
            _ => None,
        }
    }
}

/// The pieces of a file that are kept or skipped: its row groups, or ranges of rows of one row group.
struct Pieces<'a> {
    file: &'a FileBounds<'a>,
    /// The number of rows of each piece.
    rows: Int64Array,
    /// Returns the bounds of a leaf in each piece; `None` if they are unknown.
    leaf_bounds: &'a dyn Fn(usize, &StatisticsConverter<'_>) -> Option<LeafBounds>,
}

/// A file, and the sources of the bounds that a predicate needs.
pub(super) struct FileBounds<'a> {
    pub(super) metadata: &'a ParquetMetaData,
    pub(super) partition_values: &'a StructArray,
    pub(super) sources: &'a [(BoundColumn, BoundsSource)],
}

/// The bounds of a leaf in each piece, in the type of the file.
struct LeafBounds {
    min: Option<ArrayRef>,
    max: Option<ArrayRef>,
    null_count: Option<Int64Array>,
    num_rows: Int64Array,
}

impl FileBounds<'_> {
    /// Returns the row groups that may have a row that satisfies the predicate.
    pub(super) fn row_groups_may_match(&self, predicate: &BoundPredicate) -> Result<BooleanBuffer> {
        let groups = self.metadata.row_groups();
        let rows: Int64Array = groups.iter().map(|group| Some(group.num_rows())).collect();
        let num_rows = rows.clone();
        predicate.may_match(&Pieces {
            file: self,
            rows,
            leaf_bounds: &|leaf, converter| {
                let usable = has_usable_bounds(groups, leaf);
                let bound = |bound: Option<ArrayRef>| bound.filter(|_| usable);
                Some(LeafBounds {
                    min: bound(converter.row_group_mins(groups).ok()),
                    max: bound(converter.row_group_maxes(groups).ok()),
                    null_count: converter
                        .row_group_null_counts(groups)
                        .ok()
                        .map(|nulls| to_int64(&nulls)),
                    num_rows: num_rows.clone(),
                })
            },
        })
    }

    /// Returns the ranges of rows, counted from the start of the row group, in which pages may have a row
    /// that satisfies the predicate; `None` if no valid page index divides the row group.
    pub(super) fn pages_may_match(
        &self,
        group: usize,
        predicate: &BoundPredicate,
    ) -> Result<Option<Vec<Range<u64>>>> {
        let Some(pages) = Pages::of(self, group) else {
            return Ok(None);
        };
        let may_match = predicate.may_match(&Pieces {
            file: self,
            rows: lengths(&pages.cuts),
            leaf_bounds: &|leaf, converter| pages.leaf_bounds(leaf, converter),
        })?;
        let ranges = may_match.set_slices().filter_map(|(start, end)| {
            let (start, end) = (pages.cuts.get(start)?, pages.cuts.get(end)?);
            Some(*start..*end)
        });
        Ok(Some(ranges.collect()))
    }
}

/// Returns `true` if the order of a leaf's bounds is known. It is not if an old writer compared bytes as
/// signed numbers, nor for 96-bit timestamps: a file may declare their order, but few do.
pub(crate) fn has_usable_bounds(groups: &[RowGroupMetaData], leaf: usize) -> bool {
    let columns = || groups.iter().filter_map(|group| group.columns().get(leaf));
    match columns().next().map(ColumnChunkMetaData::column_type) {
        Some(PhysicalType::INT96) => false,
        Some(PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY) => columns()
            .filter_map(ColumnChunkMetaData::statistics)
            .all(|statistics| !statistics.is_min_max_deprecated()),
        _ => true,
    }
}

impl ColumnBounds for Pieces<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let mut sources = self.file.sources.iter();
        let Some((_, source)) = sources.find(|(known, _)| known.path == column.path) else {
            return Ok(None);
        };
        Ok(match source {
            BoundsSource::AllNull => Some(Bounds {
                null_count: Some(self.rows.clone()),
                num_rows: Some(self.rows.clone()),
                ..Bounds::default()
            }),
            BoundsSource::Partition(at) => self.partition_bounds(*at),
            BoundsSource::Leaf {
                index,
                data_type,
                cast,
            } => self.logical_bounds(*index, data_type, cast),
        })
    }
}

impl Pieces<'_> {
    /// Returns the bounds of a leaf of this type, cast to the logical type.
    fn logical_bounds(&self, leaf: usize, data_type: &ArrowType, cast: &Cast) -> Option<Bounds> {
        let parquet = self.file.metadata.file_metadata().schema_descr();
        let field = Field::new("leaf", data_type.clone(), true);
        let converter = StatisticsConverter::from_column_index(leaf, &field, parquet).ok()?;
        let converter = converter.with_missing_null_counts_as_zero(false);
        let bounds = (self.leaf_bounds)(leaf, &converter)?;
        let logical = |bound: Option<ArrayRef>| cast.apply_to_bounds(&bound?).ok();
        Some(Bounds {
            min: logical(bounds.min),
            max: logical(bounds.max),
            null_count: bounds.null_count,
            num_rows: Some(bounds.num_rows),
            covers_nan: false,
        })
    }

    fn partition_bounds(&self, at: usize) -> Option<Bounds> {
        let value = self.file.partition_values.columns().get(at)?;
        let value = take(value, &UInt32Array::from(vec![0; self.len()]), None).ok()?;
        let zeros = Int64Array::from(vec![0; self.len()]);
        let is_null = value.logical_null_count() > 0;
        Some(Bounds {
            min: Some(Arc::clone(&value)),
            max: Some(value),
            null_count: Some(if is_null { self.rows.clone() } else { zeros }),
            num_rows: Some(self.rows.clone()),
            covers_nan: true,
        })
    }
}

/// The pages of the predicate's leaves in one row group. Pages of different leaves rarely align: the row
/// group is split wherever a page of any leaf begins.
struct Pages<'a> {
    index: &'a dyn PageIndexProvider,
    group: usize,
    /// The start of each piece, and the end.
    cuts: Vec<u64>,
    /// The start of each leaf's pages, and the end.
    leaves: Vec<(usize, Vec<u64>)>,
}

impl<'a> Pages<'a> {
    fn of(file: &FileBounds<'a>, group: usize) -> Option<Self> {
        let index = &**file.metadata.page_index()?;
        let rows = u64::try_from(file.metadata.row_groups().get(group)?.num_rows()).ok()?;
        let mut leaves = Vec::new();
        for (_, source) in file.sources {
            let BoundsSource::Leaf { index: leaf, .. } = source else {
                continue;
            };
            leaves.extend(page_starts(index, group, *leaf, rows).map(|starts| (*leaf, starts)));
        }
        let mut cuts: Vec<u64> = leaves
            .iter()
            .flat_map(|(_, starts)| starts)
            .copied()
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        if cuts.len() <= 2 {
            return None;
        }
        Some(Self {
            index,
            group,
            cuts,
            leaves,
        })
    }

    /// Returns the bounds of the pages of a leaf that contain each piece.
    fn leaf_bounds(&self, leaf: usize, converter: &StatisticsConverter<'_>) -> Option<LeafBounds> {
        let (_, starts) = self.leaves.iter().find(|(known, _)| *known == leaf)?;
        let pieces = self.cuts.iter().take(self.cuts.len().saturating_sub(1));
        let pages = pieces.map(|cut| {
            let after = starts.partition_point(|start| start <= cut);
            u32::try_from(after.saturating_sub(1)).ok()
        });
        let pages: UInt32Array = pages.collect();
        let num_pages = starts.len().saturating_sub(1);
        let of_pieces = |of_pages: ArrayRef| {
            (of_pages.len() == num_pages).then(|| take(&of_pages, &pages, None).ok())?
        };
        let counts = |counts: Int64Array| {
            let counts = of_pieces(Arc::new(counts))?;
            counts.as_primitive_opt::<Int64Type>().cloned()
        };
        let groups = [self.group];
        let nulls = converter.data_page_null_counts(self.index, &groups).ok();
        Some(LeafBounds {
            min: converter
                .data_page_mins(self.index, &groups)
                .ok()
                .and_then(of_pieces),
            max: converter
                .data_page_maxes(self.index, &groups)
                .ok()
                .and_then(of_pieces),
            null_count: nulls.and_then(|nulls| counts(to_int64(&nulls))),
            num_rows: counts(lengths(starts))?,
        })
    }
}

/// Returns the start of each page of a leaf, and the end; `None` if the index is invalid.
fn page_starts(
    index: &dyn PageIndexProvider,
    group: usize,
    leaf: usize,
    rows: u64,
) -> Option<Vec<u64>> {
    index.column_index(group, leaf)?;
    let pages = index.offset_index(group, leaf)?.page_locations();
    let starts = pages.iter().map(|page| u64::try_from(page.first_row_index));
    let mut starts = starts.collect::<Result<Vec<_>, _>>().ok()?;
    starts.push(rows);
    let ascend = starts.is_sorted_by(|start, next| start < next);
    (starts.first() == Some(&0) && ascend).then_some(starts)
}

/// Returns the number of rows between each start and the next one.
fn lengths(starts: &[u64]) -> Int64Array {
    let ranges = starts.iter().zip(starts.iter().skip(1));
    ranges
        .map(|(start, end)| i64::try_from(end - start).ok())
        .collect()
}

fn to_int64(counts: &UInt64Array) -> Int64Array {
    let counts = counts.iter();
    counts
        .map(|count| count.and_then(|count| i64::try_from(count).ok()))
        .collect()
}
