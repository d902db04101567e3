//! Runs of repeated values and of packed bits: how Parquet writes levels, booleans, and the numbers of
//! entries in a dictionary.
//!
//! Protocol: Apache Parquet, "Run Length Encoding / Bit-Packing Hybrid".

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::unpack::{BLOCK, unpack};

/// One run.
enum Run {
    /// One value, so many times.
    Repeated(u32, usize),
    /// Where values lie side by side, and how many.
    Packed(Range<usize>, usize),
}

/// Runs, one after the other.
struct Runs {
    width: u8,
    /// Where the next begins.
    at: usize,
}

impl Runs {
    /// The next run; `None` at the end, and where the bytes are none.
    fn next(&mut self, bytes: &[u8]) -> Option<Run> {
        let header = self.varint(bytes)?;
        let count = usize::try_from(header >> 1).ok()?;
        let width = usize::from(self.width);
        let rest = bytes.get(self.at..)?;
        if header & 1 == 0 {
            let mut value = [0; 4];
            let length = width.div_ceil(8);
            value
                .get_mut(..length)?
                .copy_from_slice(rest.get(..length)?);
            self.at += length;
            return Some(Run::Repeated(u32::from_le_bytes(value), count));
        }
        // some writers leave out the rest of the last group
        let length = count.checked_mul(width)?.min(rest.len());
        let values = match width {
            0 => count.checked_mul(8)?,
            _ => length.checked_mul(8)? / width,
        };
        let start = self.at;
        self.at += length;
        Some(Run::Packed(start..self.at, values))
    }

    fn varint(&mut self, bytes: &[u8]) -> Option<u64> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

/// So many values of one bit each; `None` when there are fewer.
pub(super) fn bits(bytes: &[u8], count: usize) -> Option<BooleanBuffer> {
    let mut runs = Runs { width: 1, at: 0 };
    let mut bits = BooleanBufferBuilder::new(0);
    while bits.len() < count {
        let left = count - bits.len();
        match runs.next(bytes)? {
            Run::Repeated(2.., _) => return None,
            Run::Repeated(value, many) => bits.append_n(many.min(left), value == 1),
            Run::Packed(range, many) => {
                bits.append_packed_range(0..many.min(left), bytes.get(range)?);
            }
        }
    }
    Some(bits.finish())
}

/// Numbers in a dictionary, taken piece by piece.
pub(super) struct Indices {
    runs: Runs,
    /// The run that is open, and how many of its values were given.
    open: Option<(Run, usize)>,
}

/// Some values of a run.
pub(super) enum Piece<'a> {
    Repeated(u32, usize),
    Each(&'a [u32]),
}

impl Indices {
    /// Those of a page, whose first byte is their width.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let width = *bytes.first().filter(|width| **width <= 32)?;
        Some(Self {
            runs: Runs { width, at: 1 },
            open: None,
        })
    }

    /// Gives the next so many of the page, in pieces; `None` when there are fewer, or `each` says so.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        count: usize,
        mut each: impl FnMut(Piece<'_>) -> Option<()>,
    ) -> Option<()> {
        let mut left = count;
        while left > 0 {
            let Some((run, given)) = &mut self.open else {
                self.open = Some((self.runs.next(bytes)?, 0));
                continue;
            };
            let (Run::Repeated(_, many) | Run::Packed(_, many)) = *run;
            let end = (*given + left).min(many);
            left -= end - *given;
            match run {
                Run::Repeated(value, _) => each(Piece::Repeated(*value, end - *given))?,
                Run::Packed(range, _) => {
                    let bytes = bytes.get(range.clone())?;
                    let mut block = [0; BLOCK];
                    while *given < end {
                        let (number, within) = (*given / BLOCK, *given % BLOCK);
                        unpack(self.runs.width, bytes, number, &mut block)?;
                        let piece = (end - *given).min(BLOCK - within);
                        each(Piece::Each(block.get(within..within + piece)?))?;
                        *given += piece;
                    }
                }
            }
            *given = end;
            if *given == many {
                self.open = None;
            }
        }
        Some(())
    }
}
