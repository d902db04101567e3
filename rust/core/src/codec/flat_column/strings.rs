//! Strings and bytes.

use std::sync::Arc;

use arrow_array::types::{BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{ArrayRef, GenericByteArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use super::decoder::Kind;
use crate::codec::room::prefault;

/// Bytes that an array can hold.
const MOST: usize = i32::MAX as usize;

/// Short values are copied so many bytes at a time, whatever their length.
const COPIED: usize = 16;

/// Values that tell how long all are.
const SAMPLED: usize = 64;

/// Room for values that may turn out to be shorter.
const MOST_AHEAD: usize = 4 << 20;

/// Text, or bytes.
pub(super) struct Strings {
    pub(super) text: bool,
}

/// Values one behind the other.
pub(super) struct Values {
    bytes: Vec<u8>,
    /// A zero, and where each value ends.
    ends: Vec<i32>,
}

impl Kind for Strings {
    type Values = Values;

    fn values(&self, count: usize) -> Values {
        let mut ends = Vec::with_capacity(count + 1);
        prefault(&mut ends);
        ends.push(0);
        Values {
            bytes: Vec::new(),
            ends,
        }
    }

    fn append(
        &self,
        bytes: &[u8],
        start: usize,
        count: usize,
        values: &mut Values,
    ) -> Option<usize> {
        let first = values.ends.len() - 1;
        let mut at = start;
        for number in 0..count {
            let (length, rest) = bytes.get(at..)?.split_first_chunk()?;
            let length = u32::from_le_bytes(*length) as usize;
            values.push(rest, length)?;
            at += 4 + length;
            if number == SAMPLED {
                values.reserve(bytes.len().saturating_sub(at).max(MOST_AHEAD));
            }
        }
        values.holds(first, self.text).then_some(at)
    }

    /// The last entries can be copied like the others.
    fn complete(dictionary: &mut Values) {
        dictionary.bytes.extend([0; COPIED]);
    }

    fn look_up(dictionary: &Values, indices: &[u32], values: &mut Values) -> Option<()> {
        for index in indices {
            let (bytes, length) = dictionary.value(*index)?;
            values.push(bytes, length)?;
        }
        values.reserve(MOST_AHEAD);
        (values.bytes.len() <= MOST).then_some(())
    }

    fn repeat(dictionary: &Values, index: u32, count: usize, values: &mut Values) -> Option<()> {
        let (bytes, length) = dictionary.value(index)?;
        let end = length.checked_mul(count)?.checked_add(values.bytes.len())?;
        if end > MOST {
            return None;
        }
        values.bytes.reserve(end - values.bytes.len() + COPIED);
        for _ in 0..count {
            values.push(bytes, length)?;
        }
        Some(())
    }

    /// Nulls are empty.
    fn spread(values: &mut Values, start: usize, valid: &NullBuffer) {
        let ends = &mut values.ends;
        let mut from = ends.len() - 1;
        ends.resize(start + 1 + valid.len(), 0);
        for at in (0..valid.len()).rev() {
            let end = ends.get(from).copied().unwrap_or_default();
            if let Some(place) = ends.get_mut(start + 1 + at) {
                *place = end;
            }
            from -= usize::from(valid.is_valid(at));
        }
    }

    fn finish(&self, values: Values, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(if self.text {
            values.array::<Utf8Type>(nulls)
        } else {
            values.array::<BinaryType>(nulls)
        })
    }
}

impl Values {
    /// Makes room for the rest, if it is as long as what is here: once, and for no more than so many bytes.
    fn reserve(&mut self, most: usize) {
        let (values, rows) = (self.ends.len(), self.ends.capacity());
        if values > 4 * SAMPLED + 1 {
            return;
        }
        let rest = rows.saturating_sub(values) as u64;
        let wanted = self.bytes.len() as u64 * rest / values as u64;
        // some may be longer
        let wanted = (wanted + wanted / 32).min(most as u64) as usize + COPIED;
        self.bytes.reserve_exact(wanted);
        prefault(&mut self.bytes);
    }

    /// Adds the first so many bytes; the caller sees whether they are too many.
    #[inline]
    fn push(&mut self, bytes: &[u8], length: usize) -> Option<()> {
        match bytes.first_chunk::<COPIED>() {
            Some(first) if length <= COPIED => {
                let end = self.bytes.len() + length;
                self.bytes.extend_from_slice(first);
                self.bytes.truncate(end);
            }
            _ if self.bytes.len() > MOST => return None,
            _ => self.bytes.extend_from_slice(bytes.get(..length)?),
        }
        self.ends.push(self.bytes.len() as i32);
        Some(())
    }

    /// One value with what lies behind it, and its length.
    #[inline]
    fn value(&self, index: u32) -> Option<(&[u8], usize)> {
        let index = index as usize;
        let (start, end) = (*self.ends.get(index)?, *self.ends.get(index + 1)?);
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        Some((self.bytes.get(start..)?, end.checked_sub(start)?))
    }

    /// Whether an array can hold the values, and those from this one on are what they should be.
    fn holds(&self, first: usize, text: bool) -> bool {
        if self.bytes.len() > MOST {
            return false;
        }
        let ends = self.ends.get(first..).unwrap_or_default();
        let start = ends.first().and_then(|start| usize::try_from(*start).ok());
        let bytes = start.and_then(|start| self.bytes.get(start..));
        let bytes = bytes.unwrap_or_default();
        if !text || bytes.is_ascii() {
            return true;
        }
        let begins = |end: &i32| {
            let byte = usize::try_from(*end)
                .ok()
                .and_then(|end| self.bytes.get(end));
            byte.is_none_or(|byte| byte & 0xC0 != 0x80)
        };
        simdutf8::basic::from_utf8(bytes).is_ok() && ends.iter().all(begins)
    }

    fn array<T: ByteArrayType<Offset = i32>>(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let ends = ScalarBuffer::from(self.ends);
        let bytes = Buffer::from_vec(self.bytes);
        // SAFETY: each end is the length that the bytes had then, and none was above `MOST`, so that
        // none lies before another; text was checked, here or in the dictionary that it comes from.
        #[allow(unsafe_code)]
        let array = unsafe {
            let ends = OffsetBuffer::new_unchecked(ends);
            GenericByteArray::<T>::new_unchecked(ends, bytes, nulls)
        };
        Arc::new(array)
    }
}
