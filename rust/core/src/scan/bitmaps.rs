//! Deletion vectors as bitmaps, for engines that do not support Roaring.
//!
//! Takes descriptors; returns one row for each chunk of a vector with a deleted row: the vector, the chunk,
//! and the chunk's bits as words of 64, lowest bit first. Vectors are loaded in windows, on demand.
//!
//! Protocol: "Deletion Vectors".

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::deletion_vectors::load;
use crate::codec::batches::Batches;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::spec::DeletionVectorDescriptor;

/// The number of vectors loaded together.
const WINDOW: usize = 256;
/// A word has `2^6` rows.
pub(super) const WORD_BITS: u32 = 6;
/// Chunks have at most `2^24` rows: 2 MiB.
pub(super) const MAX_BITS: u32 = 24;

/// Returns the chunks of the vectors of these descriptors, with `2^chunk_bits` rows each, but at least
/// `2^6` (one word) and at most `2^24`: `vector` (int64: index of the descriptor), `chunk` (int64: row >> chunk
/// bits), `words` (list of int64, up to the last deleted row).
pub fn bitmaps(
    source: &Source,
    descriptors: Vec<DeletionVectorDescriptor>,
    chunk_bits: u32,
) -> Batches {
    let source = source.clone();
    let chunk_bits = chunk_bits.clamp(WORD_BITS, MAX_BITS);
    let windows = (0..descriptors.len()).step_by(WINDOW);
    let batches = windows.map(move |first| {
        let window = descriptors.get(first..).unwrap_or_default();
        let window = window.get(..WINDOW).unwrap_or(window);
        let mut chunks = Chunks::new(chunk_bits);
        for (number, vector) in (first..).zip(load(&source.storage, &source.resolver, window)) {
            chunks.add(i64::try_from(number).unwrap_or(i64::MAX), &*vector?);
        }
        chunks.finish()
    });
    Batches::new(bitmap_schema(), batches)
}

/// Returns the schema of bitmaps.
pub(super) fn bitmap_schema() -> SchemaRef {
    let words = Field::new_list_field(DataType::Int64, false);
    Arc::new(Schema::new(vec![
        Field::new("vector", DataType::Int64, false),
        Field::new("chunk", DataType::Int64, false),
        Field::new("words", DataType::List(Arc::new(words)), false),
    ]))
}

/// Rows under construction: one per chunk.
pub(super) struct Chunks {
    bits: u32,
    vectors: Int64Builder,
    chunks: Int64Builder,
    words: ListBuilder<Int64Builder>,
}

impl Chunks {
    pub(super) fn new(bits: u32) -> Self {
        Self {
            bits,
            vectors: Int64Builder::new(),
            chunks: Int64Builder::new(),
            words: ListBuilder::new(Int64Builder::new())
                .with_field(Field::new_list_field(DataType::Int64, false)),
        }
    }

    pub(super) fn add(&mut self, number: i64, vector: &DeletionVector) {
        let Some(last) = vector.max() else {
            return;
        };
        let mut open: Option<u64> = None;
        let mut words: Vec<u64> = Vec::new();
        vector.for_each_range(0..last.saturating_add(1), |range| {
            let mut start = range.start;
            while start < range.end {
                let chunk = start >> self.bits;
                if open != Some(chunk) {
                    if let Some(full) = open {
                        self.push(number, full, &mut words);
                    }
                    open = Some(chunk);
                }
                let begin = chunk << self.bits;
                let end = range.end.min(begin.saturating_add(1 << self.bits));
                set(&mut words, start - begin..end - begin);
                start = end;
            }
        });
        if let Some(full) = open {
            self.push(number, full, &mut words);
        }
    }

    fn push(&mut self, number: i64, chunk: u64, words: &mut Vec<u64>) {
        self.vectors.append_value(number);
        self.chunks
            .append_value(i64::try_from(chunk).unwrap_or(i64::MAX));
        for word in words.drain(..) {
            self.words.values().append_value(word.cast_signed());
        }
        self.words.append(true);
    }

    pub(super) fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.vectors.finish()),
            Arc::new(self.chunks.finish()),
            Arc::new(self.words.finish()),
        ];
        RecordBatch::try_new(bitmap_schema(), columns).map_err(|cause| {
            Error::corrupt("dv.bitmap", "the vectors are too large for one batch").because(cause)
        })
    }
}

/// Sets the bits of a range of rows of one chunk.
fn set(words: &mut Vec<u64>, rows: Range<u64>) {
    let (Ok(first), Ok(last)) = (
        usize::try_from(rows.start / 64),
        usize::try_from((rows.end - 1) / 64),
    ) else {
        return; // not possible: a chunk is far smaller
    };
    if words.len() <= last {
        words.resize(last + 1, 0);
    }
    let from = u64::MAX << (rows.start % 64);
    let to = u64::MAX >> (63 - (rows.end - 1) % 64);
    for (number, word) in words.iter_mut().enumerate().take(last + 1).skip(first) {
        let mut mask = u64::MAX;
        if number == first {
            mask &= from;
        }
        if number == last {
            mask &= to;
        }
        *word |= mask;
    }
}

#[cfg(test)]
mod tests;
