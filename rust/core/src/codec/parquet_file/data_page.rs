//! The parts of a decompressed data page, of either version.
//!
//! Protocol: Apache Parquet, "Data Pages".

use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

/// A decompressed data page.
pub(super) struct DataPage<'a> {
    pub(super) encoding: Encoding,
    /// The number of values, including nulls.
    pub(super) values: u64,
    /// The encoded repetition levels.
    pub(super) repetition: &'a [u8],
    /// The encoded values.
    pub(super) body: &'a [u8],
}

impl<'a> DataPage<'a> {
    /// Takes a page apart; `None` if it is a dictionary, its levels exceed it, or it has levels with the
    /// deprecated encoding.
    pub(super) fn new(page: &'a Page, column: &ColumnDescriptor) -> Option<Self> {
        let (buf, values, encoding) = (page.buffer(), page.num_values(), page.encoding());
        let (repetition, body) = match page {
            Page::DataPage {
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let (repetition, rest) =
                    v1_levels(buf, column.max_rep_level(), *rep_level_encoding)?;
                let (_, body) = v1_levels(rest, column.max_def_level(), *def_level_encoding)?;
                (repetition, body)
            }
            Page::DataPageV2 {
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let (repetition, rest) = buf.split_at_checked(*rep_levels_byte_len as usize)?;
                (repetition, rest.get(*def_levels_byte_len as usize..)?)
            }
            Page::DictionaryPage { .. } => return None,
        };
        Some(Self {
            encoding,
            values: u64::from(values),
            repetition,
            body,
        })
    }
}

/// Splits the levels, which follow their length, from the rest of a V1 page.
fn v1_levels(bytes: &[u8], max: i16, encoding: Encoding) -> Option<(&[u8], &[u8])> {
    if max == 0 {
        return Some((&[], bytes));
    }
    if encoding != Encoding::RLE {
        return None;
    }
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
