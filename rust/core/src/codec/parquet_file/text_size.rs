//! The decoded size of the strings in a column chunk.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::PageRules;
use super::data_page::DataPage;
use super::fetched::FetchedBytes;
use super::integers::RleRuns;
use crate::error::{Error, Result};

/// The strings of a column chunk must not exceed this size: a dictionary can expand kilobytes to terabytes, which
/// would take hours to decode.
pub(super) const MAX_BYTES: u64 = 1 << 40;

/// Refuses a column chunk whose strings are too large. Decompresses its pages, but decodes no strings.
pub(super) fn check(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    rules: &PageRules,
) -> Result<()> {
    let size = decoded_size(column, fetched);
    if size <= MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "the strings of {} in a row group decode to {} GiB, which exceeds the limit of {} GiB (compressed: {} \
         bytes): read other columns, or rewrite the file with smaller row groups",
        column.column_path(),
        size >> 30,
        MAX_BYTES >> 30,
        column.compressed_size(),
    );
    Err(Error::corrupt(rules.code, message))
}

/// Returns the lengths of the strings of a dictionary.
pub(super) fn dictionary_lengths(mut bytes: &[u8], count: u32) -> impl Iterator<Item = u32> {
    (0..count).map_while(move |_| {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = u32::from_le_bytes(*length);
        bytes = rest.get(length as usize..).unwrap_or_default();
        Some(length)
    })
}

/// Returns the size of the strings up to the first page that cannot be read, which the decoder reports.
fn decoded_size(column: &ColumnChunkMetaData, fetched: &FetchedBytes) -> u64 {
    let fetched = Arc::new(fetched.clone());
    let Ok(mut pages) = SerializedPageReader::new(fetched, column, 0, None) else {
        return 0;
    };
    let mut lengths = Vec::new();
    let mut size = 0_u64;
    while let Ok(Some(page)) = pages.get_next_page() {
        if let Page::DictionaryPage {
            buf, num_values, ..
        } = &page
        {
            lengths = dictionary_lengths(buf, *num_values).collect();
            continue;
        }
        let is_indexed = matches!(
            page.encoding(),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
        );
        let page_size = match DataPage::new(&page, column.column_descr()) {
            Some(data) if is_indexed => size_of_indexed(data.body, data.values, &lengths),
            // levels that are invalid, or in the deprecated encoding: an upper bound
            None if is_indexed => {
                let longest = lengths.iter().max().copied().unwrap_or_default();
                u64::from(page.num_values()).saturating_mul(longest.into())
            }
            _ => page.buffer().len() as u64,
        };
        size = size.saturating_add(page_size);
    }
    size
}

/// Returns the total size of the first `count` strings of a dictionary-encoded page body, which is the bit width
/// of an index and runs of indexes.
fn size_of_indexed(body: &[u8], count: u64, lengths: &[u32]) -> u64 {
    let (width, runs) = match body.split_first() {
        Some((width, runs)) if u32::from(*width) <= u32::BITS => (u32::from(*width), runs),
        _ => return 0,
    };
    let (mut left, mut size) = (count, 0_u64);
    for (repeated, index) in RleRuns::with_width(runs, width) {
        // an index out of range is padding, or an error that the decoder reports
        let length = usize::try_from(index)
            .ok()
            .and_then(|index| lengths.get(index));
        let repeated = repeated.min(left);
        size = size.saturating_add(repeated.saturating_mul(length.copied().unwrap_or(0).into()));
        left -= repeated;
        if left == 0 {
            break;
        }
    }
    size
}

#[cfg(test)]
mod tests;
