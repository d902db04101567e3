//! Compares pairs of rows in memory, column by column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use crate::changes::net::identify::invalid_columns;
use crate::changes::rows::row_hash::hash_rows;
use crate::error::Result;
use crate::expr::value::floats;
use crate::storage::pool::pool;

/// The number of pairs per unit of work.
const PAIRS_PER_UNIT: usize = 16 << 10;

/// The position of a row: the index of its batch, and the index in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchRow {
    pub batch: u32,
    pub row: u32,
}

impl BatchRow {
    /// A placeholder until the row is read.
    pub(super) const NONE: Self = Self {
        batch: u32::MAX,
        row: u32::MAX,
    };
}

/// Marks the pairs of rows that differ in one of the first `num_columns` columns. As in [`hash_rows`], nulls
/// are equal, NaN equals NaN, and `-0.0` equals `0.0`.
pub(super) fn differ(
    batches: &[&RecordBatch],
    num_columns: usize,
    pairs: &[[BatchRow; 2]],
    seed: u64,
) -> Result<Vec<bool>> {
    let mut differs = vec![false; pairs.len()];
    pool()?.install(|| {
        for at in 0..num_columns {
            let columns = batches.iter().map(|batch| batch.columns().get(at));
            let columns: Vec<&ArrayRef> =
                columns.collect::<Option<_>>().ok_or_else(invalid_columns)?;
            ColumnComparison {
                columns,
                pairs,
                differs: &mut differs,
            }
            .run(seed)?;
        }
        Ok(differs)
    })
}

/// Compares pairs of rows by one column of all batches.
struct ColumnComparison<'a> {
    columns: Vec<&'a ArrayRef>,
    pairs: &'a [[BatchRow; 2]],
    differs: &'a mut [bool],
}

impl<'a> ColumnComparison<'a> {
    fn run(self, seed: u64) -> Result<()> {
        let Some(first) = self.columns.first() else {
            return Ok(());
        };
        match first.data_type() {
            DataType::Int8 => self.primitives::<Int8Type, _>(|value| value),
            DataType::Int16 => self.primitives::<Int16Type, _>(|value| value),
            DataType::Int32 => self.primitives::<Int32Type, _>(|value| value),
            DataType::Int64 => self.primitives::<Int64Type, _>(|value| value),
            DataType::Date32 => self.primitives::<Date32Type, _>(|value| value),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.primitives::<TimestampMicrosecondType, _>(|value| value)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                self.primitives::<DurationMicrosecondType, _>(|value| value)
            }
            DataType::Decimal128(..) => self.primitives::<Decimal128Type, _>(|value| value),
            DataType::Float32 => {
                self.primitives::<Float32Type, _>(|value| floats::bits(f64::from(value)))
            }
            DataType::Float64 => self.primitives::<Float64Type, _>(floats::bits),
            DataType::Boolean => self.arrays(
                |column| column.as_boolean_opt(),
                |array, row| array.value(row),
            ),
            DataType::Utf8 => self.arrays(
                |column| column.as_string_opt::<i32>(),
                |array, row| array.value(row),
            ),
            DataType::Binary => self.arrays(
                |column| column.as_binary_opt::<i32>(),
                |array, row| array.value(row),
            ),
            // nested and rare types
            _ => self.hashes(seed),
        }
    }

    fn primitives<T: ArrowPrimitiveType, V: PartialEq>(
        self,
        value: impl Fn(T::Native) -> V + Sync,
    ) -> Result<()> {
        self.arrays(
            |column| column.as_primitive_opt::<T>(),
            |array, row| value(array.value(row)),
        )
    }

    fn arrays<A: Array + 'a, V: PartialEq>(
        self,
        typed: impl Fn(&'a ArrayRef) -> Option<&'a A>,
        value: impl Fn(&'a A, usize) -> V + Sync,
    ) -> Result<()> {
        let arrays = self.columns.iter().map(|column| typed(column));
        let arrays: Vec<&'a A> = arrays.collect::<Option<_>>().ok_or_else(invalid_columns)?;
        self.each(|location| {
            let (array, row) = (*arrays.get(location.batch as usize)?, location.row as usize);
            (row < array.len() && array.is_valid(row)).then(|| value(array, row))
        });
        Ok(())
    }

    fn hashes(self, seed: u64) -> Result<()> {
        let columns = self.columns.par_iter();
        let hashes = columns.map(|column| hash_rows([*column], column.len(), seed));
        let hashes: Vec<Vec<u128>> = hashes.collect::<Result<_>>()?;
        self.each(|location| {
            let hashes = hashes.get(location.batch as usize)?;
            hashes.get(location.row as usize).copied()
        });
        Ok(())
    }

    /// Compares the values of each pair; skips pairs that differ in an earlier column.
    fn each<V: PartialEq>(self, value: impl Fn(&BatchRow) -> Option<V> + Sync) {
        let flags = self.differs.par_chunks_mut(PAIRS_PER_UNIT);
        flags
            .zip(self.pairs.par_chunks(PAIRS_PER_UNIT))
            .for_each(|(flags, pairs)| {
                for (differs, [left, right]) in flags.iter_mut().zip(pairs) {
                    *differs = *differs || value(left) != value(right);
                }
            });
    }
}

#[cfg(test)]
mod tests;
