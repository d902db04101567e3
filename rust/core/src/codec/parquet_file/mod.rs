//! Footers and row groups of Parquet files, decoded from bytes that the caller fetched.
//!
//! Each decoder states which ranges of the file it needs, and takes their bytes. The claims of a footer are
//! checked against the length of the file, and those of pages against their column chunk, before memory is
//! allocated for them.

use std::ops::Range;

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder,
    RowGroupMetaData,
};

use super::decoder;
use crate::error::{Error, Result};

mod batch_plan;
mod data_page;
mod delta_lengths;
mod fetched;
mod hadoop_lz4;
mod integers;
mod known_dictionaries;
mod layout;
mod leaves;
mod legacy_calendar;
mod pages;
mod row_group;
mod row_group_reader;
mod shares;
mod sizes;
mod text_size;
mod thrift;
mod write;

pub(crate) use batch_plan::{MAX_BATCH_BYTES, width};
pub use fetched::FetchedBytes;
pub(crate) use leaves::int96_in_micros;
pub(crate) use legacy_calendar::{LegacyCalendar, LegacyColumns};
pub(crate) use row_group::BatchSize;
pub use row_group::RowGroupRequest;
pub(crate) use row_group_reader::RowGroupReader;
pub(crate) use write::{codec, writer_options};

/// The bytes fetched from the end of a file, to include the footer in one request.
const FOOTER_PREFETCH: u64 = 64 * 1024;

/// 1 / `REMOTE_FRACTION` of a remote file is fetched from its end, between `FOOTER_PREFETCH` and `MAX_REMOTE_PREFETCH`
/// bytes, to include the page index in the same request.
const REMOTE_FRACTION: u64 = 128;
const MAX_REMOTE_PREFETCH: u64 = 1 << 20;

/// The maximum length of a footer, and of its page index: real ones have some kilobytes, rarely megabytes.
const MAX_FOOTER: u64 = 64 << 20;

/// The maximum bytes of a value of fixed length: decoders allocate memory for a thousand at once.
const MAX_FIXED_LENGTH: i32 = 1 << 20;

/// The rules for reading and checking a footer.
#[derive(Clone, Copy, Debug)]
pub struct FooterRules {
    /// The error code.
    pub(crate) code: &'static str,
    /// The maximum number of rows per byte of the file.
    pub(crate) max_rows_per_byte: u64,
    /// True to read the page index, too.
    pub(crate) page_index: bool,
    /// True to accept files with encrypted columns, for their other columns.
    pub(crate) accepts_encrypted_columns: bool,
}

/// The maximum size of a checkpoint page; real pages have a few megabytes.
pub(crate) const MAX_CHECKPOINT_PAGE: u64 = 512 << 20;

/// The rules for checking pages.
pub(crate) struct PageRules {
    /// The error code.
    pub(crate) code: &'static str,
    /// The error message if the decoder has none.
    pub(crate) message: &'static str,
    /// The maximum decompressed size of a page.
    pub(crate) max_bytes: u64,
}

impl PageRules {
    /// Returns the error for pages that do not decode.
    pub(crate) fn error(&self, cause: ParquetError) -> Error {
        Error::corrupt(self.code, self.message).because(cause)
    }
}

/// Decodes and checks the footer of a file.
pub struct FooterDecoder {
    decoder: ParquetMetaDataPushDecoder,
    length: u64,
    rules: FooterRules,
    missing: Vec<Range<u64>>,
    encrypted_columns: bool,
}

impl FooterDecoder {
    /// Creates a decoder for a file of `length` bytes.
    pub fn new(length: u64, rules: FooterRules) -> Result<Self> {
        let policy = if rules.page_index {
            PageIndexPolicy::Optional
        } else {
            PageIndexPolicy::Skip
        };
        let decoder = ParquetMetaDataPushDecoder::try_new(length)
            .map_err(|cause| rules.broken(cause))?
            .with_offset_index_policy(policy)
            .with_column_index_policy(policy);
        let tail = length.saturating_sub(FOOTER_PREFETCH)..length;
        Ok(Self {
            decoder,
            length,
            rules,
            missing: vec![tail],
            encrypted_columns: false,
        })
    }

    /// Creates a decoder for a file on a remote store. Its first range is longer, to include the page index: a
    /// second request would cost more.
    pub fn remote(length: u64, rules: FooterRules) -> Result<Self> {
        let mut decoder = Self::new(length, rules)?;
        let size = (length / REMOTE_FRACTION).clamp(FOOTER_PREFETCH, MAX_REMOTE_PREFETCH);
        let tail = length.saturating_sub(size)..length;
        decoder.missing = vec![tail];
        Ok(decoder)
    }

    /// Returns the ranges of the file to fetch next.
    pub fn missing(&self) -> &[Range<u64>] {
        &self.missing
    }

    /// Returns `true` if the footer declares encrypted columns; the footer itself is not encrypted.
    pub fn has_encrypted_columns(&self) -> bool {
        self.encrypted_columns
    }

    /// Takes the bytes of the missing ranges; returns the footer once nothing is missing.
    ///
    /// # Errors
    ///
    /// Corrupt, with the code of the rules: the footer does not decode, or contradicts the file's length.
    /// Unsupported: `data.encrypted`.
    pub fn push(&mut self, bytes: Vec<Bytes>) -> Result<Option<ParquetMetaData>> {
        let metadata = guarded(self.rules.code, || self.decode(bytes))?;
        if let Some(metadata) = &metadata {
            check(metadata, self.length, &self.rules)?;
        }
        Ok(metadata)
    }

    fn decode(&mut self, bytes: Vec<Bytes>) -> Result<Option<ParquetMetaData>> {
        let fetched = std::mem::take(&mut self.missing);
        self.encrypted_columns |= check_encoded(&fetched, &bytes, self.length, &self.rules)?;
        if self.encrypted_columns && !self.rules.accepts_encrypted_columns {
            return Err(encrypted("a column of the Parquet file is"));
        }
        let broken = |cause| self.rules.broken(cause);
        self.decoder.push_ranges(fetched, bytes).map_err(broken)?;
        let missing = match self.decoder.try_decode().map_err(broken)? {
            DecodeResult::Data(metadata) => {
                let metadata = without_zero_offsets(metadata).map_err(broken)?;
                return Ok(Some(metadata));
            }
            DecodeResult::NeedsData(ranges) => ranges,
            DecodeResult::Finished => Vec::new(),
        };
        let refuse = |message: &str| Err(Error::corrupt(self.rules.code, message));
        if missing.is_empty() {
            return refuse("the Parquet footer is not complete");
        }
        if missing.iter().any(|range| range.end > self.length) {
            return refuse("the Parquet footer points outside of the file");
        }
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        if missing.iter().any(|range| length(range) > MAX_FOOTER) {
            return refuse("the Parquet footer or its page index is longer than 64 MiB");
        }
        self.missing = missing;
        Ok(None)
    }
}

impl FooterRules {
    fn broken(&self, cause: ParquetError) -> Error {
        Error::corrupt(self.code, "the Parquet file does not decode").because(cause)
    }
}

/// Runs the Parquet decoder; a panic is reported as corrupt bytes.
pub(crate) fn guarded<T>(code: &'static str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    let message = "the Parquet file does not decode: the decoder failed on its bytes";
    decoder::guarded(|| Error::corrupt(code, message), decode)
}

/// Returns the error for encrypted columns: decryption is not supported.
pub(crate) fn encrypted(what: &str) -> Error {
    let message = format!(
        "{what} encrypted, which is not supported: read it with an engine that has the keys, and write it again"
    );
    Error::unsupported("data.encrypted", message)
}

/// Checks the encoded footer before it is decoded, in whichever piece contains it. Returns whether it
/// declares encrypted columns.
fn check_encoded(
    ranges: &[Range<u64>],
    pieces: &[Bytes],
    length: u64,
    rules: &FooterRules,
) -> Result<bool> {
    // the footer's length and the magic number follow the footer
    let end = length.saturating_sub(8);
    let mut encrypted_columns = false;
    for (range, piece) in ranges.iter().zip(pieces) {
        let footer = if range.end == length {
            let Some((body, trailer)) = piece.split_last_chunk::<8>() else {
                continue;
            };
            let [a, b, c, d, magic @ ..] = *trailer;
            if magic == *b"PARE" {
                return Err(encrypted("the Parquet file is"));
            }
            let size = u32::from_le_bytes([a, b, c, d]) as usize;
            body.len().checked_sub(size).and_then(|at| body.get(at..))
        } else {
            (range.end == end).then_some(&piece[..])
        };
        let Some(footer) = footer else { continue };
        encrypted_columns |= thrift::has_encrypted_columns(footer).ok_or_else(|| {
            let message = "the Parquet footer claims more than its bytes hold";
            Error::corrupt(rules.code, message)
        })?;
    }
    Ok(encrypted_columns)
}

/// Removes offsets of dictionaries that are 0, as Parquet readers of the JVM do: some writers state 0 for a chunk
/// without a dictionary, or whose data begins with it.
fn without_zero_offsets(metadata: ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let is_zero = |column: &ColumnChunkMetaData| column.dictionary_page_offset() == Some(0);
    let mut columns = metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns);
    if !columns.any(is_zero) {
        return Ok(metadata);
    }
    let mut file = metadata.into_builder();
    let groups = file.take_row_groups().into_iter().map(|group| {
        let mut group = group.into_builder();
        let columns = group.take_columns().into_iter().map(|column| {
            if !is_zero(&column) {
                return Ok(column);
            }
            let column = column.into_builder();
            column.set_dictionary_page_offset(None).build()
        });
        let columns = columns.collect::<Result<_, ParquetError>>()?;
        group.set_column_metadata(columns).build()
    });
    let groups = groups.collect::<Result<_, ParquetError>>()?;
    Ok(file.set_row_groups(groups).build())
}

/// Checks the claims of the footer against the length of the file.
fn check(metadata: &ParquetMetaData, length: u64, rules: &FooterRules) -> Result<()> {
    let refuse = |what: &str| {
        let message = format!(
            "the Parquet footer contradicts the file, which is {length} bytes long: {what}"
        );
        Err(Error::corrupt(rules.code, message))
    };
    for column in metadata.file_metadata().schema_descr().columns() {
        if column.physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY
            && column.type_length() > MAX_FIXED_LENGTH
        {
            let (path, length) = (column.path(), column.type_length());
            return refuse(&format!("a value of {path} claims {length} bytes"));
        }
    }
    let max = length.saturating_mul(rules.max_rows_per_byte);
    let mut total = 0_u64;
    for group in metadata.row_groups() {
        match u64::try_from(group.num_rows()) {
            Ok(rows) if rows <= max => total = total.saturating_add(rows),
            _ => return refuse(&format!("a row group claims {} rows", group.num_rows())),
        }
        if group.num_rows() == 0 {
            // some writers add an empty row group with invalid offsets
            let mut columns = group.columns().iter();
            if columns.any(|column| column.num_values() != 0) {
                return refuse("a row group claims no rows, and its columns have values");
            }
            continue;
        }
        for column in group.columns() {
            if !u64::try_from(column.num_values()).is_ok_and(|values| values <= max) {
                return refuse(&format!(
                    "the column chunk of {} claims {} values",
                    column.column_path(),
                    column.num_values()
                ));
            }
            let data = column.data_page_offset();
            let start = column.dictionary_page_offset().unwrap_or(data);
            let range = (
                u64::try_from(start),
                u64::try_from(column.compressed_size()),
            );
            let is_inside = matches!(range, (Ok(start), Ok(size)) if start + size <= length);
            if !is_inside || data < start {
                return refuse(&format!(
                    "the column chunk of {} is outside of it",
                    column.column_path()
                ));
            }
        }
    }
    if total > max {
        return refuse(&format!("it claims {total} rows"));
    }
    Ok(())
}
