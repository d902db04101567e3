//! The fetched bytes of a file, as a source for the Parquet reader.

use std::ops::Range;

use bytes::{Buf, Bytes, buf::Reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// Pieces of a file, sorted by their offsets.
#[derive(Clone, Debug)]
pub struct FetchedBytes {
    pieces: Vec<(u64, Bytes)>,
    length: u64,
}

impl FetchedBytes {
    /// Creates an empty buffer for a file of `length` bytes.
    pub fn new(length: u64) -> Self {
        Self {
            pieces: Vec::new(),
            length,
        }
    }

    /// Adds the bytes of these ranges.
    pub fn add(&mut self, ranges: &[Range<u64>], bytes: Vec<Bytes>) {
        let starts = ranges.iter().map(|range| range.start);
        self.extend(starts.zip(bytes));
    }

    /// Adds pieces of the file with their offsets.
    pub fn extend(&mut self, pieces: impl IntoIterator<Item = (u64, Bytes)>) {
        self.pieces.extend(pieces);
        self.pieces.sort_by_key(|(start, _)| *start);
    }

    /// Adds bytes after the end of the file; returns their offset.
    pub(super) fn append(&mut self, bytes: Bytes) -> u64 {
        let start = self.length;
        self.length += bytes.len() as u64;
        self.pieces.push((start, bytes));
        start
    }

    /// Returns the ranges of the pieces, in order.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let pieces = self.pieces.iter();
        pieces
            .map(|(start, bytes)| *start..start + bytes.len() as u64)
            .collect()
    }

    /// Returns the bytes of this range, if all of them were fetched.
    pub(super) fn range(&self, range: &Range<u64>) -> Option<Bytes> {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        if length == 0 {
            return Some(Bytes::new());
        }
        let bytes = self.from(range.start).ok()?;
        (length <= bytes.len()).then(|| bytes.slice(..length))
    }

    /// Returns the bytes of a piece from `start` on.
    fn from(&self, start: u64) -> Result<Bytes> {
        let after = self.pieces.partition_point(|(begin, _)| *begin <= start);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
        if let Some((begin, bytes)) = piece
            && let Ok(within) = usize::try_from(start - begin)
            && within < bytes.len()
        {
            return Ok(bytes.slice(within..));
        }
        Err(ParquetError::EOF(format!(
            "the page at byte {start} is outside of its column chunk"
        )))
    }
}

impl Length for FetchedBytes {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for FetchedBytes {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.from(start).map(Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            let message =
                format!("the page at byte {start} extends past the end of its column chunk");
            return Err(ParquetError::EOF(message));
        }
        Ok(bytes.slice(..length))
    }
}
