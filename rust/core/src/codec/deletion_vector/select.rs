//! Deleted rows as Arrow data: a mask of the file's rows, or an array of row numbers.

use std::ops::Range;

use arrow_array::Int64Array;
use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};

use super::DeletionVector;
use super::container::{ROWS, WORDS};
use crate::error::{Error, Result};

impl DeletionVector {
    /// Returns one bit for each of `rows`: set if the row is deleted.
    pub fn mask(&self, rows: Range<u64>) -> BooleanBuffer {
        self.bits(rows, 0)
    }

    /// Returns one bit for each of `rows`: set if the row is not deleted.
    pub fn live_mask(&self, rows: Range<u64>) -> BooleanBuffer {
        self.bits(rows, u64::MAX)
    }

    /// Initializes every word with `blank` and flips the bits of the deleted rows.
    fn bits(&self, rows: Range<u64>, blank: u64) -> BooleanBuffer {
        let begin = rows.start & !63;
        let count = rows.end.saturating_sub(begin).div_ceil(64);
        let mut words = vec![blank; usize::try_from(count).unwrap_or(usize::MAX)];
        for container in self.containers_within(&rows) {
            let deleted = self.rows_of(container);
            let at = container.base().checked_sub(begin).map(|rows| rows / 64);
            let whole = at
                .and_then(|at| usize::try_from(at).ok())
                .and_then(|at| words.get_mut(at..)?.first_chunk_mut::<WORDS>());
            if let Some(whole) = whole {
                deleted.flip(whole);
                continue;
            }
            // a container at the edge: only a part of its words is in range
            let bits = deleted.words();
            let skip = begin.saturating_sub(container.base()) / 64;
            let at = container.base().saturating_sub(begin) / 64;
            let inside = words
                .iter_mut()
                .skip(usize::try_from(at).unwrap_or(usize::MAX));
            let bits = bits.iter().skip(usize::try_from(skip).unwrap_or(ROWS));
            for (word, bits) in inside.zip(bits) {
                *word ^= bits;
            }
        }
        let offset = usize::try_from(rows.start - begin).unwrap_or(0);
        let length = usize::try_from(rows.end.saturating_sub(rows.start)).unwrap_or(0);
        BooleanBuffer::new(Buffer::from_vec(words), offset, length)
    }

    /// Returns the deleted rows, ascending.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_many_rows` for more than 2^31 - 1 rows; request ranges instead.
    pub fn rows(&self) -> Result<Int64Array> {
        let Ok(len) = i32::try_from(self.len) else {
            return Err(Error::invalid(
                "dv.too_many_rows",
                format!(
                    "the deletion vector has {} rows, too many for one array: ask for its ranges",
                    self.len
                ),
            ));
        };
        let mut rows: Vec<i64> = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
        self.for_each_range(0..u64::MAX, |range| {
            rows.extend(range.start.cast_signed()..range.end.cast_signed());
        });
        Ok(Int64Array::new(ScalarBuffer::from(rows), None))
    }
}
