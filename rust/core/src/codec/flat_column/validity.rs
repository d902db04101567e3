//! Which rows of an array are null.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Gathers them; holds nothing until one is.
pub(super) struct Validity {
    rows: usize,
    most: usize,
    bits: Option<BooleanBufferBuilder>,
}

impl Validity {
    /// For at most so many rows.
    pub(super) fn new(most: usize) -> Self {
        Self {
            rows: 0,
            most,
            bits: None,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds so many rows: which of them are valid, `None` for all.
    pub(super) fn append(&mut self, rows: usize, valid: Option<NullBuffer>) {
        match (valid, &mut self.bits) {
            (None, None) => {}
            (None, Some(bits)) => bits.append_n(rows, true),
            (Some(valid), Some(bits)) => bits.append_buffer(valid.inner()),
            (Some(valid), none) => {
                let bits = none.insert(BooleanBufferBuilder::new(self.most));
                bits.append_n(self.rows, true);
                bits.append_buffer(valid.inner());
            }
        }
        self.rows += rows;
    }

    pub(super) fn finish(self) -> Option<NullBuffer> {
        self.bits.map(|mut bits| NullBuffer::new(bits.finish()))
    }
}
