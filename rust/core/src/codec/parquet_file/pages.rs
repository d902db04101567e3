//! Checks pages against their headers and column chunk before they reach the Parquet decoder.
//!
//! A page's body must lie within the fetched bytes, must not claim to decompress to more than its codec can
//! produce or the rules allow, and, if the codec's decoder would allocate whatever the page holds, must not
//! decompress to more than it claims; the pages of a chunk must not hold more values than the chunk, and must
//! begin where the page index says. If a header has a checksum, the body must match it.
//!
//! Protocol: Apache Parquet, "Data Pages", "Checksumming".

use std::ops::Range;

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;

use super::PageRules;
use super::delta_lengths;
use super::fetched::FetchedBytes;
use super::shares::Share;
use super::sizes::{exceeds, max_decompressed};
use super::thrift::{PageHeader, page_header};
use crate::error::{Error, Result};

/// The fetched pages of a leaf.
#[derive(Debug, Default)]
pub(super) struct LeafPages {
    pub(super) leaf: usize,
    pub(super) dictionary: Option<PageInfo>,
    pub(super) data: Vec<PageInfo>,
}

/// The checked content of a page header.
#[derive(Clone, Debug)]
pub(super) struct PageInfo {
    pub(super) values: u64,
    /// Decompressed size in bytes; for prefix-compressed strings, the total size of the decoded strings.
    pub(super) bytes: u64,
    /// True if the values are dictionary indexes.
    pub(super) is_dictionary_encoded: bool,
    /// The decoded bytes of prefix-compressed strings (`DELTA_BYTE_ARRAY`), as shares of the page's values;
    /// `None` for other pages.
    pub(super) strings: Option<Vec<Share>>,
    /// True if the lengths of strings are delta-encoded (`DELTA_LENGTH_BYTE_ARRAY`, `DELTA_BYTE_ARRAY`).
    pub(super) has_delta_lengths: bool,
    location: PageLocation,
}

/// A column chunk whose pages are checked.
struct Chunk<'a> {
    column: &'a ColumnChunkMetaData,
    /// The data pages listed in the offset index, if the decoder uses one.
    index: Option<&'a [PageLocation]>,
    /// The number of values of the pages so far.
    values: i64,
}

/// Checks the pages of a row group in these ranges, each with its leaf, and returns the content of their
/// headers. `index` returns the data pages of a leaf listed in the offset index.
pub(super) fn check_pages<'a>(
    columns: &[ColumnChunkMetaData],
    index: impl Fn(usize) -> Option<&'a [PageLocation]>,
    ranges: &[(usize, Range<u64>)],
    fetched: &FetchedBytes,
    rules: &PageRules,
) -> Result<Vec<LeafPages>> {
    let mut checked: Vec<LeafPages> = Vec::new();
    for leaf_ranges in ranges.chunk_by(|(leaf, _), (next, _)| leaf == next) {
        let Some((leaf, column)) = leaf_ranges
            .first()
            .and_then(|(leaf, _)| Some((*leaf, columns.get(*leaf)?)))
        else {
            continue; // never: a request has only leaves of the row group
        };
        let mut chunk = Chunk {
            column,
            index: index(leaf),
            values: 0,
        };
        let mut pages = LeafPages {
            leaf,
            ..LeafPages::default()
        };
        if let Some(index) = chunk.index
            && !is_consistent(index, column)
        {
            let message = format!(
                "the page index of {} contradicts the footer",
                column.column_path()
            );
            return Err(Error::corrupt(rules.code, message));
        }
        for (_, range) in leaf_ranges {
            let bytes = fetched
                .range(range)
                .ok_or_else(|| Error::corrupt(rules.code, rules.message).at_offset(range.start))?;
            check_range(&mut chunk, range, &bytes, &mut pages, rules)?;
        }
        let data_pages = pages.data.iter_mut();
        let delta_pages: Vec<_> = data_pages.filter(|page| page.has_delta_lengths).collect();
        let locations: Vec<_> = delta_pages
            .iter()
            .map(|page| page.location.clone())
            .collect();
        let measured = delta_lengths::measured(column, fetched, &locations, rules)?;
        for (page, strings) in delta_pages.into_iter().zip(measured) {
            if let Some(strings) = &strings {
                let bytes = strings.iter().map(|share| share.bytes);
                page.bytes = bytes.fold(0, u64::saturating_add);
            }
            page.strings = strings;
        }
        checked.push(pages);
    }
    Ok(checked)
}

/// Returns `true` if the pages lie one after another inside the column chunk, in the order of their rows.
fn is_consistent(index: &[PageLocation], column: &ColumnChunkMetaData) -> bool {
    let (start, length) = column.byte_range();
    let mut end = start;
    let mut row = 0;
    index.iter().all(|page| {
        let (Ok(from), Ok(size)) = (
            u64::try_from(page.offset),
            u64::try_from(page.compressed_page_size),
        ) else {
            return false;
        };
        let page_end = from.saturating_add(size);
        let follows = from >= end && page.first_row_index >= row;
        (end, row) = (page_end, page.first_row_index);
        follows && page_end <= start.saturating_add(length)
    })
}

/// Checks consecutive pages: the decoder reads all of them.
fn check_range(
    chunk: &mut Chunk<'_>,
    range: &Range<u64>,
    bytes: &[u8],
    pages: &mut LeafPages,
    rules: &PageRules,
) -> Result<()> {
    let column = chunk.column;
    let values = &mut chunk.values;
    // where the decoder expects pages; it reads all bytes before the first data page as one dictionary page
    let mut starts = chunk
        .index
        .unwrap_or_default()
        .iter()
        .map(|page| (page.offset.cast_unsigned(), page.compressed_page_size))
        .filter(|(offset, _)| range.contains(offset))
        .peekable();
    let first_page = chunk.index.and_then(|index| index.first());
    let first_data_offset = first_page.map_or(range.start, |page| page.offset.cast_unsigned());
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = range.start + (bytes.len() - rest.len()) as u64;
        let broken = |what: &str| {
            let message = format!("a page of {} does not decode: {what}", column.column_path());
            Error::corrupt(rules.code, message).at_offset(at)
        };
        let header = page_header(rest).ok_or_else(|| broken("its header is invalid"))?;
        let size = usize::try_from(header.compressed).ok();
        let body = size.and_then(|size| rest.get(header.length..)?.split_at_checked(size));
        let Some((body, after)) = body else {
            return Err(broken(
                "it extends past the end of its column chunk or of the requested range",
            ));
        };
        let max = max_decompressed(column.compression(), body.len() as u64).min(rules.max_bytes);
        match u64::try_from(header.uncompressed) {
            Ok(claimed) if claimed <= max => {}
            _ => {
                let what = format!(
                    "its {} bytes claim to decompress to {}",
                    body.len(),
                    header.uncompressed
                );
                return Err(broken(&what));
            }
        }
        let from = usize::try_from(header.levels).unwrap_or(usize::MAX);
        if exceeds(
            column.compression(),
            body.get(from..).unwrap_or_default(),
            header.uncompressed.saturating_sub(header.levels),
        ) {
            let what = format!("it decompresses to more than {} bytes", header.uncompressed);
            return Err(broken(&what));
        }
        let page_size = header.length + body.len();
        let end = at + page_size as u64;
        let matches_index = if at < first_data_offset {
            end == first_data_offset
        } else {
            // a listed page has its listed size, and no page extends over the start of the next
            let listed = starts.next_if(|(offset, _)| *offset == at);
            listed.is_none_or(|(_, size)| usize::try_from(size) == Ok(page_size))
                && starts.peek().is_none_or(|(offset, _)| *offset >= end)
        };
        if !matches_index {
            return Err(broken("the page index contradicts its header"));
        }
        let possible = match header.kind {
            PageHeader::DATA | PageHeader::DATA_V2 => column.num_values() - *values,
            // each value takes at least one byte
            PageHeader::DICTIONARY => header.uncompressed,
            _ => 0,
        };
        if !(0..=possible).contains(&header.values) {
            let what = format!(
                "it states {} values, but at most {possible} are possible",
                header.values
            );
            return Err(broken(&what));
        }
        let claimed = match column.compression() {
            Compression::UNCOMPRESSED => body.len() as u64,
            _ => u64::try_from(header.uncompressed).unwrap_or_default(),
        };
        let page = PageInfo {
            values: u64::try_from(header.values).unwrap_or_default(),
            bytes: claimed,
            is_dictionary_encoded: header.is_dictionary_encoded(),
            strings: None,
            has_delta_lengths: header.has_delta_lengths(),
            location: PageLocation {
                offset: at.cast_signed(),
                compressed_page_size: i32::try_from(page_size).unwrap_or(i32::MAX),
                first_row_index: 0,
            },
        };
        match header.kind {
            PageHeader::DICTIONARY => pages.dictionary = Some(page),
            PageHeader::DATA | PageHeader::DATA_V2 => {
                *values += header.values;
                pages.data.push(page);
            }
            _ => {}
        }
        if let Some(expected) = header.crc
            && i64::from(crc32fast::hash(body).cast_signed()) != expected
        {
            return Err(broken("its bytes do not match its checksum"));
        }
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
