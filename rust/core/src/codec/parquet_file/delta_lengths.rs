//! Checks pages with delta-encoded lengths of strings, whose decoder allocates memory for as many lengths as
//! they claim.
//!
//! Protocol: Apache Parquet, "Delta-length byte array", "Delta Strings".

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::PageRules;
use super::fetched::FetchedBytes;
use super::hybrid::DeltaNumbers;
use super::shares::v1_parts;
use crate::error::{Error, Result};

/// Decompresses the pages, and compares their numbers of lengths with those of their values.
///
/// # Errors
///
/// Corrupt, with the code of the rules and the byte offset of the page.
pub(super) fn check(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    pages: &[PageLocation],
    rules: &PageRules,
) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let broken = || Error::corrupt(rules.code, rules.message);
    let mut reader = reader(column, fetched, pages).map_err(|cause| broken().because(cause))?;
    for location in pages {
        let at = location.offset.cast_unsigned();
        let page = reader
            .get_next_page()
            .map_err(|cause| broken().because(cause).at_offset(at))?;
        if page.is_none_or(|page| is_sound(&page, column) != Some(true)) {
            let message = format!(
                "a page of {} does not decode: it claims more strings than it has values",
                column.column_path()
            );
            return Err(Error::corrupt(rules.code, message).at_offset(at));
        }
    }
    Ok(())
}

/// Returns a reader of these pages.
fn reader(
    column: &ColumnChunkMetaData,
    fetched: &FetchedBytes,
    pages: &[PageLocation],
) -> ParquetResult<SerializedPageReader<FetchedBytes>> {
    let fetched = Arc::new(fetched.clone());
    let mut reader = SerializedPageReader::new(fetched, column, 0, Some(pages.to_vec()))?;
    let first = pages.first().map(|page| page.offset.cast_unsigned());
    if first.is_some_and(|first| first != column.byte_range().0) {
        reader.skip_next_page()?; // it takes all bytes before them for a dictionary
    }
    Ok(reader)
}

/// Returns `true` if a data page claims at most as many lengths as it has values; `None` if that is not known.
fn is_sound(page: &Page, column: &ColumnChunkMetaData) -> Option<bool> {
    let (values, encoding, body) = match page {
        Page::DataPage {
            buf,
            num_values,
            encoding,
            def_level_encoding,
            rep_level_encoding,
            ..
        } => {
            let column = column.column_descr();
            let (repeated, defined) = (column.max_rep_level(), column.max_def_level());
            if defined > 0 && *def_level_encoding != Encoding::RLE {
                return None;
            }
            let known = *rep_level_encoding == Encoding::RLE;
            (
                *num_values,
                *encoding,
                v1_parts(buf, repeated, defined, known)?.1,
            )
        }
        Page::DataPageV2 {
            buf,
            num_values,
            encoding,
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => {
            let levels = (*rep_levels_byte_len as usize).checked_add(*def_levels_byte_len as usize);
            (*num_values, *encoding, buf.get(levels?..)?)
        }
        Page::DictionaryPage { .. } => return None,
    };
    let values = u64::from(values);
    let first = DeltaNumbers::new(body)?;
    if first.len() > values || encoding != Encoding::DELTA_BYTE_ARRAY {
        return Some(first.len() <= values);
    }
    Some(DeltaNumbers::new(first.rest()?)?.len() <= values)
}
