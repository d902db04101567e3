//! The values of an `IN`: sorted, and in a hash table if there are many.

use std::borrow::Borrow;

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::expr::value::canonical_order::{as_bytes, as_decimals, as_integers};
use crate::expr::value::floats::NAN_KEY;

/// Lists up to this length use binary search.
const MAX_BINARY_SEARCH: usize = 16;

/// The values of an `IN`, converted to one form of `canonical_order`.
#[derive(Clone, Debug)]
pub(in crate::expr) enum InList {
    Integers(Values<i64>),
    Decimals(Values<i128>),
    Bytes(Values<Vec<u8>>),
}

/// The values of a list, sorted and distinct.
#[derive(Clone, Debug)]
pub(in crate::expr) struct Values<T> {
    sorted: Vec<T>,
    /// Indexes into `sorted`; only for long lists.
    indexes: Option<HashTable<usize>>,
}

pub(in crate::expr) trait Hashed: Ord {
    fn hashed(&self) -> u64;
}

impl Hashed for i64 {
    fn hashed(&self) -> u64 {
        xxh3_64(&self.to_ne_bytes())
    }
}

impl Hashed for i128 {
    fn hashed(&self) -> u64 {
        xxh3_64(&self.to_ne_bytes())
    }
}

impl Hashed for [u8] {
    fn hashed(&self) -> u64 {
        xxh3_64(self)
    }
}

impl<T: Ord> Values<T> {
    pub(in crate::expr) fn new<K: Hashed + ?Sized>(mut values: Vec<T>) -> Self
    where
        T: Borrow<K>,
    {
        values.sort_unstable();
        values.dedup();
        let hash = |index: &usize| {
            values
                .get(*index)
                .map_or(0, |value| value.borrow().hashed())
        };
        let indexes = (values.len() > MAX_BINARY_SEARCH).then(|| {
            let mut indexes = HashTable::with_capacity(values.len());
            for index in 0..values.len() {
                indexes.insert_unique(hash(&index), index, hash);
            }
            indexes
        });
        Self {
            sorted: values,
            indexes,
        }
    }

    fn contains<K: Hashed + ?Sized>(&self, key: &K) -> bool
    where
        T: Borrow<K>,
    {
        match &self.indexes {
            Some(indexes) => {
                let same = |index: &usize| {
                    self.sorted
                        .get(*index)
                        .is_some_and(|value| value.borrow() == key)
                };
                indexes.find(key.hashed(), same).is_some()
            }
            None => self
                .sorted
                .binary_search_by(|value| value.borrow().cmp(key))
                .is_ok(),
        }
    }

    /// Returns `true` if one of the values is within the bounds; `None` is unbounded.
    fn any_within<K: Hashed + ?Sized>(&self, min: Option<&K>, max: Option<&K>) -> bool
    where
        T: Borrow<K>,
    {
        let first = min.map_or(0, |min| {
            self.sorted.partition_point(|value| value.borrow() < min)
        });
        self.sorted
            .get(first)
            .is_some_and(|value| max.is_none_or(|max| value.borrow() <= max))
    }
}

/// The possible results for values within bounds, for each row of the bounds.
pub(in crate::expr) struct Membership {
    /// A value within the bounds may be in the list.
    pub(in crate::expr) listed: BooleanBuffer,
    /// A value within the bounds may be missing from the list.
    pub(in crate::expr) unlisted: BooleanBuffer,
}

impl InList {
    /// Returns `true` if `NaN` is in the list; numbers in the list must be floating-point.
    pub(in crate::expr) fn has_nan(&self) -> bool {
        match self {
            Self::Integers(list) => list.contains(&NAN_KEY),
            _ => false,
        }
    }

    /// Marks the values that are in the list; the result is null for a null and, with `or_null`, for a value
    /// that is not in the list.
    pub(in crate::expr) fn contains(
        &self,
        values: &ArrayRef,
        or_null: bool,
    ) -> Result<BooleanArray> {
        let members = match self {
            Self::Integers(list) => {
                BooleanArray::from_unary(as_integers(values)?, |value| list.contains(&value))
            }
            Self::Decimals(list) => {
                BooleanArray::from_unary(as_decimals(values)?, |value| list.contains(&value))
            }
            Self::Bytes(list) => {
                BooleanArray::from_unary(as_bytes(values)?, |value| list.contains(value))
            }
        };
        if !or_null {
            return Ok(members);
        }
        let (is_member, nulls) = members.into_parts();
        let member_nulls = NullBuffer::new(is_member.clone());
        let nulls = NullBuffer::union(nulls.as_ref(), Some(&member_nulls));
        Ok(BooleanArray::new(is_member, nulls))
    }

    /// Returns whether values within the bounds can be in the list.
    pub(in crate::expr) fn membership(
        &self,
        rows: usize,
        min: Option<&ArrayRef>,
        max: Option<&ArrayRef>,
    ) -> Result<Membership> {
        macro_rules! membership {
            ($list:expr, $typed:expr, $get:expr) => {{
                let min = min.map($typed).transpose()?;
                let max = max.map($typed).transpose()?;
                let lower = |row| min.and_then(|bound| $get(bound, row));
                let upper = |row| max.and_then(|bound| $get(bound, row));
                let listed = |row| $list.any_within(lower(row), upper(row));
                let unlisted = |row| match (lower(row), upper(row)) {
                    (Some(min), Some(max)) => min != max || !$list.contains(min),
                    _ => true,
                };
                Membership {
                    listed: BooleanBuffer::collect_bool(rows, listed),
                    unlisted: BooleanBuffer::collect_bool(rows, unlisted),
                }
            }};
        }
        Ok(match self {
            Self::Integers(list) => membership!(list, as_integers, number_at),
            Self::Decimals(list) => membership!(list, as_decimals, number_at),
            Self::Bytes(list) => membership!(list, as_bytes, bytes_at),
        })
    }
}

fn number_at<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, row: usize) -> Option<&T::Native> {
    values.is_valid(row).then(|| values.values().get(row))?
}

pub(in crate::expr) fn bytes_at(values: &BinaryArray, row: usize) -> Option<&[u8]> {
    values.is_valid(row).then(|| values.value(row))
}
