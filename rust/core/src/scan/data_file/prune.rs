//! Bounds for predicates: of row groups from the footer, of pages from the page index.

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
    /// The file does not have the column.
    AllNull,
    /// Statistics of this leaf, with its type in the file.
    Leaf(usize, ArrowType, Cast),
    /// The index among the partition values.
    Partition(usize),
}

impl BoundsSource {
    /// Returns the source for the field with these names below a column, whose positions are still those in
    /// the file; `None` if there are no statistics.
    pub(super) fn below(part: &Origin, siblings: &[FileNode], names: &[String]) -> Option<Self> {
        let Origin::File { at, shape } = part else {
            return Some(Self::AllNull);
        };
        let node = siblings.get(*at)?;
        match (shape, names) {
            (Shape::Leaf(Cast::Nulls(_)), []) => Some(Self::AllNull),
            (Shape::Leaf(cast), []) => Some(Self::Leaf(
                node.leaves.start,
                node.data_type.clone(),
                cast.clone(),
            )),
            (Shape::Struct(fields, parts), [name, rest @ ..]) => {
                let at = fields.iter().position(|field| field.name() == name)?;
                Self::below(parts.get(at)?, &node.children, rest)
            }
            _ => None,
        }
    }
}

/// The bounds of pieces of a file, such as its row groups.
struct Pieces<'a> {
    file: &'a FileBounds<'a>,
    /// The number of rows of each piece, for values that hold for the whole file.
    rows: Int64Array,
    leaf: &'a dyn Fn(usize, &StatisticsConverter<'_>) -> Option<LeafBounds>,
}

/// A file, and the sources of the bounds that a predicate needs.
pub(super) struct FileBounds<'a> {
    pub(super) metadata: &'a ParquetMetaData,
    pub(super) partition_values: &'a StructArray,
    pub(super) sources: &'a [(BoundColumn, BoundsSource)],
}

/// Bounds in the physical type.
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
            leaf: &|leaf, converter| {
                let trusted = trusted(groups, leaf);
                let bound = |bound: Option<ArrayRef>| bound.filter(|_| trusted);
                Some(LeafBounds {
                    min: bound(converter.row_group_mins(groups).ok()),
                    max: bound(converter.row_group_maxes(groups).ok()),
                    null_count: converter
                        .row_group_null_counts(groups)
                        .ok()
                        .map(|nulls| signed(&nulls)),
                    num_rows: num_rows.clone(),
                })
            },
        })
    }

    /// Returns the rows of a row group whose pages may have one that satisfies the predicate; `None` if no
    /// valid page index divides the row group.
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
            rows: pages.rows_between(&pages.cuts),
            leaf: &|leaf, converter| pages.leaf(leaf, converter),
        })?;
        let ranges = may_match.set_slices().filter_map(|(start, end)| {
            let (start, end) = (pages.cuts.get(start)?, pages.cuts.get(end)?);
            Some(*start..*end)
        });
        Ok(Some(ranges.collect()))
    }
}

/// Returns `true` if bounds can be used: old writers compared bytes as signed numbers; 96-bit timestamps have
/// no order at all.
fn trusted(groups: &[RowGroupMetaData], leaf: usize) -> bool {
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
        let source = sources.find(|(known, _)| known.path == column.path);
        Ok(match source.map(|(_, source)| source) {
            None => None,
            Some(BoundsSource::AllNull) => Some(Bounds {
                null_count: Some(self.rows.clone()),
                num_rows: Some(self.rows.clone()),
                ..Bounds::default()
            }),
            Some(BoundsSource::Partition(at)) => self.partition(*at),
            Some(BoundsSource::Leaf(leaf, physical, cast)) => {
                let parquet = self.file.metadata.file_metadata().schema_descr();
                let field = Field::new("leaf", physical.clone(), true);
                let converter = StatisticsConverter::from_column_index(*leaf, &field, parquet).ok();
                let bounds = converter.and_then(|converter| {
                    (self.leaf)(*leaf, &converter.with_missing_null_counts_as_zero(false))
                });
                let logical = |bound: Option<ArrayRef>| {
                    bound.and_then(|bound| cast.apply_to_bounds(&bound).ok())
                };
                bounds.map(|bounds| Bounds {
                    min: logical(bounds.min),
                    max: logical(bounds.max),
                    null_count: bounds.null_count,
                    num_rows: Some(bounds.num_rows),
                    covers_nan: false,
                })
            }
        })
    }
}

impl Pieces<'_> {
    fn partition(&self, at: usize) -> Option<Bounds> {
        let value = self.file.partition_values.columns().get(at)?;
        let value = take(value, &UInt32Array::from(vec![0; self.len()]), None).ok()?;
        let none = Int64Array::from(vec![0; self.len()]);
        let is_null = value.logical_null_count() > 0;
        Some(Bounds {
            min: Some(Arc::clone(&value)),
            max: Some(value),
            null_count: Some(if is_null { self.rows.clone() } else { none }),
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
            let BoundsSource::Leaf(leaf, ..) = source else {
                continue;
            };
            leaves.extend(starts(index, group, *leaf, rows).map(|starts| (*leaf, starts)));
        }
        let mut cuts: Vec<u64> = leaves
            .iter()
            .flat_map(|(_, starts)| starts)
            .copied()
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        (cuts.len() > 2).then_some(Self {
            index,
            group,
            cuts,
            leaves,
        })
    }

    fn rows_between(&self, cuts: &[u64]) -> Int64Array {
        let rows = cuts.iter().zip(cuts.iter().skip(1));
        rows.map(|(start, end)| i64::try_from(end - start).ok())
            .collect()
    }

    /// Returns the bounds of the page that contains each piece.
    fn leaf(&self, leaf: usize, converter: &StatisticsConverter<'_>) -> Option<LeafBounds> {
        let (_, starts) = self.leaves.iter().find(|(known, _)| *known == leaf)?;
        let pieces = self.cuts.iter().take(self.cuts.len().saturating_sub(1));
        let pages = pieces.map(|cut| {
            let after = starts.partition_point(|start| start <= cut);
            u32::try_from(after.saturating_sub(1)).ok()
        });
        let pages: UInt32Array = pages.collect();
        let num_pages = starts.len().saturating_sub(1);
        let of_pieces = |of_pages: ArrayRef| {
            (of_pages.len() == num_pages)
                .then(|| take(&of_pages, &pages, None).ok())
                .flatten()
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
            null_count: nulls.and_then(|nulls| counts(signed(&nulls))),
            num_rows: counts(self.rows_between(starts))?,
        })
    }
}

/// Returns the start of each page of a leaf, and the end; `None` if the index is invalid.
fn starts(index: &dyn PageIndexProvider, group: usize, leaf: usize, rows: u64) -> Option<Vec<u64>> {
    index.column_index(group, leaf)?;
    let pages = index.offset_index(group, leaf)?.page_locations();
    let starts = pages.iter().map(|page| u64::try_from(page.first_row_index));
    let mut starts = starts.collect::<Result<Vec<_>, _>>().ok()?;
    starts.push(rows);
    let ascend = starts.is_sorted_by(|start, next| start < next);
    (starts.first() == Some(&0) && ascend).then_some(starts)
}

fn signed(counts: &UInt64Array) -> Int64Array {
    let counts = counts.iter();
    counts
        .map(|count| count.and_then(|count| i64::try_from(count).ok()))
        .collect()
}
