//! The decoded size of the strings in a column chunk.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::PageRules;
use super::data_page::DataPage;
use super::fetched::FetchedBytes;
use super::integers::LevelRuns;
use crate::error::{Error, Result};

/// The strings of a column chunk must not exceed this size: a dictionary turns kilobytes into terabytes, which
/// would take hours to decode.
pub(super) const MAX_BYTES: u64 = 1 << 40;

/// Refuses a column chunk whose strings are too large. Decompresses its pages, but decodes no strings.
///
/// # Errors
///
/// Corrupt, with the code of the rules.
pub(super) fn check(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    rules: &PageRules,
) -> Result<()> {
    // what does not decode is reported by the decoder
    let size = decoded_size(column, fetched).unwrap_or_default();
    if size <= MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "the strings of {} in a row group take {} GiB, more than the limit of {} GiB, from {} bytes: read \
         other columns, or rewrite the file with smaller row groups",
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

fn decoded_size(column: &ColumnChunkMetaData, fetched: &FetchedBytes) -> Option<u64> {
    let fetched = Arc::new(fetched.clone());
    let mut pages = SerializedPageReader::new(fetched, column, 0, None).ok()?;
    let mut lengths = Vec::new();
    let mut size = 0_u64;
    while let Some(page) = pages.get_next_page().ok()? {
        if let Page::DictionaryPage {
            buf, num_values, ..
        } = &page
        {
            lengths = dictionary_lengths(buf, *num_values).collect();
            continue;
        }
        let page = DataPage::new(&page, column.column_descr())?;
        let page_size = match page.encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                size_of_indexed(page.body, page.values, &lengths)?
            }
            _ => page.body.len() as u64,
        };
        size = size.saturating_add(page_size);
    }
    Some(size)
}

/// Returns the size of at most `count` strings that are dictionary indexes, after the width of an index.
fn size_of_indexed(body: &[u8], count: u64, lengths: &[u32]) -> Option<u64> {
    let (width, runs) = body.split_first()?;
    if u32::from(*width) > u32::BITS {
        return None;
    }
    let (mut left, mut size) = (count, 0_u64);
    for (repeated, index) in LevelRuns::with_width(runs, u32::from(*width)) {
        let length = *lengths.get(usize::try_from(index).ok()?)?;
        let repeated = repeated.min(left);
        size = size.saturating_add(repeated.saturating_mul(length.into()));
        left -= repeated;
        if left == 0 {
            break;
        }
    }
    Some(size)
}

#[cfg(test)]
mod tests;
