//! Checks page headers against their column chunk before anything is decompressed.
//!
//! A page's body must lie within the fetched bytes, must not claim to decompress to more than its codec can
//! produce, and the pages of a chunk must not hold more values than the chunk. If a header has a checksum,
//! the body must match it.
//!
//! Protocol: Apache Parquet, "Data Pages", "Checksumming".

use std::ops::Range;

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use super::fetched::FetchedBytes;
use super::thrift::{PageHeader, page_header};
use crate::error::{Error, Result};

/// The maximum size of a checkpoint page; real pages have a few megabytes.
pub(crate) const MAX_CHECKPOINT_PAGE: u64 = 512 << 20;

/// The overhead of codecs for incompressible data, with a margin.
const CODEC_OVERHEAD: u64 = 4 << 10;

/// The rules for checking pages.
pub(crate) struct PageRules {
    /// The error code.
    pub(crate) code: &'static str,
    /// The error message if the decoder has none.
    pub(crate) message: &'static str,
    /// The maximum decompressed size of a page.
    pub(crate) max_bytes: u64,
}

/// The fetched pages of a leaf.
#[derive(Debug, Default)]
pub(super) struct LeafPages {
    pub(super) leaf: usize,
    pub(super) dictionary: Option<PageFacts>,
    pub(super) data: Vec<PageFacts>,
}

/// The checked content of a page header.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageFacts {
    pub(super) values: u64,
    /// Decompressed size in bytes.
    pub(super) bytes: u64,
    /// True if the values are dictionary indexes.
    pub(super) dictionary: bool,
    /// True if strings are prefix-compressed (`DELTA_BYTE_ARRAY`).
    pub(super) is_delta: bool,
}

/// Checks the pages of a row group in these ranges, each with its leaf, and returns the content of their
/// headers.
///
/// # Errors
///
/// Corrupt, with the code of the rules and the byte offset of the page, or of missing bytes.
pub(super) fn check_pages(
    columns: &[ColumnChunkMetaData],
    ranges: &[(usize, Range<u64>)],
    fetched: &FetchedBytes,
    rules: &PageRules,
) -> Result<Vec<LeafPages>> {
    let mut known: Vec<LeafPages> = Vec::new();
    let mut values = 0;
    for (leaf, range) in ranges {
        let Some(column) = columns.get(*leaf) else {
            continue;
        };
        if known.last().is_none_or(|last| last.leaf != *leaf) {
            values = 0;
            known.push(LeafPages {
                leaf: *leaf,
                ..LeafPages::default()
            });
        }
        let bytes = fetched
            .range(range)
            .ok_or_else(|| Error::corrupt(rules.code, rules.message).at_offset(range.start))?;
        if let Some(pages) = known.last_mut() {
            check_range(column, range, &bytes, (&mut values, pages), rules)?;
        }
    }
    Ok(known)
}

/// Checks consecutive pages until the chunk has all its values; the reader ignores any bytes after them.
fn check_range(
    column: &ColumnChunkMetaData,
    range: &Range<u64>,
    bytes: &[u8],
    (values, pages): (&mut i64, &mut LeafPages),
    rules: &PageRules,
) -> Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() && *values < column.num_values() {
        let at = range.start + (bytes.len() - rest.len()) as u64;
        let broken = |what: &str| {
            let message = format!("a page of {} does not decode: {what}", column.column_path());
            Error::corrupt(rules.code, message).at_offset(at)
        };
        let header = page_header(rest).ok_or_else(|| broken("its header is invalid"))?;
        let size = usize::try_from(header.compressed).ok();
        let body = size.and_then(|size| rest.get(header.length..)?.split_at_checked(size));
        let Some((body, after)) = body else {
            return Err(broken("it runs over the end of its column chunk"));
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
        let facts = PageFacts {
            values: u64::try_from(header.values).unwrap_or_default(),
            bytes: claimed,
            dictionary: header.is_dictionary_encoded(),
            is_delta: header.is_delta_encoded(),
        };
        if header.kind == PageHeader::DICTIONARY {
            pages.dictionary = Some(facts);
        } else {
            *values += header.values;
            pages.data.push(facts);
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

/// Returns the maximum number of bytes that this many bytes can decompress to, by the format of the codec.
fn max_decompressed(codec: Compression, bytes: u64) -> u64 {
    let times = match codec {
        // the claimed size is not used for allocation
        Compression::UNCOMPRESSED => return u64::MAX,
        Compression::SNAPPY => 32,
        Compression::LZ4 | Compression::LZ4_RAW | Compression::LZO => 256,
        Compression::GZIP(_) => 1_100,
        // a block of 128 KiB with equal bytes takes four
        Compression::ZSTD(_) => 33_000,
        Compression::BROTLI(_) => 1 << 22,
    };
    bytes.saturating_mul(times).saturating_add(CODEC_OVERHEAD)
}

#[cfg(test)]
mod tests;
