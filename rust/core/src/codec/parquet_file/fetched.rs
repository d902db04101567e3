//! The fetched pieces of a file, in the shape in which the Parquet reader asks for them.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes, buf::Reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// Pieces of a file, by the offset at which each begins.
#[derive(Clone)]
pub(crate) struct Chunks {
    pieces: Arc<Vec<(u64, Bytes)>>,
    length: u64,
}

impl Chunks {
    pub(crate) fn new(ranges: &[Range<u64>], bytes: Vec<Bytes>, length: u64) -> Self {
        let pieces = ranges.iter().map(|range| range.start).zip(bytes).collect();
        Self {
            pieces: Arc::new(pieces),
            length,
        }
    }

    /// What was fetched from `start` on.
    fn from(&self, start: u64) -> Result<Bytes> {
        for (begin, bytes) in self.pieces.iter() {
            let within = start
                .checked_sub(*begin)
                .and_then(|within| usize::try_from(within).ok());
            if let Some(within) = within.filter(|within| *within < bytes.len()) {
                return Ok(bytes.slice(within..));
            }
        }
        Err(ParquetError::EOF(format!(
            "the page at byte {start} lies outside of its column chunk"
        )))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunks {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.from(start).map(Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            let message = format!("the page at byte {start} runs over the end of its column chunk");
            return Err(ParquetError::EOF(message));
        }
        Ok(bytes.slice(..length))
    }
}
