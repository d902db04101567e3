//! The live files of a version, kept so that the next version decodes only its own commits.
//!
//! Rows are in immutable chunks that versions share. A newer version masks the rows of the files in its
//! commits and adds its own chunk; a chunk that is left with too many ranges of live rows is rewritten. The
//! key of each row is kept, too, so that nothing is hashed again.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use super::key::{FileActionKey, KeySet, low};
use crate::codec::columns::columns_mismatch;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::storage::pool::ordered;

/// A chunk with more live ranges than this is rewritten.
const MAX_RANGES: usize = 24;

/// Adjacent chunks are joined only if they have at most this many live rows together.
const SMALL_ROWS: usize = 8 * 1024;

/// Live `add` rows.
#[derive(Clone, Debug)]
pub struct ActiveFiles {
    columns: FileColumns,
    chunks: Vec<Chunk>,
}

#[derive(Clone, Debug)]
struct Chunk {
    rows: RecordBatch,
    keys: Arc<[FileActionKey]>,
    /// The low bits of each key, which [`Filter`] checks before the whole key.
    tags: Arc<[u16]>,
    live: Arc<[Range<usize>]>,
}

impl Chunk {
    fn new(rows: RecordBatch, keys: Vec<FileActionKey>) -> Self {
        Self {
            live: std::iter::once(0..rows.num_rows()).collect(),
            tags: keys.iter().map(|key| tag(*key)).collect(),
            keys: keys.into(),
            rows,
        }
    }

    fn num_rows(&self) -> usize {
        self.live.iter().map(Range::len).sum()
    }

    fn live_slices(&self) -> impl Iterator<Item = RecordBatch> + '_ {
        self.live
            .iter()
            .map(|range| self.rows.slice(range.start, range.len()))
    }

    /// Joins the live rows of these chunks.
    fn join(chunks: &[Self], columns: &FileColumns) -> Result<Self> {
        let slices: Vec<RecordBatch> = chunks.iter().flat_map(Chunk::live_slices).collect();
        let rows = concat_batches(&columns.schema(), &slices).map_err(columns_mismatch)?;
        let keys = chunks.iter().flat_map(|chunk| {
            chunk
                .live
                .iter()
                .flat_map(|range| chunk.keys.get(range.clone()).unwrap_or_default())
        });
        Ok(Self::new(rows, keys.copied().collect()))
    }
}

impl ActiveFiles {
    /// Creates an empty list with these columns.
    pub fn new(columns: FileColumns) -> Self {
        Self {
            columns,
            chunks: Vec::new(),
        }
    }

    /// Returns the columns of each row.
    pub fn columns(&self) -> &FileColumns {
        &self.columns
    }

    /// Returns the number of live files.
    pub fn num_rows(&self) -> usize {
        self.chunks.iter().map(Chunk::num_rows).sum()
    }

    /// Adds live rows and their keys.
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns` if the number of keys is not that of the rows.
    pub fn push(&mut self, rows: RecordBatch, keys: Vec<FileActionKey>) -> Result<()> {
        if rows.num_rows() != keys.len() {
            let message = format!("there are {} rows and {} keys", rows.num_rows(), keys.len());
            return Err(Error::corrupt("log.columns", message));
        }
        if rows.num_rows() > 0 {
            self.chunks.push(Chunk::new(rows, keys));
        }
        Ok(())
    }

    /// Returns the same files with these columns; `None` if a source column is missing.
    pub fn with_columns(&self, columns: &FileColumns) -> Result<Option<Self>> {
        if !columns
            .fields()
            .iter()
            .all(|field| self.columns.has(*field))
        {
            return Ok(None);
        }
        let (before, selected) = (self.columns.clone(), columns.clone());
        let work = move |mut chunk: Chunk| {
            if chunk.num_rows() < chunk.rows.num_rows() {
                // drop the rows of deleted files
                chunk = Chunk::join(&[chunk], &before)?;
            }
            let rows = selected.compute(&chunk.rows)?;
            Ok(Chunk { rows, ..chunk })
        };
        let chunks = ordered(self.chunks.clone(), self.chunks.len(), work);
        Ok(Some(Self {
            columns: columns.clone(),
            chunks: chunks.collect::<Result<_>>()?,
        }))
    }

    /// Returns the rows, chunk by chunk, without a copy.
    pub fn batches(&self) -> Vec<RecordBatch> {
        self.chunks.iter().flat_map(Chunk::live_slices).collect()
    }

    /// Returns the files after newer commits: without those in `seen`, with `added`.
    ///
    /// # Errors
    ///
    /// Corrupt: `log.columns` if `added` has other columns.
    pub fn advance(
        &self,
        seen: &KeySet,
        added: Vec<(RecordBatch, Vec<FileActionKey>)>,
    ) -> Result<Self> {
        let filter = Filter::new(seen);
        let mut next = Self::new(self.columns.clone());
        for chunk in &self.chunks {
            match filter.live_ranges(chunk) {
                None => next.chunks.push(chunk.clone()),
                Some(live) if live.is_empty() => {}
                Some(live) => {
                    let mut rest = Chunk {
                        live: live.into(),
                        ..chunk.clone()
                    };
                    if rest.live.len() > MAX_RANGES {
                        rest = Chunk::join(&[rest], &self.columns)?;
                    }
                    next.chunks.push(rest);
                }
            }
        }
        for (rows, keys) in added {
            next.push(rows, keys)?;
            next.join_small()?;
        }
        Ok(next)
    }

    /// Joins the last two small chunks while the last is at least half as large as the one before it, so that the
    /// number of chunks grows only with the logarithm of the number of small commits.
    fn join_small(&mut self) -> Result<()> {
        while let [.., before, last] = self.chunks.as_slice() {
            let (before, last) = (before.num_rows(), last.num_rows());
            if before + last > SMALL_ROWS || before > 2 * last {
                break;
            }
            let pair = self.chunks.split_off(self.chunks.len() - 2);
            self.chunks.push(Chunk::join(&pair, &self.columns)?);
        }
        Ok(())
    }
}

/// A set of keys, and a bitmap of their tags that excludes nearly every row without a lookup in the set.
struct Filter<'a> {
    seen: &'a KeySet,
    bits: Vec<u64>,
}

/// The number of tags: a bitmap of them fits into the first-level cache.
const TAGS: usize = 1 << 16;

fn tag(key: FileActionKey) -> u16 {
    low(key.0) as u16
}

impl<'a> Filter<'a> {
    fn new(seen: &'a KeySet) -> Self {
        let mut filter = Self {
            seen,
            bits: vec![0; TAGS / 64],
        };
        for key in seen {
            let (word, bit) = Self::position(tag(*key));
            if let Some(word) = filter.bits.get_mut(word) {
                *word |= bit;
            }
        }
        filter
    }

    fn position(tag: u16) -> (usize, u64) {
        (usize::from(tag / 64), 1 << (tag % 64))
    }

    fn may_contain(&self, tag: u16) -> bool {
        let (word, bit) = Self::position(tag);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Returns the live ranges of the chunk without the rows in the set; `None` if none of its live rows is
    /// in the set.
    fn live_ranges(&self, chunk: &Chunk) -> Option<Vec<Range<usize>>> {
        let mut ranges: Option<Vec<Range<usize>>> = None;
        for (number, range) in chunk.live.iter().enumerate() {
            let mut start = range.start;
            let tags = chunk.tags.get(range.clone()).unwrap_or_default();
            for (row, tag) in range.clone().zip(tags) {
                let is_seen = || {
                    chunk
                        .keys
                        .get(row)
                        .is_some_and(|key| self.seen.contains(key))
                };
                if self.may_contain(*tag) && is_seen() {
                    let ranges = ranges.get_or_insert_with(|| {
                        chunk.live.get(..number).unwrap_or_default().to_vec()
                    });
                    if start < row {
                        ranges.push(start..row);
                    }
                    start = row + 1;
                }
            }
            if let Some(ranges) = ranges.as_mut()
                && start < range.end
            {
                ranges.push(start..range.end);
            }
        }
        ranges
    }
}
