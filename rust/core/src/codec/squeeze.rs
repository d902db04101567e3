//! Arrays without some of their rows, by moving the others together where they are.
//!
//! A filter kernel copies what stays into fresh memory, whose page faults cost more than the copying.
//! Where few rows go, moving the runs between them within the buffers that were just decoded is a
//! fraction of that; the price is that the buffers keep the room of the rows that went.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, BooleanArray, make_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter;

/// The rows that stay, as runs.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Ascending, none empty.
    runs: Vec<Range<usize>>,
    /// How many rows they have.
    rows: usize,
    /// How many rows there are.
    of: usize,
}

impl Runs {
    /// No row so far.
    pub(crate) fn new(of: usize) -> Self {
        Self {
            runs: Vec::new(),
            rows: 0,
            of,
        }
    }

    /// Adds rows behind those before; what lies before them, or behind the last row, is left out.
    pub(crate) fn push(&mut self, run: Range<usize>) {
        let begun = self.runs.last().map_or(0, |last| last.end);
        let run = run.start.max(begun)..run.end.min(self.of);
        if run.is_empty() {
            return;
        }
        self.rows += run.len();
        match self.runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
    }

    /// How many rows stay.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The rows of this array that stay. Its memory is used again unless others hold it, too.
    ///
    /// # Errors
    ///
    /// The array has another number of rows, or contradicts its own length.
    pub(crate) fn squeeze(&self, array: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let data = array.to_data();
        drop(array); // it holds the buffers
        Ok(make_array(self.data(data)?))
    }

    fn data(&self, data: ArrayData) -> Result<ArrayData, ArrowError> {
        if data.len() != self.of {
            return Err(odd());
        }
        if self.rows == self.of {
            return Ok(data);
        }
        if data.offset() != 0 {
            return self.copied(data);
        }
        let (data_type, _, nulls, _, buffers, children) = data.into_parts();
        let (buffers, children) = match (&data_type, &layout(&data_type).buffers[..]) {
            (DataType::Utf8 | DataType::Binary, _) => {
                let [offsets, bytes] = only(buffers)?;
                let (offsets, inner) = self.offsets(offsets, bytes.len())?;
                (vec![offsets, inner.bytes(bytes, 1)?], children)
            }
            (DataType::List(_) | DataType::Map(..), _) => {
                let ([offsets], [values]) = (only(buffers)?, only(children)?);
                let (offsets, inner) = self.offsets(offsets, values.len())?;
                (vec![offsets], vec![inner.data(values)?])
            }
            (DataType::Struct(_), _) => {
                let children = children.into_iter().map(|child| self.data(child));
                (buffers, children.collect::<Result<_, _>>()?)
            }
            (DataType::Boolean, _) => {
                let [bits] = only(buffers)?;
                if bits.len().saturating_mul(8) < self.of {
                    return Err(odd());
                }
                let bits = self.bits(&BooleanBuffer::new(bits, 0, self.of));
                (vec![bits.into_inner()], children)
            }
            (_, [BufferSpec::FixedWidth { byte_width, .. }]) if children.is_empty() => {
                let [values] = only(buffers)?;
                (vec![self.bytes(values, *byte_width)?], children)
            }
            _ => {
                // types that no data file is decoded to
                let data = rebuilt(data_type, self.of, nulls, buffers, children);
                return self.copied(data);
            }
        };
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let nulls = nulls.map(|nulls| NullBuffer::new(self.bits(nulls.inner())));
        Ok(rebuilt(data_type, self.rows, nulls, buffers, children))
    }

    /// Each row is of this many bytes.
    fn bytes(&self, buffer: Buffer, width: usize) -> Result<Buffer, ArrowError> {
        let mut buffer = owned(buffer);
        let bytes = buffer.as_slice_mut();
        if self
            .of
            .checked_mul(width)
            .is_none_or(|all| all > bytes.len())
        {
            return Err(odd());
        }
        let mut at = 0;
        for run in &self.runs {
            if at != run.start {
                bytes.copy_within(run.start * width..run.end * width, at * width);
            }
            at += run.len();
        }
        buffer.truncate(at * width);
        Ok(buffer.into())
    }

    /// The offsets of the rows that stay, and which of all `values` these have.
    fn offsets(&self, offsets: Buffer, values: usize) -> Result<(Buffer, Self), ArrowError> {
        let mut buffer = owned(offsets);
        let offsets: &mut [i32] = buffer.typed_data_mut();
        if offsets.len() <= self.of {
            return Err(odd());
        }
        let mut inner = Self::new(values);
        inner.runs.reserve(self.runs.len());
        let (mut at, mut end) = (0, 0_i32);
        for run in &self.runs {
            let (Some(first), Some(last)) = (offsets.get(run.start), offsets.get(run.end)) else {
                return Err(odd());
            };
            let (first, last) = (*first, *last);
            inner.push(place(first)?..place(last)?);
            // not before the next offset: that of the next run's first row is still needed
            let to = at + 1..at + 1 + run.len();
            if at != run.start {
                offsets.copy_within(run.start + 1..run.end + 1, to.start);
            }
            let by = first.wrapping_sub(end);
            if by != 0 {
                for offset in offsets.get_mut(to).unwrap_or_default() {
                    *offset = offset.wrapping_sub(by);
                }
            }
            at += run.len();
            end = last.wrapping_sub(by);
        }
        if let Some(first) = offsets.first_mut() {
            *first = 0;
        }
        if usize::try_from(end) != Ok(inner.rows) {
            return Err(odd()); // the offsets do not ascend within the values
        }
        buffer.truncate((at + 1) * size_of::<i32>());
        Ok((buffer.into(), inner))
    }

    fn bits(&self, bits: &BooleanBuffer) -> BooleanBuffer {
        let mut kept = BooleanBufferBuilder::new(self.rows);
        for run in &self.runs {
            let within = bits.offset() + run.start..bits.offset() + run.end;
            kept.append_packed_range(within, bits.values());
        }
        kept.finish()
    }

    /// By the filter kernel.
    fn copied(&self, data: ArrayData) -> Result<ArrayData, ArrowError> {
        let mut mask = BooleanBufferBuilder::new(self.of);
        for run in &self.runs {
            mask.append_n(run.start.saturating_sub(mask.len()), false);
            mask.append_n(run.len(), true);
        }
        mask.append_n(self.of.saturating_sub(mask.len()), false);
        let mask = BooleanArray::new(mask.finish(), None);
        Ok(filter(&make_array(data), &mask)?.to_data())
    }
}

fn rebuilt(
    data_type: DataType,
    rows: usize,
    nulls: Option<NullBuffer>,
    buffers: Vec<Buffer>,
    children: Vec<ArrayData>,
) -> ArrayData {
    let data = ArrayData::builder(data_type)
        .len(rows)
        .nulls(nulls)
        .buffers(buffers)
        .child_data(children);
    // SAFETY: whole values of an array that was valid, in their order; offsets and lengths were
    // counted, and held against the buffers, while they were moved.
    #[allow(unsafe_code)]
    unsafe {
        data.build_unchecked()
    }
}

/// The same memory where nobody else holds it, else a copy.
fn owned(buffer: Buffer) -> MutableBuffer {
    buffer.into_mutable().unwrap_or_else(|shared| {
        let mut copy = MutableBuffer::new(shared.len());
        copy.extend_from_slice(shared.as_slice());
        copy
    })
}

fn only<T, const N: usize>(parts: Vec<T>) -> Result<[T; N], ArrowError> {
    parts.try_into().map_err(|_| odd())
}

fn place(offset: i32) -> Result<usize, ArrowError> {
    usize::try_from(offset).map_err(|_| odd())
}

fn odd() -> ArrowError {
    ArrowError::InvalidArgumentError("an array contradicts its own length".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
