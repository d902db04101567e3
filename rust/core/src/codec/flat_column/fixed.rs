//! Values that all have one width.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType};

use super::decoder::Kind;
use crate::codec::room::prefault;

/// Adds the values that the bytes hold.
pub(super) type Append<T> = fn(&[u8], &mut Vec<T>);

/// Values that become such of the type.
pub(super) struct Fixed<T> {
    data_type: ArrowType,
    /// Bytes of each.
    width: usize,
    append: Append<T>,
}

impl<T> Fixed<T> {
    pub(super) fn new(data_type: &ArrowType, width: usize, append: Append<T>) -> Self {
        Self {
            data_type: data_type.clone(),
            width,
            append,
        }
    }
}

impl<T: ArrowNativeType> Kind for Fixed<T> {
    type Values = Vec<T>;

    fn values(&self, count: usize) -> Vec<T> {
        let mut values = Vec::with_capacity(count);
        prefault(&mut values);
        values
    }

    fn append(
        &self,
        bytes: &[u8],
        start: usize,
        count: usize,
        values: &mut Vec<T>,
    ) -> Option<usize> {
        let end = start.checked_add(count.checked_mul(self.width)?)?;
        (self.append)(bytes.get(start..end)?, values);
        Some(end)
    }

    fn look_up(dictionary: &Vec<T>, indices: &[u32], values: &mut Vec<T>) -> Option<()> {
        let most = indices.iter().copied().fold(0, u32::max);
        if most as usize >= dictionary.len() {
            return None;
        }
        values.extend(indices.iter().map(|index| {
            // SAFETY: none is larger than the largest, which is within.
            #[allow(unsafe_code)]
            unsafe {
                *dictionary.get_unchecked(*index as usize)
            }
        }));
        Some(())
    }

    fn repeat(dictionary: &Vec<T>, index: u32, count: usize, values: &mut Vec<T>) -> Option<()> {
        let value = *dictionary.get(index as usize)?;
        values.resize(values.len() + count, value);
        Some(())
    }

    /// Nulls are zeros.
    fn spread(values: &mut Vec<T>, start: usize, valid: &NullBuffer) {
        let mut from = values.len();
        values.resize(start + valid.len(), T::default());
        for at in (0..valid.len()).rev() {
            let mut value = T::default();
            if valid.is_valid(at) {
                from -= 1;
                value = values.get(from).copied().unwrap_or_default();
            }
            if let Some(place) = values.get_mut(start + at) {
                *place = value;
            }
        }
    }

    fn finish(&self, values: Vec<T>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let data = ArrayData::builder(self.data_type.clone())
            .len(values.len())
            .add_buffer(Buffer::from_vec(values))
            .nulls(nulls);
        data.build().map(make_array)
    }
}

/// Numbers as they are.
pub(super) fn words(bytes: &[u8], values: &mut Vec<u32>) {
    values.extend(bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes));
}

/// Numbers as they are.
pub(super) fn longs(bytes: &[u8], values: &mut Vec<u64>) {
    values.extend(bytes.as_chunks().0.iter().copied().map(u64::from_le_bytes));
}

/// Decimals, as integers of 32 bits.
pub(super) fn decimals_of_words(bytes: &[u8], values: &mut Vec<i128>) {
    let numbers = bytes.as_chunks().0.iter().copied().map(i32::from_le_bytes);
    values.extend(numbers.map(i128::from));
}

/// Decimals, as integers of 64 bits.
pub(super) fn decimals_of_longs(bytes: &[u8], values: &mut Vec<i128>) {
    let numbers = bytes.as_chunks().0.iter().copied().map(i64::from_le_bytes);
    values.extend(numbers.map(i128::from));
}

/// Decimals, as so many bytes, the highest first.
pub(super) fn decimals<const WIDTH: usize>(bytes: &[u8], values: &mut Vec<i128>) {
    values.extend(bytes.as_chunks::<WIDTH>().0.iter().map(|bytes| {
        let mut wide = [0; 16];
        if let Some(front) = wide.first_chunk_mut() {
            *front = *bytes;
        }
        // the sign comes down with it
        i128::from_be_bytes(wide) >> (8 * (16 - WIDTH))
    }));
}
