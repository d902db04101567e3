//! Rows of data files that another engine has selected: one set of positions for each file.
//!
//! Takes words of 64 rows, as an engine without Roaring aggregates them; returns sets of rows, also as
//! bitmaps for a broadcast join.

use std::collections::BTreeMap;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{PrimitiveArray, RecordBatchReader};

use super::bitmaps::{Chunks, MAX_BITS, WORD_BITS, bitmap_schema};
use crate::codec::batches::Batches;
use crate::codec::columns::TypedColumns;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};

/// The number of files per batch of bitmaps.
const WINDOW: usize = 256;

/// Sets of rows by the index of the file.
#[derive(Clone, Debug, Default)]
pub struct MarkedRows {
    files: BTreeMap<i32, DeletionVector>,
}

impl MarkedRows {
    /// Builds the sets from the columns `file` (int32), `word` (int64: row >> 6) and `bits` (int64: bit i
    /// is row `word * 64 + i`), in any order; a word may occur more than once.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.source` if the stream breaks; `rows.marks` for nulls and negative words.
    /// Corrupt: `log.columns` for other columns.
    pub fn from_words(batches: impl RecordBatchReader) -> Result<Self> {
        let mut words: BTreeMap<i32, Vec<(u64, u64)>> = BTreeMap::new();
        for batch in batches {
            let batch = batch.map_err(|cause| {
                let message = "the stream of selected rows failed before its end";
                Error::invalid("rows.source", message).because(cause)
            })?;
            let files: &PrimitiveArray<Int32Type> = batch.typed("file")?;
            let word_indexes: &PrimitiveArray<Int64Type> = batch.typed("word")?;
            let bits: &PrimitiveArray<Int64Type> = batch.typed("bits")?;
            for ((file, word_index), bits) in files.iter().zip(word_indexes).zip(bits) {
                let (Some(file), Some(word_index), Some(bits)) = (file, word_index, bits) else {
                    return Err(invalid("a null"));
                };
                let word_index =
                    u64::try_from(word_index).map_err(|_| invalid("a negative position"))?;
                words
                    .entry(file)
                    .or_default()
                    .push((word_index, bits.cast_unsigned()));
            }
        }
        let files = words.into_iter().map(|(file, mut words)| {
            words.sort_unstable_by_key(|(word_index, _)| *word_index);
            let rows = words
                .iter()
                .flat_map(|(word_index, bits)| rows_of(*word_index, *bits));
            Ok((file, DeletionVector::from_rows(rows)?))
        });
        Ok(Self {
            files: files.collect::<Result<_>>()?,
        })
    }

    /// Returns the files with marked rows, by ascending index.
    pub fn files(&self) -> impl Iterator<Item = (i32, &DeletionVector)> {
        self.files.iter().map(|(file, rows)| (*file, rows))
    }

    /// Returns the rows of one file, if any.
    pub fn rows(&self, file: i32) -> Option<&DeletionVector> {
        self.files.get(&file)
    }

    /// Returns bitmaps as [`bitmaps`](super::bitmaps::bitmaps) does; `vector` is the index of the file.
    pub fn bitmaps(&self, chunk_bits: u32) -> Batches {
        let bits = chunk_bits.clamp(WORD_BITS, MAX_BITS);
        let files: Vec<_> = self.files.clone().into_iter().collect();
        let mut done = 0;
        let batches = std::iter::from_fn(move || {
            let window: Vec<_> = files.iter().skip(done).take(WINDOW).collect();
            if window.is_empty() {
                return None;
            }
            done += window.len();
            let mut chunks = Chunks::new(bits);
            for (file, rows) in window {
                chunks.add(i64::from(*file), rows);
            }
            Some(chunks.finish())
        });
        Batches::new(bitmap_schema(), batches)
    }
}

/// Returns the rows of one word.
fn rows_of(word_index: u64, mut bits: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let bit = bits.trailing_zeros();
        bits &= bits - 1;
        Some(word_index.saturating_mul(64).saturating_add(u64::from(bit)))
    })
}

fn invalid(what: &str) -> Error {
    let message = format!("the selected rows contain {what}");
    Error::invalid("rows.marks", message)
}

#[cfg(test)]
mod tests;
