//! Checks pages with delta-encoded lengths of strings, whose decoder allocates memory for as many lengths as
//! they claim, and measures their strings.
//!
//! Protocol: Apache Parquet, "Delta-length byte array", "Delta Strings".

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::PageReader;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::PageRules;
use super::data_page::DataPage;
use super::fetched::FetchedBytes;
use super::integers::DeltaNumbers;
use super::shares::{Share, SharesBuilder};
use crate::error::{Error, Result};

/// A page must not have more strings: the decoder allocates eight bytes for each at once.
const MAX_STRINGS: u64 = 1 << 26;

/// Decompresses the pages and checks that they do not have more lengths than values. Returns for each page the shares
/// of its strings if they are prefix-compressed (`DELTA_BYTE_ARRAY`), since the size of the page does not show their
/// decoded size; checks that these strings do not exceed the bytes of the page.
pub(super) fn measured(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    pages: &[PageLocation],
    rules: &PageRules,
) -> Result<Vec<Option<Vec<Share>>>> {
    if pages.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = reader(column, fetched, pages).map_err(|cause| rules.error(cause))?;
    let measured = pages.iter().map(|location| {
        let at = location.offset.cast_unsigned();
        let page = reader
            .get_next_page()
            .map_err(|cause| rules.error(cause).at_offset(at))?;
        let page = page.as_ref();
        let page = page.and_then(|page| DataPage::new(page, column.column_descr()));
        page.and_then(|page| strings(&page)).ok_or_else(|| {
            let message = format!(
                "a page of {} does not decode: its strings exceed its values or its bytes",
                column.column_path()
            );
            Error::corrupt(rules.code, message).at_offset(at)
        })
    });
    measured.collect()
}

/// Returns a reader of these pages.
fn reader(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    pages: &[PageLocation],
) -> ParquetResult<SerializedPageReader<FetchedBytes>> {
    let fetched = Arc::new(fetched.clone());
    let mut reader = SerializedPageReader::new(fetched, column, 0, Some(pages.to_vec()))?;
    if let Some(first) = pages.first()
        && first.offset.cast_unsigned() != column.byte_range().0
    {
        reader.skip_next_page()?; // the reader treats all bytes before them as a dictionary
    }
    Ok(reader)
}

/// Returns the shares of prefix-compressed strings, and `Some(None)` for another encoding; `None` if the lengths
/// contradict the page.
fn strings(page: &DataPage<'_>) -> Option<Option<Vec<Share>>> {
    let lengths = DeltaNumbers::new(page.body)?;
    if lengths.len() > page.values.min(MAX_STRINGS) {
        return None;
    }
    if page.encoding != Encoding::DELTA_BYTE_ARRAY {
        return Some(None); // the decoder compares the lengths with the bytes
    }
    let count = lengths.len();
    let after = DeltaNumbers::new(page.body)?.rest()?;
    let suffixes = DeltaNumbers::new(after)?;
    if suffixes.len() != count {
        return None;
    }
    let mut left = DeltaNumbers::new(after)?.rest()?.len() as u64;
    let mut shared = SharesBuilder::default();
    let mut previous = 0;
    for (prefix, suffix) in lengths.zip(suffixes) {
        let suffix = u64::try_from(suffix).ok()?;
        left = left.checked_sub(suffix)?;
        let prefix = u64::try_from(prefix).ok()?;
        if prefix > previous {
            return None; // early parquet-mr continued the last string of the previous page (PARQUET-246)
        }
        previous = prefix + suffix;
        shared.add(1, previous);
    }
    shared.add(page.values - count, 0); // nulls
    Some(Some(shared.finish()))
}

#[cfg(test)]
mod tests;
