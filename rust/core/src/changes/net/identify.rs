//! The rows of pieces by position, identity and hash of their values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type, UInt8Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, Int64Array, PrimitiveArray, RecordBatch,
    UInt8Array, UInt32Array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::changes::range::derive::MatchBy;
use crate::changes::rows::piece::{ChangeType, Labels, Piece};
use crate::changes::rows::read::{PieceBatches, change_types, read_pieces};
use crate::changes::rows::row_hash::hash_rows;
use crate::changes::rows::row_schema::{Purpose, Reading};
use crate::error::{Error, Result};
use crate::replay::Source;

/// A share of the rows, by identity. All versions of a row are in the same share, so that shares can be
/// compared separately, anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::changes) struct Share {
    /// The index of the share, and the number of shares.
    pub number: u64,
    pub of: u64,
}

impl Share {
    /// Every row.
    pub(in crate::changes) const ALL: Self = Self { number: 0, of: 1 };

    /// Returns the two halves of this share; `None` if it cannot be split further.
    pub(in crate::changes) fn halves(self) -> Option<[Self; 2]> {
        let of = self.of.checked_mul(2).filter(|of| *of <= 1 << 16)?;
        let number = self.number;
        Some([number, number + self.of].map(|number| Self { number, of }))
    }

    /// Returns `true` if the row with this id is in the share.
    pub(super) fn has_id(self, id: i64) -> bool {
        self.of < 2 || self.has(spread(u128::from(id.cast_unsigned())))
    }

    fn has(self, identity: u128) -> bool {
        self.of < 2 || identity % u128::from(self.of) == u128::from(self.number)
    }
}

/// The way in which rows are identified.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) struct RowIdentity {
    pub way: MatchBy,
    /// Logical names of the key columns.
    pub key: Vec<String>,
    /// The hash seed; the same in all processes that share the work.
    pub seed: u64,
    /// The maximum number of rows held at once.
    pub most_rows: usize,
}

/// A row and its identity.
#[derive(Clone, Copy, Debug)]
pub(in crate::changes) struct IdentifiedRow {
    /// The index of its piece, and its position in the file.
    pub piece: u32,
    pub row: u64,
    /// The identity of the row.
    pub identity: u128,
    /// A hash of its values: rows with the same identity and hash were carried over.
    pub value_hash: u128,
    /// The change to the row.
    pub change: ChangeType,
}

/// Reads the identities of the rows of pieces.
struct Identities {
    source: Source,
    reading: Arc<Reading>,
    identity: RowIdentity,
    key: Vec<usize>,
    share: Share,
    /// Also hash the values of rows that have a row id.
    with_values: bool,
}

/// Reads the identities of the rows of one share.
#[derive(Clone, Copy)]
pub(in crate::changes) struct ShareReader<'a> {
    pub source: &'a Source,
    pub reading: &'a Arc<Reading>,
    pub identity: &'a RowIdentity,
    pub share: Share,
}

impl ShareReader<'_> {
    /// Returns the maximum number of rows held; unlimited if the share cannot be split further.
    pub(in crate::changes) fn most_rows(&self) -> usize {
        let halves = self.share.halves();
        halves.map_or(usize::MAX, |_| self.identity.most_rows)
    }

    /// Returns the events on the rows of the pieces, batch by batch: piece, row, identity, hash of the
    /// values if requested, change.
    pub(super) fn row_events(
        &self,
        pieces: Vec<Piece>,
        with_values: bool,
    ) -> Result<PieceBatches<RecordBatch>> {
        let identities = Identities {
            source: self.source.clone(),
            reading: Arc::clone(self.reading),
            key: self.reading.positions(&self.identity.key)?,
            identity: self.identity.clone(),
            share: self.share,
            with_values,
        };
        let way = self.identity.way;
        let purpose = move |piece: &Piece| match way {
            MatchBy::RowTracking if with_values => Purpose::TrackedValues,
            MatchBy::RowTracking => Purpose::RowIds,
            MatchBy::Files => Purpose::Positions,
            _ => Purpose::Values {
                typed: matches!(piece.labels, Labels::InFile(_)),
            },
        };
        let map = move |number, piece: &Piece, batch| {
            let rows = identities.of(number, piece, &batch)?;
            Ok((rows.num_rows() > 0).then_some(rows))
        };
        Ok(read_pieces(self.source, self.reading, pieces, purpose, map))
    }

    /// Calls `visit` for each row of the share, in order, until it returns `false`.
    pub(super) fn visit(
        &self,
        pieces: Vec<Piece>,
        visit: &mut dyn FnMut(IdentifiedRow) -> bool,
    ) -> Result<()> {
        for batch in self.row_events(pieces, false)? {
            let batch = batch?;
            let [piece, row, identity, value_hash, change] = batch.columns() else {
                return Err(missing_columns());
            };
            let (pieces, rows) = (values::<UInt32Type>(piece)?, values::<Int64Type>(row)?);
            let owners = values::<Decimal128Type>(identity)?.iter();
            let both = owners.zip(values::<Decimal128Type>(value_hash)?);
            let changes = values::<UInt8Type>(change)?;
            for (((piece, row), (identity, value_hash)), change) in
                pieces.iter().zip(rows).zip(both).zip(changes)
            {
                let more = visit(IdentifiedRow {
                    piece: *piece,
                    row: row.cast_unsigned(),
                    identity: identity.cast_unsigned(),
                    value_hash: value_hash.cast_unsigned(),
                    change: ChangeType::from_number(*change),
                });
                if !more {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Identities {
    fn of(&self, number: usize, piece: &Piece, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let seed = self.identity.seed;
        let own = match self.identity.way {
            MatchBy::RowTracking if !self.with_values => 0,
            MatchBy::Files => 0,
            _ => self.reading.table().0.fields().len(),
        };
        let positions = long(batch.columns().get(own))?;
        let columns = || batch.columns().iter().take(own);
        let (identity, value_hash) = match self.identity.way {
            MatchBy::RowTracking => (
                ids(batch.columns().get(own + 1))?.map(spread).collect(),
                ids(batch.columns().get(own + 2))?.collect(),
            ),
            MatchBy::Files => {
                let path = self.source.resolver.resolve("", &piece.file.path)?;
                let path = xxh3_128_with_seed(path.as_bytes(), seed);
                let numbers = positions.values().iter();
                let identity = numbers.map(|row| spread(path ^ u128::from(row.cast_unsigned())));
                (identity.collect(), vec![0; rows])
            }
            MatchBy::Key => {
                let key = self.key.iter().filter_map(|at| batch.columns().get(*at));
                (
                    hash_rows(key, rows, seed)?,
                    hash_rows(columns(), rows, seed)?,
                )
            }
            _ => (hash_rows(columns(), rows, seed)?, vec![0; rows]),
        };
        let changes: Vec<u8> = match &piece.labels {
            Labels::All(change, _) => vec![change.number(); rows],
            _ => {
                let types = change_types(batch.columns().get(own + 1))?;
                types.into_iter().map(ChangeType::number).collect()
            }
        };
        let kept: Option<Vec<usize>> = (self.share.of > 1).then(|| {
            let rows = identity.iter().enumerate();
            rows.filter_map(|(row, identity)| self.share.has(*identity).then_some(row))
                .collect()
        });
        let kept = kept.as_deref();
        let count = kept.map_or(rows, <[usize]>::len);
        let numbers = |values: &[u128]| -> ArrayRef {
            let selected = select(values, kept).into_iter();
            let selected: Vec<i128> = selected.map(u128::cast_signed).collect();
            Arc::new(Decimal128Array::from(selected))
        };
        let piece = u32::try_from(number).unwrap_or(u32::MAX);
        let mut all: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_value(piece, count)),
            Arc::new(Int64Array::from(select(positions.values(), kept))),
            numbers(&identity),
            numbers(&value_hash),
            Arc::new(UInt8Array::from(select(&changes, kept))),
        ];
        if self.with_values {
            all.push(numbers(&hash_rows(columns(), rows, seed)?));
        }
        let fields: Vec<Field> = ["piece", "row", "identity", "value_hash", "change", "values"]
            .into_iter()
            .zip(&all)
            .map(|(name, column)| Field::new(name, column.data_type().clone(), false))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), all)
            .map_err(|cause: ArrowError| missing_columns().because(cause))
    }
}

/// Returns the selected values, or all.
fn select<T: Copy>(values: &[T], kept: Option<&[usize]>) -> Vec<T> {
    match kept {
        None => values.to_vec(),
        Some(kept) => kept
            .iter()
            .filter_map(|row| values.get(*row).copied())
            .collect(),
    }
}

pub(super) fn long(column: Option<&ArrayRef>) -> Result<&Int64Array> {
    let column = column.filter(|column| *column.data_type() == DataType::Int64);
    column
        .and_then(|column| column.as_primitive_opt::<Int64Type>())
        .ok_or_else(missing_columns)
}

/// Returns the values of a column without nulls.
pub(super) fn values<T: ArrowPrimitiveType>(column: &ArrayRef) -> Result<&ScalarBuffer<T::Native>> {
    let column = column.as_primitive_opt::<T>();
    column
        .map(PrimitiveArray::values)
        .ok_or_else(missing_columns)
}

/// Returns a column of row ids or row commit versions; a null is an error.
pub(super) fn tracked(column: Option<&ArrayRef>) -> Result<&Int64Array> {
    let numbers = long(column)?;
    if numbers.null_count() > 0 {
        let message = "the table tracks rows, but a row has no id: ask the writer of the file, or pass the \
            columns of a `key`";
        return Err(Error::corrupt("changes.row_id", message));
    }
    Ok(numbers)
}

/// Returns the row ids as identities.
fn ids(column: Option<&ArrayRef>) -> Result<impl Iterator<Item = u128>> {
    let ids = tracked(column)?.values().iter();
    Ok(ids.map(|id| u128::from(id.cast_unsigned())))
}

/// Distributes neighbouring numbers evenly; a bijection.
fn spread(number: u128) -> u128 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
}

pub(super) fn missing_columns() -> Error {
    Error::corrupt(
        "log.columns",
        "the columns that rows are compared by are missing",
    )
}
