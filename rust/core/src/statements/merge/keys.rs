//! Keys of rows: the values of some columns, as bytes that are equal if the values are.

use std::hash::{BuildHasher, RandomState};

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::columns_mismatch;
use crate::error::Result;
use crate::expr::value::floats::normalized;

pub(super) struct JoinKeys {
    /// For each column of the key, true if nulls are equal; otherwise they equal nothing.
    null_safe: Vec<bool>,
    converter: RowConverter,
    keys: Rows,
    /// For each row, true if its key can equal another.
    comparable: BooleanBufferBuilder,
}

impl JoinKeys {
    /// Creates keys of these types, all of which can be compared.
    pub(super) fn new<'a>(
        null_safe: Vec<bool>,
        types: impl Iterator<Item = &'a DataType>,
    ) -> Result<Self> {
        let fields = types.map(|data_type| SortField::new(data_type.clone()));
        let converter = RowConverter::new(fields.collect()).map_err(columns_mismatch)?;
        Ok(Self {
            null_safe,
            keys: converter.empty_rows(0, 0),
            converter,
            comparable: BooleanBufferBuilder::new(0),
        })
    }

    pub(super) fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        self.converter
            .append(&mut self.keys, &all_normalized(columns)?)
            .map_err(columns_mismatch)?;
        match comparable(&self.null_safe, columns) {
            Some(comparable) => self.comparable.append_buffer(comparable.inner()),
            None => self.comparable.append_n(rows, true),
        }
        Ok(())
    }

    /// Builds the hash table of fewer than 2^32 rows.
    pub(super) fn rows_by_key(mut self) -> RowsByKey {
        let (keys, comparable) = (self.keys, self.comparable.finish());
        let rows = keys.num_rows();
        let seed = RandomState::new().hash_one(0);
        let mut first: HashTable<u32> = HashTable::with_capacity(rows);
        let mut next = vec![END; rows];
        let key = |row: u32| keys.row(row as usize);
        // backwards, so that the rows of a key are in order
        for (row, next) in next.iter_mut().enumerate().rev() {
            if !comparable.value(row) {
                continue;
            }
            let row = row as u32; // fewer than 2^32
            let own = key(row);
            let hash = xxh3_64_with_seed(own.as_ref(), seed);
            let same = |other: &u32| key(*other) == own;
            match first.find_mut(hash, same) {
                Some(other) => *next = std::mem::replace(other, row),
                None => {
                    first.insert_unique(hash, row, |row| {
                        xxh3_64_with_seed(key(*row).as_ref(), seed)
                    });
                }
            }
        }
        RowsByKey {
            null_safe: self.null_safe,
            seed,
            converter: self.converter,
            keys,
            first,
            next,
        }
    }
}

#[derive(Debug)]
pub(super) struct RowsByKey {
    null_safe: Vec<bool>,
    /// Random, so that no one can craft keys that collide.
    seed: u64,
    converter: RowConverter,
    keys: Rows,
    /// The first row of each key.
    first: HashTable<u32>,
    /// For each row the next one with its key, or `END`.
    next: Vec<u32>,
}

const END: u32 = u32::MAX;

impl RowsByKey {
    /// Returns for each of other rows the first row with the same key, if any.
    pub(super) fn find(&self, columns: &[ArrayRef]) -> Result<Vec<Option<u32>>> {
        let others = self
            .converter
            .convert_columns(&all_normalized(columns)?)
            .map_err(columns_mismatch)?;
        let comparable = comparable(&self.null_safe, columns);
        let is_null = |row| comparable.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let matches = others.iter().enumerate().map(|(row, key)| {
            let same = |other: &u32| self.keys.row(*other as usize) == key;
            let hash = xxh3_64_with_seed(key.as_ref(), self.seed);
            let candidate = self.first.find(hash, same);
            candidate.filter(|_| !is_null(row)).copied()
        });
        Ok(matches.collect())
    }

    /// Returns the rows with the key of a row, from this row on.
    pub(super) fn same_key(&self, row: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(row), |row| {
            self.next
                .get(*row as usize)
                .copied()
                .filter(|next| *next != END)
        })
    }
}

/// Returns nulls for rows with a null in the key that equals nothing.
fn comparable(null_safe: &[bool], columns: &[ArrayRef]) -> Option<NullBuffer> {
    let strict = null_safe.iter().zip(columns).filter(|(safe, _)| !**safe);
    strict.fold(None, |nulls, (_, column)| {
        NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref())
    })
}

fn all_normalized(columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let columns: Result<Vec<_>, _> = columns.iter().map(normalized).collect();
    columns.map_err(columns_mismatch)
}
