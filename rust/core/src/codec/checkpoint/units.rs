//! Units of work of a checkpoint file: row groups; large row groups are split into runs of pages.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::RowGroupMetaData;

use super::{CheckpointFile, FileAction};

/// A range of rows of one row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub(super) row_group: usize,
    pub(super) rows: Range<usize>,
    /// The number of rows in the row group.
    pub(super) group_rows: usize,
}

impl Unit {
    /// Returns the number of rows in the unit.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the selection of the unit's rows within its row group: those whose bit is set in `selected`,
    /// by default all; `None` for a whole group.
    pub(super) fn selection(&self, selected: Option<&BooleanBuffer>) -> Option<RowSelection> {
        let ranges: Box<dyn Iterator<Item = Range<usize>>> = match selected {
            None if self.rows.len() == self.group_rows => return None,
            None => Box::new(std::iter::once(self.rows.clone())),
            Some(selected) => Box::new(
                selected
                    .set_slices()
                    .map(|(start, end)| self.rows.start + start..self.rows.start + end),
            ),
        };
        Some(RowSelection::from_consecutive_ranges(
            ranges,
            self.group_rows,
        ))
    }
}

impl CheckpointFile {
    /// Returns the units in which `action` is decoded for these `leaves`. Row groups without the action,
    /// according to their statistics, are skipped.
    pub(super) fn units_of(
        &self,
        action: FileAction,
        leaves: &[usize],
        unit_bytes: u64,
    ) -> Vec<Unit> {
        let Some(path) = self.leaf(&[action.name(), "path"]) else {
            return Vec::new();
        };
        let fields = self.leaves(|parts| matches!(parts, [root, _] if root == action.name()));
        let mut units = Vec::new();
        for (row_group, group) in self.metadata().row_groups().iter().enumerate() {
            let group_rows = usize::try_from(group.num_rows()).unwrap_or_default();
            // a group with other fields of the action but without paths is decoded, which reports the damage
            let has_values = |leaf: &usize| {
                nulls_of(group, *leaf).is_some_and(|nulls| nulls < group_rows as u64)
            };
            if group_rows == 0 || (all_null(group, path) && !fields.iter().any(has_values)) {
                continue;
            }
            let mut ends = self.cuts(row_group, group, leaves, unit_bytes);
            ends.push(group_rows);
            let mut start = 0;
            for end in ends {
                units.push(Unit {
                    row_group,
                    rows: start..end,
                    group_rows,
                });
                start = end;
            }
        }
        units
    }

    /// Returns the approximate byte offset at which a unit begins: that of its row group, plus a share of the
    /// group's size for the rows before the unit. It is computed from the footer alone, so every process
    /// assigns a unit to the same byte range of the file.
    pub fn approximate_offset(&self, unit: &Unit) -> u64 {
        let Some(group) = self.metadata().row_groups().get(unit.row_group) else {
            return 0;
        };
        let starts = group.columns().iter().map(|column| column.byte_range().0);
        let start = starts.min().unwrap_or_default();
        let size = u128::try_from(group.compressed_size()).unwrap_or_default();
        let within = size * unit.rows.start as u128 / (unit.group_rows as u128).max(1);
        start.saturating_add(u64::try_from(within).unwrap_or(u64::MAX))
    }

    /// Returns the rows at which to split the row group, ascending: page boundaries of the largest leaf, so
    /// that none of its pages is decoded twice.
    fn cuts(
        &self,
        row_group: usize,
        group: &RowGroupMetaData,
        leaves: &[usize],
        unit_bytes: u64,
    ) -> Vec<usize> {
        let group_rows = usize::try_from(group.num_rows()).unwrap_or_default();
        let size = |leaf: &usize| {
            group
                .columns()
                .get(*leaf)
                .map_or(0, |column| column.compressed_size())
        };
        let total: i64 = leaves.iter().map(size).sum();
        let total = u64::try_from(total).unwrap_or_default();
        let parts = usize::try_from(total / unit_bytes.max(1)).unwrap_or_default() + 1;
        let index = self.metadata().page_index_for_row_group(row_group);
        let lacks_index = |leaf: &usize| index.offset_index(*leaf).is_none();
        if parts == 1 || leaves.iter().any(lacks_index) {
            return Vec::new();
        }
        let largest = leaves.iter().copied().max_by_key(size);
        let Some(pages) = largest.and_then(|leaf| index.offset_index(leaf)) else {
            return Vec::new();
        };
        let mut starts = pages
            .page_locations()
            .iter()
            .map(|page| usize::try_from(page.first_row_index).unwrap_or(0));
        let mut cuts = Vec::with_capacity(parts);
        for part in 1..parts {
            let target = group_rows / parts * part;
            if let Some(start) = starts.find(|start| *start >= target && *start > 0)
                && start < group_rows
                && cuts.last().is_none_or(|last| *last < start)
            {
                cuts.push(start);
            }
        }
        cuts
    }
}

/// Returns `true` if the statistics say that the leaf is null in every row of the group.
pub(super) fn all_null(group: &RowGroupMetaData, leaf: usize) -> bool {
    nulls_of(group, leaf).is_some_and(|nulls| i64::try_from(nulls) == Ok(group.num_rows()))
}

/// Returns the null count of the leaf in the statistics of the row group.
pub(super) fn nulls_of(group: &RowGroupMetaData, leaf: usize) -> Option<u64> {
    let statistics = group.columns().get(leaf)?.statistics()?;
    statistics.null_count_opt()
}
