//! Keys of rows: the values of some columns, as bytes that are equal where the values are.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::{misfit, wrong};
use crate::codec::row_bytes::normalised;
use crate::error::Result;

/// A column of a key.
#[derive(Clone, Debug)]
pub(super) struct KeyType {
    /// The type in which values are compared.
    pub(super) data_type: DataType,
    /// Whether nulls equal nulls; otherwise they equal nothing.
    pub(super) null_safe: bool,
}

/// Rows by their key.
#[derive(Debug)]
pub(super) struct KeyedRows {
    types: Vec<KeyType>,
    converter: RowConverter,
    keys: Rows,
    /// The first row of each key.
    first: HashTable<u32>,
    /// For each row the next one with its key, or `END`.
    next: Vec<u32>,
}

const END: u32 = u32::MAX;

impl KeyedRows {
    /// Hashes rows, fewer than 2^32.
    pub(super) fn new(types: Vec<KeyType>, columns: &[ArrayRef], rows: usize) -> Result<Self> {
        if let Some(other) = types.iter().find(|one| one.data_type.is_nested()) {
            let message = format!(
                "columns of the type {} cannot be keys of a merge",
                other.data_type
            );
            return Err(wrong(&message));
        }
        let fields = types
            .iter()
            .map(|one| SortField::new(one.data_type.clone()));
        let converter = RowConverter::new(fields.collect()).map_err(misfit)?;
        let keys = converter
            .convert_columns(&all_normalised(columns)?)
            .map_err(misfit)?;
        let comparable = comparable(&types, columns);
        let mut first: HashTable<u32> = HashTable::with_capacity(rows);
        let mut next = vec![END; rows];
        let key = |row: u32| keys.row(row as usize);
        // backwards, so that the rows of a key are found in their order
        for (row, next) in next.iter_mut().enumerate().rev() {
            let row = row as u32; // fewer than 2^32
            if comparable
                .as_ref()
                .is_some_and(|one| one.is_null(row as usize))
            {
                continue;
            }
            let own = key(row);
            let hash = xxh3_64(own.as_ref());
            let same = |other: &u32| key(*other) == own;
            match first.find_mut(hash, same) {
                Some(other) => *next = std::mem::replace(other, row),
                None => {
                    first.insert_unique(hash, row, |row| xxh3_64(key(*row).as_ref()));
                }
            }
        }
        Ok(Self {
            types,
            converter,
            keys,
            first,
            next,
        })
    }

    /// The keys of other rows: each one's first row here, if any.
    pub(super) fn find(&self, columns: &[ArrayRef]) -> Result<Vec<Option<u32>>> {
        let others = self
            .converter
            .convert_columns(&all_normalised(columns)?)
            .map_err(misfit)?;
        let comparable = comparable(&self.types, columns);
        let is_null = |row| comparable.as_ref().is_some_and(|one| one.is_null(row));
        let found = others.iter().enumerate().map(|(row, key)| {
            let same = |other: &u32| self.keys.row(*other as usize) == key;
            let found = self.first.find(xxh3_64(key.as_ref()), same);
            found.filter(|_| !is_null(row)).copied()
        });
        Ok(found.collect())
    }

    /// The rows with the key of a row, from this one on.
    pub(super) fn same_key(&self, row: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(row), |row| {
            self.next
                .get(*row as usize)
                .copied()
                .filter(|next| *next != END)
        })
    }
}

/// Null where a value of the key is a null that equals nothing.
fn comparable(types: &[KeyType], columns: &[ArrayRef]) -> Option<NullBuffer> {
    let strict = types.iter().zip(columns).filter(|(one, _)| !one.null_safe);
    strict.fold(None, |found, (_, column)| {
        NullBuffer::union(found.as_ref(), column.logical_nulls().as_ref())
    })
}

fn all_normalised(columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let columns: Result<Vec<_>, _> = columns.iter().map(normalised).collect();
    columns.map_err(misfit)
}
