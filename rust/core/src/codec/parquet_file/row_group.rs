//! Reads selected rows and columns of a row group: the bytes to fetch, and their decoding.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelectionPolicy,
};
use parquet::basic::ConvertedType;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::offset_index::PageLocation;

use super::PageRules;
use super::batch_plan::plan;
use super::fetched::FetchedBytes;
use super::hadoop_lz4::{is_lz4, recompressed};
use super::known_dictionaries;
use super::leaves::{leaf_types, with_leaf_types};
use super::pages::{LeafPages, check_pages};
use super::row_group_reader::RowGroupReader;
use crate::error::Result;

/// The cost of starting a run of rows, and of decoding a row that a mask then drops, relative to copying a
/// selected row. Estimates: for 6 million rows with 1 % dropped, a mask took 1.02 times as long as decoding
/// all rows, and decoding run by run 1.09 times as long.
const PER_RUN: usize = 400;
const PER_DROPPED_ROW: usize = 40;

/// The batch size of a reader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BatchSize {
    /// This number of rows.
    Rows(usize),
    /// At most this number of rows, fewer if they would exceed [`MAX_BATCH_BYTES`](super::MAX_BATCH_BYTES).
    Bounded(usize),
}

/// A request for some rows of some leaves of a row group: the byte ranges, and the decoding.
pub struct RowGroupRequest {
    row_group: usize,
    leaves: Vec<usize>,
    selection: Option<RowSelection>,
    /// Selected rows are decoded run by run if pages between them were not fetched, or if runs are long; a
    /// mask, which is faster for short runs, needs all pages.
    policy: RowSelectionPolicy,
    /// The byte ranges of each leaf, in file order.
    ranges: Vec<(usize, Range<u64>)>,
}

impl RowGroupRequest {
    /// Requests the pages of each leaf that contain selected rows, if there is a page index, otherwise the
    /// whole column chunk. The footer must have been checked.
    pub(crate) fn new(
        metadata: &ParquetMetaData,
        row_group: usize,
        leaves: Vec<usize>,
        selection: Option<RowSelection>,
    ) -> Self {
        let mut policy = selection
            .as_ref()
            .map_or_else(RowSelectionPolicy::default, selection_policy);
        let index = metadata.page_index_for_row_group(row_group);
        let columns = columns_of(metadata, row_group);
        // the index does not locate pages that are recompressed
        let mut chunks = leaves.iter().filter_map(|leaf| columns.get(*leaf));
        let all_pages = chunks.any(is_lz4);
        let mut ranges = Vec::with_capacity(leaves.len());
        for leaf in &leaves {
            let Some(column) = columns.get(*leaf) else {
                continue;
            };
            let pages = index
                .offset_index(*leaf)
                .filter(|_| !all_pages)
                .map(|index| index.page_locations().as_slice());
            let (leaf_ranges, all) =
                leaf_ranges(column, pages.unwrap_or_default(), selection.as_ref());
            if !all {
                policy = RowSelectionPolicy::Selectors;
            }
            ranges.extend(leaf_ranges.into_iter().map(|range| (*leaf, range)));
        }
        Self {
            row_group,
            leaves,
            selection,
            policy,
            ranges,
        }
    }

    /// Returns the ranges of the file that are still to be fetched.
    pub fn missing(&self, fetched: &FetchedBytes) -> Vec<Range<u64>> {
        let ranges = self.ranges.iter().map(|(_, range)| range);
        let missing = ranges.filter(|range| fetched.range(range).is_none());
        missing.cloned().collect()
    }

    /// Returns `true` if no leaf is requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Returns the number of rows to decode, out of `all` rows of the row group or the unit.
    pub(crate) fn rows_of(&self, all: usize) -> usize {
        self.selection.as_ref().map_or(all, RowSelection::row_count)
    }

    /// Checks the pages and begins to decode them. In bounded batches, some strings may be views that share
    /// dictionary values across many rows.
    pub(crate) fn reader(
        mut self,
        file: &ArrowReaderMetadata,
        fetched: &FetchedBytes,
        size: BatchSize,
        rules: &PageRules,
    ) -> Result<RowGroupReader> {
        let group = file.metadata().row_groups().get(self.row_group);
        let recompressed = group.map(|group| recompressed(file, group, &self.ranges, fetched));
        let recompressed = recompressed
            .transpose()
            .map_err(|cause| rules.error(cause))?;
        let recompressed = recompressed.flatten();
        let (file, fetched) = match &recompressed {
            Some(recompressed) => {
                (self.row_group, self.ranges) = (0, recompressed.ranges.clone());
                (&recompressed.file, &recompressed.fetched)
            }
            None => (file, fetched),
        };
        let metadata = file.metadata();
        let columns = columns_of(metadata, self.row_group);
        let index = metadata.page_index_for_row_group(self.row_group);
        let locations = |leaf| {
            let index = index.offset_index(leaf);
            index.map(|index| index.page_locations().as_slice())
        };
        let pages = check_pages(columns, locations, &self.ranges, fetched, rules)?;
        let types = leaf_types(file.schema());
        let unchecked_strings = pages.iter().any(|pages| {
            let column = columns.get(pages.leaf);
            types.get(pages.leaf).is_some_and(DataType::is_string)
                && column.is_some_and(|column| has_unchecked_strings(column, pages))
        });
        let mut reader = self.decoder(file, fetched, size, (&pages, &types), rules)?;
        reader.unchecked_strings = unchecked_strings;
        Ok(reader)
    }

    /// Begins to decode checked pages.
    fn decoder(
        self,
        file: &ArrowReaderMetadata,
        fetched: &FetchedBytes,
        size: BatchSize,
        leaves: (&[LeafPages], &[DataType]),
        rules: &PageRules,
    ) -> Result<RowGroupReader> {
        let metadata = file.metadata();
        let (group, batch_rows) = match (size, metadata.row_groups().get(self.row_group)) {
            (BatchSize::Bounded(rows), Some(group)) => (group, rows),
            (BatchSize::Rows(rows) | BatchSize::Bounded(rows), _) => {
                return self.build(file, fetched, rows, rules);
            }
        };
        let selection = self.selection.as_ref();
        let plan = plan(group, leaves, selection, fetched, batch_rows, rules)?;
        let viewed;
        let file = if plan.views.is_empty() {
            file
        } else {
            viewed = with_views(file, &plan.views, rules)?;
            &viewed
        };
        // the known dictionaries are of use only if all rows are decoded
        let by_runs = self.selection.is_some() && self.policy != RowSelectionPolicy::Mask;
        if plan.dictionaries.is_empty() || by_runs {
            return self.build(file, fetched, plan.rows, rules);
        }
        let reader = known_dictionaries::reader(
            file,
            (self.row_group, group),
            self.leaves,
            fetched,
            plan.rows,
            plan.dictionaries,
        )
        .map_err(|cause| rules.error(cause))?;
        Ok(RowGroupReader::new(reader, self.selection))
    }

    fn build(
        self,
        file: &ArrowReaderMetadata,
        fetched: &FetchedBytes,
        batch_rows: usize,
        rules: &PageRules,
    ) -> Result<RowGroupReader> {
        let metadata = file.metadata();
        let parquet = metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::leaves(parquet, self.leaves);
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(fetched.clone(), file.clone())
                .with_projection(mask)
                .with_batch_size(batch_rows)
                .with_row_selection_policy(self.policy)
                .with_row_groups(vec![self.row_group]);
        if let Some(selection) = self.selection {
            builder = builder.with_row_selection(selection);
        }
        builder
            .build()
            .map(|reader| RowGroupReader::new(reader, None))
            .map_err(|cause| rules.error(cause))
    }
}

/// Returns `true` if the decoder does not check that all strings are UTF-8: it checks only columns annotated
/// as UTF8, and not where one string of a page with `DELTA_LENGTH_BYTE_ARRAY` ends and the next begins.
fn has_unchecked_strings(column: &ColumnChunkMetaData, pages: &LeafPages) -> bool {
    column.column_descr().converted_type() != ConvertedType::UTF8
        || pages
            .data
            .iter()
            .any(|page| page.has_delta_lengths && page.strings.is_none())
}

/// Returns the file's metadata with views as the types of some leaves.
fn with_views(
    file: &ArrowReaderMetadata,
    views: &[usize],
    rules: &PageRules,
) -> Result<ArrowReaderMetadata> {
    let schema = with_leaf_types(file.schema(), &mut |leaf, data_type| {
        let viewed = views.binary_search(&leaf).is_ok();
        match data_type {
            DataType::Utf8 if viewed => Some(DataType::Utf8View),
            DataType::Binary if viewed => Some(DataType::BinaryView),
            _ => None,
        }
    });
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(file.metadata()), options)
        .map_err(|cause| rules.error(cause))
}

fn columns_of(metadata: &ParquetMetaData, row_group: usize) -> &[ColumnChunkMetaData] {
    let group = metadata.row_groups().get(row_group);
    group.map_or(&[], |group| group.columns())
}

/// Returns the ranges of one chunk, and whether they include all its pages.
fn leaf_ranges(
    column: &ColumnChunkMetaData,
    pages: &[PageLocation],
    selection: Option<&RowSelection>,
) -> (Vec<Range<u64>>, bool) {
    let (start, length) = column.byte_range();
    let end = start + length; // the footer was checked: the chunk is inside the file
    let are_inside = pages.iter().all(|page| {
        let from = u64::try_from(page.offset).unwrap_or(u64::MAX);
        let size = u64::try_from(page.compressed_page_size).unwrap_or(u64::MAX);
        from >= start && from.checked_add(size).is_some_and(|to| to <= end)
    });
    let first = pages
        .first()
        .and_then(|page| u64::try_from(page.offset).ok());
    let (Some(selection), Some(first), true) = (selection, first, are_inside) else {
        return (std::iter::once(start..end).collect(), true);
    };
    let mut ranges: Vec<Range<u64>> = Vec::new();
    if first > start {
        ranges.push(start..first); // the dictionary
    }
    let selected = selection.scan_ranges(pages);
    let all = selected.len() == pages.len();
    // merge adjacent pages
    for page in selected {
        match ranges.last_mut() {
            Some(last) if last.end == page.start => last.end = page.end,
            _ => ranges.push(page),
        }
    }
    (ranges, all)
}

/// Returns the faster way to select the rows, if all pages are available.
fn selection_policy(selection: &RowSelection) -> RowSelectionPolicy {
    let runs = selection.iter().count();
    let dropped = selection
        .skipped_row_count()
        .saturating_mul(PER_DROPPED_ROW);
    let by_mask = selection.row_count().saturating_add(dropped);
    if runs.saturating_mul(PER_RUN) > by_mask {
        RowSelectionPolicy::Mask
    } else {
        RowSelectionPolicy::Selectors
    }
}
