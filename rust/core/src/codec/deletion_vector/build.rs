//! Vectors that are made, not read: each chunk in the smallest of its forms.

use super::chunk::{ARRAY_MOST, Chunk, Form, WORDS, WORDS_BYTES, Words, low};
use super::{DeletionVector, ROWS_END};
use crate::error::{Error, Result};

/// Collects chunks in ascending order of their keys.
#[derive(Default)]
pub(super) struct Builder {
    chunks: Vec<Chunk>,
    bytes: Vec<u8>,
    len: u64,
}

impl Builder {
    pub(super) fn finish(self) -> DeletionVector {
        DeletionVector {
            chunks: self.chunks,
            bytes: self.bytes.into(),
            len: self.len,
        }
    }

    /// A chunk of another vector, as it is.
    pub(super) fn push_copy(&mut self, chunk: &Chunk, bytes: &[u8]) {
        self.push(chunk.key, chunk.form, chunk.count, chunk.cardinality);
        self.bytes.extend_from_slice(chunk.bytes(bytes));
    }

    /// Rows that ascend; none at all make no chunk.
    pub(super) fn push_values(&mut self, key: u64, values: &[u16]) {
        let follows = |(left, right): (&u16, &u16)| u32::from(*left) + 1 == u32::from(*right);
        let joints = values
            .iter()
            .zip(values.iter().skip(1))
            .filter(|pair| follows(*pair))
            .count();
        let runs = values.len() - joints;
        if values.is_empty() {
            return;
        }
        if values.len() > ARRAY_MOST || runs * 4 + 2 < values.len() * 2 {
            let mut words = Box::new([0; WORDS]);
            for value in values {
                if let Some(word) = words.get_mut(usize::from(value >> 6)) {
                    *word |= 1 << (value & 63);
                }
            }
            return self.push_words(key, &words);
        }
        let count = u32::try_from(values.len()).unwrap_or(0);
        self.push(key, Form::Array, count, count);
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.bytes.extend(bytes);
    }

    /// The rows of a bit map; none at all make no chunk.
    pub(super) fn push_words(&mut self, key: u64, words: &Words) {
        let cardinality: u32 = words.iter().map(|word| word.count_ones()).sum();
        let mut runs = 0;
        let mut carry = 0;
        for word in words {
            runs += (word & !(word << 1 | carry)).count_ones();
            carry = word >> 63;
        }
        let runs_size = runs as usize * 4 + 2;
        let array_size = cardinality as usize * 2;
        if cardinality == 0 {
            return;
        }
        if runs_size < array_size.min(WORDS_BYTES) {
            self.push(key, Form::Runs, runs, cardinality);
            for_each_run(words, |first, last| {
                self.bytes.extend_from_slice(&first.to_le_bytes());
                self.bytes.extend_from_slice(&(last - first).to_le_bytes());
            });
        } else if cardinality as usize <= ARRAY_MOST {
            self.push(key, Form::Array, cardinality, cardinality);
            for_each_bit(words, |row| {
                self.bytes.extend_from_slice(&row.to_le_bytes())
            });
        } else {
            self.push(key, Form::Words, 0, cardinality);
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            self.bytes.extend(bytes);
        }
    }

    fn push(&mut self, key: u64, form: Form, count: u32, cardinality: u32) {
        self.len += u64::from(cardinality);
        self.chunks.push(Chunk {
            key,
            start: self.bytes.len(),
            count,
            cardinality,
            form,
        });
    }
}

fn for_each_bit(words: &Words, mut visit: impl FnMut(u16)) {
    for (index, word) in (0_u64..).step_by(64).zip(words) {
        let mut word = *word;
        while word != 0 {
            visit(low(index + u64::from(word.trailing_zeros())));
            word &= word - 1;
        }
    }
}

/// First and last row of each run.
fn for_each_run(words: &Words, mut visit: impl FnMut(u16, u16)) {
    let mut open: Option<(u16, u16)> = None;
    for (index, word) in (0_u64..).step_by(64).zip(words) {
        let mut word = *word;
        while word != 0 {
            let skipped = word.trailing_zeros();
            let ones = (!(word >> skipped)).trailing_zeros();
            let first = low(index + u64::from(skipped));
            let last = first + low(u64::from(ones - 1));
            open = match open {
                Some((begin, end)) if end.checked_add(1) == Some(first) => Some((begin, last)),
                Some((begin, end)) => {
                    visit(begin, end);
                    Some((first, last))
                }
                None => Some((first, last)),
            };
            word &= u64::MAX.checked_shl(skipped + ones).unwrap_or(0);
        }
    }
    if let Some((begin, end)) = open {
        visit(begin, end);
    }
}

impl DeletionVector {
    /// The vector of these rows, in any order; rows that are named twice count once.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.row_range`, for a row at or behind [`ROWS_END`].
    pub fn from_rows(rows: impl IntoIterator<Item = u64>) -> Result<Self> {
        let mut rows: Vec<u64> = rows.into_iter().collect();
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        if let Some(last) = rows.last()
            && *last >= ROWS_END
        {
            return Err(Error::invalid(
                "dv.row_range",
                format!("row {last} is out of range: a deletion vector has rows below {ROWS_END}"),
            ));
        }
        rows.dedup();
        let mut builder = Builder::default();
        let mut values = Vec::new();
        for chunk in rows.chunk_by(|left, right| left >> 16 == right >> 16) {
            values.clear();
            values.extend(chunk.iter().map(|row| low(*row)));
            let key = chunk.first().map_or(0, |row| row >> 16);
            builder.push_values(key, &values);
        }
        Ok(builder.finish())
    }
}
