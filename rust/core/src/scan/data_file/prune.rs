//! What the footer knows of row groups, for predicates.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StructArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as ArrowType, Field};
use arrow_select::take::take;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;

use super::cast::Cast;
use super::file_schema::FileNode;
use super::shape::{Part, Shape};
use crate::error::Result;
use crate::expr::{BoundColumn, BoundPredicate, Bounds, ColumnBounds};

/// Where what is known of one column of a predicate comes from.
#[derive(Debug)]
pub(super) enum Known {
    /// The file does not have the column.
    AllNull,
    /// Statistics of this leaf, by its type in the file.
    Leaf(usize, ArrowType, Cast),
    /// The place among the partition values.
    Partition(usize),
}

impl Known {
    /// Follows names below a column that is not settled yet; `None` where statistics say nothing.
    pub(super) fn below(part: &Part, siblings: &[FileNode], names: &[String]) -> Option<Self> {
        let Part::File { at, shape } = part else {
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

/// The row groups of one file.
pub(super) struct RowGroupBounds<'a> {
    pub(super) metadata: &'a ParquetMetaData,
    pub(super) groups: Range<usize>,
    pub(super) partition_values: &'a StructArray,
    pub(super) known: &'a [(BoundColumn, Known)],
}

impl RowGroupBounds<'_> {
    /// Which of the row groups may have a row that satisfies the predicate.
    pub(super) fn may_match(&self, predicate: &BoundPredicate) -> Result<BooleanBuffer> {
        predicate.may_match(self)
    }

    fn leaf(&self, leaf: usize, physical: &ArrowType, cast: &Cast) -> Option<Bounds> {
        let groups = self.metadata.row_groups().get(self.groups.clone())?;
        let parquet = self.metadata.file_metadata().schema_descr();
        let field = Field::new("leaf", physical.clone(), true);
        let converter = StatisticsConverter::from_column_index(leaf, &field, parquet).ok()?;
        let converter = converter.with_missing_null_counts_as_zero(false);
        let nulls = converter.row_group_null_counts(groups).ok();
        let nulls = nulls.map(|nulls| nulls.iter().map(|count| count.and_then(signed)).collect());
        // old writers compared bytes as signed numbers; 96-bit timestamps have no order at all
        let trusted = match parquet.column(leaf).physical_type() {
            PhysicalType::INT96 => false,
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                let statistics = groups
                    .iter()
                    .filter_map(|group| group.columns().get(leaf)?.statistics());
                statistics
                    .into_iter()
                    .all(|statistics| !statistics.is_min_max_deprecated())
            }
            _ => true,
        };
        let logical = |bound: Option<ArrayRef>| {
            bound
                .filter(|_| trusted)
                .and_then(|bound| cast.apply(&bound).ok())
        };
        Some(Bounds {
            min: logical(converter.row_group_mins(groups).ok()),
            max: logical(converter.row_group_maxes(groups).ok()),
            null_count: nulls,
            num_rows: Some(self.rows()),
            covers_nan: false,
        })
    }

    fn rows(&self) -> Int64Array {
        let groups = self.metadata.row_groups().get(self.groups.clone());
        groups
            .unwrap_or_default()
            .iter()
            .map(|group| Some(group.num_rows()))
            .collect()
    }
}

impl ColumnBounds for RowGroupBounds<'_> {
    fn len(&self) -> usize {
        self.groups.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let known = self
            .known
            .iter()
            .find(|(known, _)| known.path == column.path);
        Ok(match known.map(|(_, known)| known) {
            None => None,
            Some(Known::AllNull) => Some(Bounds {
                null_count: Some(self.rows()),
                num_rows: Some(self.rows()),
                ..Bounds::default()
            }),
            Some(Known::Partition(at)) => {
                self.partition_values.columns().get(*at).and_then(|value| {
                    let value = take(value, &UInt32Array::from(vec![0; self.len()]), None).ok()?;
                    let none = Int64Array::from(vec![0; self.len()]);
                    let rows = self.rows();
                    let is_null = value.logical_null_count() > 0;
                    Some(Bounds {
                        min: Some(Arc::clone(&value)),
                        max: Some(value),
                        null_count: Some(if is_null { rows.clone() } else { none }),
                        num_rows: Some(rows),
                        covers_nan: true,
                    })
                })
            }
            Some(Known::Leaf(leaf, physical, cast)) => self.leaf(*leaf, physical, cast),
        })
    }
}

fn signed(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}
