//! Recompresses pages that Hadoop compressed with LZ4 in several blocks.
//!
//! Hadoop's codec, which Spark uses for `lz4`, writes the size of its input, and then blocks of at most
//! 256 KiB of it, each after its compressed length. The Parquet decoder reads only pages of one block, so other
//! pages are compressed again, in one block.
//!
//! Protocol: Apache Parquet, "Compression", LZ4.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataBuilder, RowGroupMetaData};

use super::fetched::FetchedBytes;
use super::integers::varint;
use super::sizes::max_decompressed;
use super::thrift::{PageHeader, page_header};

/// Thrift's header of an integer of 32 bits whose id follows the id before it.
const NEXT_I32: u8 = 0x15;

/// A row group with recompressed pages.
pub(super) struct Recompressed {
    /// The footer, with this row group alone, and without a page index.
    pub(super) file: ArrowReaderMetadata,
    /// The bytes of the file; the new pages follow its end.
    pub(super) fetched: FetchedBytes,
    /// The range of each leaf.
    pub(super) ranges: Vec<(usize, Range<u64>)>,
}

/// Returns the row group with pages of one block; `None` if no page has several. `ranges` are whole column
/// chunks. Pages that do not decompress are kept, for the decoder to report.
pub(super) fn recompressed(
    file: &ArrowReaderMetadata,
    group: &RowGroupMetaData,
    ranges: &[(usize, Range<u64>)],
    fetched: &FetchedBytes,
) -> ParquetResult<Option<Recompressed>> {
    let mut chunks = ranges
        .iter()
        .filter_map(|(leaf, _)| group.columns().get(*leaf));
    if !chunks.any(is_lz4) {
        return Ok(None);
    }
    let mut columns = group.columns().to_vec();
    let mut ranges = ranges.to_vec();
    let mut fetched = fetched.clone();
    let mut has_blocks = false;
    for (leaf, range) in &mut ranges {
        let Some(column) = columns.get_mut(*leaf).filter(|column| is_lz4(column)) else {
            continue;
        };
        let chunk = fetched.range(range);
        let Some((bytes, first_data)) = chunk.and_then(|bytes| recompressed_chunk(&bytes)) else {
            continue;
        };
        let size = bytes.len() as u64;
        let start = fetched.append(Bytes::from(bytes));
        let dictionary = column.dictionary_page_offset().map(|_| start.cast_signed());
        // parquet-mr before 1.12 states no offset of a dictionary: the data begins with it
        let data = start + dictionary.map_or(0, |_| first_data);
        *column = column
            .clone()
            .into_builder()
            .set_dictionary_page_offset(dictionary)
            .set_data_page_offset(data.cast_signed())
            .set_total_compressed_size(size.cast_signed())
            .build()?;
        *range = start..start + size;
        has_blocks = true;
    }
    if !has_blocks {
        return Ok(None);
    }
    let group = group
        .clone()
        .into_builder()
        .set_column_metadata(columns)
        .build()?;
    let footer = file.metadata().file_metadata().clone();
    let footer = ParquetMetaDataBuilder::new(footer).add_row_group(group);
    let options = ArrowReaderOptions::new().with_schema(Arc::clone(file.schema()));
    Ok(Some(Recompressed {
        file: ArrowReaderMetadata::try_new(Arc::new(footer.build()), options)?,
        fetched,
        ranges,
    }))
}

/// Returns `true` if Hadoop may have compressed the column chunk with LZ4.
pub(super) fn is_lz4(column: &ColumnChunkMetaData) -> bool {
    column.compression() == Compression::LZ4
}

/// A page: its header, the bytes of the header, and its body.
struct Page<'a> {
    header: PageHeader,
    head: &'a [u8],
    body: &'a [u8],
}

/// Returns the bytes of the recompressed pages, and the position of the first data page in them; `None` if no page
/// has several blocks.
fn recompressed_chunk(bytes: &[u8]) -> Option<(Vec<u8>, u64)> {
    let pages = pages(bytes)?;
    if !pages.iter().any(Page::may_have_blocks) {
        return None;
    }
    let mut chunk = Vec::with_capacity(bytes.len());
    let mut first_data = None;
    for page in &pages {
        if page.header.kind != PageHeader::DICTIONARY {
            first_data.get_or_insert(chunk.len() as u64);
        }
        match page.recompressed() {
            Some(page) => chunk.extend(page),
            None => chunk.extend([page.head, page.body].concat()),
        }
    }
    Some((chunk, first_data?))
}

/// Returns the pages of a column chunk; `None` if they exceed it.
fn pages(bytes: &[u8]) -> Option<Vec<Page<'_>>> {
    let mut pages = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let header = page_header(rest)?;
        let size = usize::try_from(header.compressed).ok()?;
        let (head, after) = rest.split_at_checked(header.length)?;
        let (body, after) = after.split_at_checked(size)?;
        pages.push(Page { header, head, body });
        rest = after;
    }
    Some(pages)
}

impl Page<'_> {
    /// Returns the levels, which are not compressed, and the rest of the body with its decompressed size.
    fn parts(&self) -> Option<(&[u8], &[u8], usize)> {
        let levels = usize::try_from(self.header.levels).ok()?;
        let (levels, values) = self.body.split_at_checked(levels)?;
        let size = self.header.uncompressed.checked_sub(self.header.levels)?;
        let max = max_decompressed(Compression::LZ4, values.len() as u64);
        let size = usize::try_from(size).ok()?;
        (size as u64 <= max).then_some((levels, values, size))
    }

    /// Returns `true` if more bytes follow the first block.
    fn may_have_blocks(&self) -> bool {
        let first = || {
            let (_, values, size) = self.parts()?;
            let (total, rest) = length(values)?;
            let (block, rest) = length(rest)?;
            Some(total <= size && block < rest.len())
        };
        first().unwrap_or_default()
    }

    /// Returns the page with a body of one block; `None` if it has no more, or does not decompress.
    fn recompressed(&self) -> Option<Vec<u8>> {
        if !self.may_have_blocks() {
            return None;
        }
        if let Some(crc) = self.header.crc
            && crc != checksum(self.body)
        {
            return None;
        }
        let (levels, values, size) = self.parts()?;
        let block = lz4_flex::block::compress(&decompressed(values, size)?);
        let [size, length] = [size, block.len()].map(u32::try_from);
        let lengths = [size.ok()?.to_be_bytes(), length.ok()?.to_be_bytes()].concat();
        let body = [levels, &lengths, &block].concat();
        let mut page = self.head_of(&body)?;
        page.extend(body);
        Some(page)
    }

    /// Returns the header for another body; `None` if it does not begin as writers write it.
    fn head_of(&self, body: &[u8]) -> Option<Vec<u8>> {
        let size = i64::try_from(body.len()).ok()?;
        let crc = self.header.crc.map(|_| checksum(body));
        let numbers = [self.header.kind, self.header.uncompressed, size];
        let mut rest = self.head;
        let mut head = Vec::with_capacity(self.head.len());
        for number in numbers.into_iter().chain(crc) {
            let (first, after) = rest.split_first()?;
            if *first != NEXT_I32 {
                return None;
            }
            rest = after;
            varint(&mut rest)?;
            head.push(NEXT_I32);
            write_number(&mut head, number);
        }
        head.extend(rest);
        Some(head)
    }
}

fn checksum(body: &[u8]) -> i64 {
    i64::from(crc32fast::hash(body).cast_signed())
}

/// Appends a number as a zigzag varint.
fn write_number(out: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest > 0x7F {
        out.push((rest & 0x7F) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Decompresses blocks to this number of bytes.
fn decompressed(mut bytes: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut values = vec![0; size];
    let mut filled = 0_usize;
    while !bytes.is_empty() {
        let total;
        (total, bytes) = length(bytes)?;
        let end = filled.checked_add(total)?;
        while filled < end {
            let compressed;
            (compressed, bytes) = length(bytes)?;
            let block;
            (block, bytes) = bytes.split_at_checked(compressed)?;
            let rest = values.get_mut(filled..end)?;
            match lz4_flex::block::decompress_into(block, rest) {
                Ok(count) if count > 0 => filled += count,
                _ => return None,
            }
        }
    }
    (filled == size).then_some(values)
}

/// Splits a length of four bytes, most significant first, from the rest.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u32::from_be_bytes(*length)).ok()?, rest))
}

#[cfg(test)]
mod tests;
