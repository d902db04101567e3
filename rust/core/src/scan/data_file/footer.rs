//! The footer of a data file, and the layout derived from it.

use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use super::DataFile;
use crate::codec::parquet_file::{FooterRules, MAX_BATCH_BYTES, int96_in_micros, width};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{FileBytes, Footer, Storage, footer_of};

/// The rules for data files. Constants take nearly no space in Parquet: a million rows may be a few dozen bytes.
pub(crate) const RULES: FooterRules = FooterRules {
    code: "data.footer",
    max_rows_per_byte: 1 << 20,
    page_index: false,
    accepts_encrypted_columns: true,
};
const RULES_WITH_PAGES: FooterRules = FooterRules {
    page_index: true,
    ..RULES
};

/// The approximate decoded size of a batch in bytes.
const BATCH_BYTES: u64 = 8 << 20;
/// The number of rows up to which a batch may be larger.
const MIN_BATCH_ROWS: u64 = 1024;
const MAX_BATCH_ROWS: u64 = 64 * 1024;

/// Reads the footer, with the page index if `pages`; also returns the bytes of the file.
pub(super) fn footer(
    storage: &Arc<dyn Storage>,
    file: &DataFile<'_>,
    pages: bool,
) -> Result<(Footer, Arc<FileBytes>)> {
    let read = |bytes: Arc<FileBytes>| {
        if !pages {
            return Ok((footer_of(&bytes, RULES)?, bytes));
        }
        // the rows can be read even if the page index is invalid
        let footer = footer_of(&bytes, RULES_WITH_PAGES).or_else(|error| match error.kind() {
            ErrorKind::Corrupt => footer_of(&bytes, RULES),
            _ => Err(error),
        });
        Ok((footer?, bytes))
    };
    let of_length = |length| Arc::new(FileBytes::new(storage, file.path.to_string(), length));
    let Ok(size) = u64::try_from(file.file.size) else {
        return read(of_length(storage.head(&file.path)?.size));
    };
    let bytes = file.bytes.clone().unwrap_or_else(|| of_length(size));
    read(bytes).or_else(|error| {
        if error.kind() != ErrorKind::Corrupt {
            return Err(error);
        }
        // the length in the log is only a hint; the storage is authoritative
        match storage.head(&file.path) {
            Ok(meta) if meta.size > size => read(of_length(meta.size)),
            Ok(meta) if meta.size < size => read(of_length(meta.size)).map_err(|error| {
                if error.kind() != ErrorKind::Corrupt {
                    return error;
                }
                let message = format!(
                    "the log says that the data file has {size} bytes, but it has {}: \
                     it is truncated, restore it or remove it from the table",
                    meta.size
                );
                Error::corrupt("data.truncated", message).because(error)
            }),
            _ => Err(error),
        }
    })
}

pub(super) fn arrow_metadata(
    metadata: Arc<ParquetMetaData>,
) -> Result<ArrowReaderMetadata, ParquetError> {
    let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options())?;
    match int96_in_micros(plain.schema(), plain.parquet_schema(), None) {
        None => Ok(plain),
        Some(schema) => {
            ArrowReaderMetadata::try_new(metadata, options().with_schema(Arc::new(schema)))
        }
    }
}

/// Returns the positions of the first rows of all row groups, and the end.
pub(super) fn first_rows(metadata: &ParquetMetaData) -> Vec<u64> {
    let mut rows = 0_u64;
    let mut first = vec![0];
    for group in metadata.row_groups() {
        // neither negative nor too large: the footer was checked
        rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or_default());
        first.push(rows);
    }
    first
}

/// Returns the number of rows per batch; `constant` bytes of each row are not in the file.
pub(super) fn batch_rows(metadata: &ParquetMetaData, leaves: &[usize], constant: u64) -> usize {
    let mut rows = 0_u64;
    let mut bytes = 0_u64;
    for group in metadata.row_groups() {
        rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or_default());
        for chunk in leaves.iter().filter_map(|leaf| group.columns().get(*leaf)) {
            // a dictionary or a run may expand by an unknown factor
            let values = u64::try_from(chunk.num_values()).unwrap_or_default();
            let encoded = u64::try_from(chunk.uncompressed_size()).unwrap_or_default();
            let min_bytes = values.saturating_mul(width(chunk).unwrap_or_default().max(8));
            bytes = bytes.saturating_add(encoded.max(min_bytes));
        }
    }
    let per_row = (bytes / rows.max(1)).saturating_add(constant).max(1);
    let row_count = (BATCH_BYTES / per_row).max(MIN_BATCH_ROWS.min(MAX_BATCH_BYTES / per_row));
    usize::try_from(row_count.clamp(1, MAX_BATCH_ROWS)).unwrap_or(1)
}
