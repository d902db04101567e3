//! Checkpoint Parquet to columns: classic files, parts, V2 manifests and sidecars.
//!
//! Takes bytes by way of a `fetch` function that the caller gives; decodes the footer once, then only
//! the leaves that are asked for, unit by unit. What the footer claims is checked against the length
//! of the file before anything is allocated for it.
//!
//! Protocol: "Checkpoints", "Checkpoint Schema".

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};

use crate::error::{Error, Result};

mod chunks;
mod control;
mod judged;
mod rows;
mod types;
mod units;

pub use control::Control;
pub use judged::JudgedReader;
pub use rows::{FileRows, UnitReader};
pub use units::Unit;

use types::reading_schema;

/// Gives byte ranges of the file, in the order asked.
pub type Fetch<'a> = dyn Fn(&[Range<u64>]) -> Result<Vec<Bytes>> + 'a;

/// The footer and what lies before it are read in one piece of this size.
const FOOTER_PREFETCH: u64 = 64 * 1024;

/// A footer longer than this is refused: those of real checkpoints have some ten kilobytes.
const MAX_FOOTER: u64 = 64 << 20;

/// Rows are at least some bits long: what claims to be denser is refused.
const MAX_ROWS_PER_BYTE: u64 = 200;

/// Which file action of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// `add`
    Add,
    /// `remove`
    Remove,
}

impl FileAction {
    /// The name of the column.
    pub fn name(self) -> &'static str {
        match self {
            FileAction::Add => "add",
            FileAction::Remove => "remove",
        }
    }
}

/// One Parquet file of a checkpoint, its footer decoded.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    arrow: ArrowReaderMetadata,
    length: u64,
}

impl CheckpointFile {
    /// Reads and checks the footer of a file of `length` bytes.
    ///
    /// # Errors
    ///
    /// Corrupt: `checkpoint.parquet` when the footer does not decode or contradicts the file's length.
    pub fn open(length: u64, fetch: &Fetch<'_>) -> Result<Self> {
        let metadata = Arc::new(footer(length, fetch)?);
        check(&metadata, length)?;
        let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options())
            .map_err(parquet_error)?;
        let leaves = metadata.file_metadata().schema_descr();
        let schema = Arc::new(reading_schema(plain.schema(), leaves));
        let arrow = ArrowReaderMetadata::try_new(metadata, options().with_schema(schema))
            .map_err(parquet_error)?;
        Ok(Self { arrow, length })
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.arrow.metadata()
    }

    /// The leaves whose path is accepted.
    fn leaves(&self, accept: impl Fn(&[String]) -> bool) -> Vec<usize> {
        let schema = self.metadata().file_metadata().schema_descr();
        (0..schema.num_columns())
            .filter(|leaf| accept(schema.column(*leaf).path().parts()))
            .collect()
    }

    /// The one leaf of this path.
    fn leaf(&self, path: &[&str]) -> Option<usize> {
        self.leaves(|parts| parts.iter().map(String::as_str).eq(path.iter().copied()))
            .first()
            .copied()
    }
}

fn footer(length: u64, fetch: &Fetch<'_>) -> Result<ParquetMetaData> {
    let mut decoder = ParquetMetaDataPushDecoder::try_new(length)
        .map_err(parquet_error)?
        .with_offset_index_policy(PageIndexPolicy::Optional)
        .with_column_index_policy(PageIndexPolicy::Optional);
    let tail = length.saturating_sub(FOOTER_PREFETCH)..length;
    let mut wanted = vec![tail];
    loop {
        if wanted
            .iter()
            .any(|range| range.end > length || range.end.saturating_sub(range.start) > MAX_FOOTER)
        {
            return Err(Error::corrupt(
                "checkpoint.parquet",
                "the Parquet footer points outside of the file",
            ));
        }
        let bytes = fetch(&wanted)?;
        decoder.push_ranges(wanted, bytes).map_err(parquet_error)?;
        match decoder.try_decode().map_err(parquet_error)? {
            DecodeResult::NeedsData(ranges) => wanted = ranges,
            DecodeResult::Data(metadata) => return Ok(metadata),
            DecodeResult::Finished => {
                return Err(Error::corrupt(
                    "checkpoint.parquet",
                    "the Parquet footer is not complete",
                ));
            }
        }
    }
}

/// Claims of the footer against the length of the file.
fn check(metadata: &ParquetMetaData, length: u64) -> Result<()> {
    let lie = |what: &str| {
        let message = format!(
            "the Parquet footer contradicts the file, which is {length} bytes long: {what}"
        );
        Err(Error::corrupt("checkpoint.parquet", message))
    };
    let most = length.saturating_mul(MAX_ROWS_PER_BYTE);
    let mut total = 0_u64;
    for group in metadata.row_groups() {
        match u64::try_from(group.num_rows()) {
            Ok(rows) if rows <= most => total = total.saturating_add(rows),
            _ => return lie(&format!("a row group claims {} rows", group.num_rows())),
        }
        if group.num_rows() == 0 {
            // Some writers leave an empty group behind, with offsets that mean nothing.
            if group
                .columns()
                .iter()
                .any(|column| column.num_values() != 0)
            {
                return lie("a row group claims no rows, and its columns have values");
            }
            continue;
        }
        for column in group.columns() {
            let start = column
                .dictionary_page_offset()
                .unwrap_or_else(|| column.data_page_offset());
            let range = (
                u64::try_from(start),
                u64::try_from(column.compressed_size()),
            );
            let inside = matches!(range, (Ok(start), Ok(size)) if start.checked_add(size).is_some_and(|end| end <= length));
            if !inside || column.data_page_offset() < start {
                return lie(&format!(
                    "the column chunk of {} lies outside of it",
                    column.column_path()
                ));
            }
        }
    }
    if total > most {
        return lie(&format!("it claims {total} rows"));
    }
    Ok(())
}

fn parquet_error(cause: ParquetError) -> Error {
    Error::corrupt("checkpoint.parquet", "the Parquet file does not decode").because(cause)
}

fn arrow_error(cause: arrow_schema::ArrowError) -> Error {
    Error::corrupt(
        "checkpoint.columns",
        "the checkpoint's columns do not have the protocol's types",
    )
    .because(cause)
}
