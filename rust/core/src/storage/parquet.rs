//! Fetches the bytes that the decoders of Parquet files request.

use std::ops::Range;

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaData;

use super::{FileBytes, Storage};
use crate::codec::parquet_file::{FetchedBytes, FooterDecoder, FooterRules, RowGroupRequest};
use crate::error::Result;

/// A validated footer.
pub(crate) struct Footer {
    /// The decoded footer.
    pub(crate) metadata: ParquetMetaData,
    /// True if pages of columns are encrypted.
    pub(crate) has_encrypted_columns: bool,
}

/// Fetches, decodes and checks the footer of a file of `length` bytes.
///
/// # Errors
///
/// Corrupt, with the code of `rules`: the footer does not decode, or contradicts the length of the file.
/// Unsupported: `data.encrypted`. Storage errors.
pub(crate) fn read_footer(
    storage: &dyn Storage,
    path: &str,
    length: u64,
    rules: FooterRules,
) -> Result<Footer> {
    let decoder = match storage.max_requests() {
        Some(_) => FooterDecoder::remote(length, rules)?,
        None => FooterDecoder::new(length, rules)?,
    };
    decoded(decoder, |ranges| storage.read_ranges(path, ranges))
}

/// Reads the footer of a file through `bytes`, which may keep what is fetched for later reads.
pub(crate) fn footer_of(bytes: &FileBytes, rules: FooterRules) -> Result<Footer> {
    let decoder = FooterDecoder::new(bytes.length(), rules)?;
    decoded(decoder, |ranges| bytes.read(ranges))
}

fn decoded(
    mut decoder: FooterDecoder,
    read: impl Fn(&[Range<u64>]) -> Result<Vec<Bytes>>,
) -> Result<Footer> {
    loop {
        let bytes = read(decoder.missing())?;
        if let Some(metadata) = decoder.push(bytes)? {
            return Ok(Footer {
                metadata,
                has_encrypted_columns: decoder.has_encrypted_columns(),
            });
        }
    }
}

/// Fetches the missing bytes of a request.
pub(crate) fn fetch(
    storage: &dyn Storage,
    path: &str,
    request: &RowGroupRequest,
    fetched: &mut FetchedBytes,
) -> Result<()> {
    let missing = request.missing(fetched);
    if !missing.is_empty() {
        let bytes = storage.read_ranges(path, &missing)?;
        fetched.add(&missing, bytes);
    }
    Ok(())
}
