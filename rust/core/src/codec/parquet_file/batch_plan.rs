//! Chooses the number of rows per batch from the decoded size of the pages of a row group.
//!
//! Page headers state the number of values and their encoded size, without the dictionary. A column whose
//! dictionary has long values is decoded into views, which refer to the values instead of repeating them; the
//! consumer of the batch splits it before it materializes the strings.

use std::sync::Arc;

use arrow_schema::DataType;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::basic::Type as PhysicalType;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::PageRules;
use super::fetched::FetchedBytes;
use super::known_dictionaries::CachedDictionaryReader;
use super::pages::{LeafPages, PageInfo};
use super::shares::{Share, Shares, measured, selected};
use super::text_size;
use crate::error::Result;

/// Maximum size of a batch in bytes, unless a single row or a page in memory is larger.
pub(crate) const MAX_BATCH_BYTES: u64 = 32 << 20;

/// Dictionary values up to this length are always materialized.
const LONG_VALUE: u64 = 1 << 10;
/// Longer dictionary values are materialized, too, if they take at most this many bytes in a batch.
const FEW_BYTES: u64 = 8 << 20;
/// Maximum bytes of all strings of a batch if each were the longest of its dictionary.
const MAX_TEXT_BYTES: u64 = 128 << 20;

/// Rows of nested columns may differ widely in length; their levels are read if the decoded column chunk
/// exceeds this size, and also `MAX_EXPANSION` times its compressed size.
const MAX_UNMEASURED: u64 = 256 << 20;
const MAX_EXPANSION: u64 = 64;

/// Bytes of a string view.
const VIEW: u64 = 16;

/// The plan by which a row group is decoded.
pub(super) struct BatchPlan {
    /// The number of rows per batch.
    pub(super) rows: usize,
    /// The leaves to decode into views.
    pub(super) views: Vec<usize>,
    /// The dictionaries that were read, with their leaves.
    pub(super) dictionaries: Vec<(usize, CachedDictionaryReader)>,
}

/// Plans batches of at most `rows` rows.
pub(super) fn plan(
    group: &RowGroupMetaData,
    (leaves, types): (&[LeafPages], &[DataType]),
    selection: Option<&RowSelection>,
    fetched: &FetchedBytes,
    rows: usize,
    rules: &PageRules,
) -> Result<BatchPlan> {
    let group_rows = u64::try_from(group.num_rows()).unwrap_or_default().max(1);
    let mut rows = (rows as u64).min(group_rows).max(1);
    let mut views = Vec::new();
    let mut dictionaries = Vec::new();
    let mut max_text_per_row = 0_u64;
    let mut fixed_per_row = 0_u64;
    let mut shares_by_column = Vec::new();
    for pages in leaves {
        let Some(column) = group.columns().get(pages.leaf) else {
            continue;
        };
        let values = u64::try_from(column.num_values()).unwrap_or_default();
        let per_row = values.div_ceil(group_rows).max(1);
        let width = width(column);
        let repeats = column.column_descr().max_rep_level() > 0;
        if let Some(width) = width.filter(|_| !repeats) {
            fixed_per_row = fixed_per_row.saturating_add(width);
            continue;
        }
        let mut encoded = width.unwrap_or_default();
        if width.is_none() {
            let values = rows.saturating_mul(per_row);
            let (longest, dictionary) = longest_value(column, pages, fetched, values);
            dictionaries.extend(dictionary.map(|dictionary| (pages.leaf, dictionary)));
            let in_batch = longest.saturating_mul(per_row);
            let is_plain_text = matches!(
                types.get(pages.leaf),
                Some(DataType::Utf8 | DataType::Binary)
            );
            let selected = selection.map_or(group_rows, |rows| rows.row_count() as u64);
            if in_batch.saturating_mul(selected) > text_size::MAX_BYTES {
                text_size::check(column, fetched, rules)?;
            }
            if is_plain_text && longest > LONG_VALUE && in_batch.saturating_mul(rows) > FEW_BYTES {
                views.push(pages.leaf);
                encoded = VIEW;
            } else if repeats {
                encoded = longest;
            } else {
                max_text_per_row = max_text_per_row.saturating_add(in_batch);
            }
        }
        let bytes = |page: &PageInfo| match width {
            None if !page.is_dictionary_encoded => page.bytes,
            _ => page.values.saturating_mul(encoded),
        };
        let shares = if repeats {
            nested_shares(column, &pages.data, group_rows, bytes, fetched)
        } else {
            let shares = |page: &PageInfo| {
                page.strings.clone().unwrap_or_else(|| {
                    vec![Share {
                        rows: page.values,
                        bytes: bytes(page),
                    }]
                })
            };
            pages.data.iter().flat_map(shares).collect()
        };
        shares_by_column.push(Shares::new(selected(shares, selection)));
    }
    let fits = |rows: u64| {
        let max_bytes = shares_by_column
            .iter()
            .map(|shares| shares.max_bytes_of_rows(rows));
        let max_bytes = max_bytes.fold(fixed_per_row.saturating_mul(rows), u64::saturating_add);
        max_bytes <= MAX_BATCH_BYTES && max_text_per_row.saturating_mul(rows) <= MAX_TEXT_BYTES
    };
    while rows > 1 && !fits(rows) {
        rows /= 2;
    }
    Ok(BatchPlan {
        rows: usize::try_from(rows).unwrap_or(usize::MAX),
        views,
        dictionaries,
    })
}

/// Returns the shares of a nested column chunk: its pages, whose rows are estimated by their mean length, or measured
/// shares.
fn nested_shares(
    column: &ColumnChunkMetaData,
    pages: &[PageInfo],
    group_rows: u64,
    bytes: impl Fn(&PageInfo) -> u64,
    fetched: &FetchedBytes,
) -> Vec<Share> {
    let values = u64::try_from(column.num_values()).unwrap_or_default();
    let share = |page: &PageInfo| Share {
        rows: page
            .values
            .saturating_mul(group_rows)
            .div_ceil(values.max(1)),
        bytes: bytes(page),
    };
    let shares: Vec<Share> = pages.iter().map(share).collect();
    let decoded = shares.iter().map(|share| share.bytes);
    let decoded = decoded.fold(0, u64::saturating_add);
    let stored = u64::try_from(column.compressed_size()).unwrap_or_default();
    if decoded <= MAX_UNMEASURED || decoded / MAX_EXPANSION <= stored {
        return shares;
    }
    let sizes = pages
        .iter()
        .map(|page| bytes(page).div_ceil(page.values.max(1)));
    measured(column, fetched, sizes).unwrap_or(shares)
}

/// Returns the bytes of a decoded value of fixed width; `None` for strings.
pub(crate) fn width(column: &ColumnChunkMetaData) -> Option<u64> {
    Some(match column.column_descr().physical_type() {
        PhysicalType::BOOLEAN => 1,
        PhysicalType::INT32 | PhysicalType::FLOAT => 4,
        PhysicalType::INT64 | PhysicalType::DOUBLE | PhysicalType::INT96 => 8,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            u64::try_from(column.column_descr().type_length()).unwrap_or_default()
        }
        PhysicalType::BYTE_ARRAY => return None,
    })
}

/// Returns the length of the longest dictionary value, or an upper bound if that makes no difference to a
/// batch of this many values; and the dictionary if it had to be read.
fn longest_value(
    column: &ColumnChunkMetaData,
    pages: &LeafPages,
    fetched: &FetchedBytes,
    values: u64,
) -> (u64, Option<CachedDictionaryReader>) {
    let Some(dictionary) = &pages.dictionary else {
        return (0, None);
    };
    // each value has a length prefix of four bytes
    let possible = dictionary
        .bytes
        .saturating_sub(dictionary.values.saturating_mul(4));
    if possible <= LONG_VALUE || possible.saturating_mul(values) <= FEW_BYTES {
        return (possible, None);
    }
    let reader = SerializedPageReader::new(Arc::new(fetched.clone()), column, 0, None);
    let read = reader.and_then(|mut reader| Ok((reader.get_next_page()?, reader)));
    let Ok((Some(page), rest)) = read else {
        return (possible, None); // the decoder reports the error
    };
    let longest = match &page {
        Page::DictionaryPage {
            buf, num_values, ..
        } => text_size::dictionary_lengths(buf, *num_values).max(),
        _ => return (possible, None),
    };
    let longest = u64::from(longest.unwrap_or_default());
    (longest, Some(CachedDictionaryReader::new(page, rest)))
}
