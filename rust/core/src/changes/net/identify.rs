//! The rows of pieces as positions, identities and hashes of their values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type, UInt8Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, Int64Array, PrimitiveArray, RecordBatch,
    UInt8Array, UInt32Array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, Field, Schema};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::changes::range::derive::MatchBy;
use crate::changes::rows::piece::{ChangeType, Labels, Piece};
use crate::changes::rows::read::{PieceBatches, change_types, read_pieces};
use crate::changes::rows::row_hash::hash_rows;
use crate::changes::rows::row_schema::{Purpose, ResolvedDefinition};
use crate::error::{Error, Result};
use crate::replay::Source;

/// A share of the rows, by identity. All versions of a row are in the same share, so that shares can be
/// compared separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::changes) struct Share {
    #[serde(rename = "number")]
    pub index: u64,
    /// The number of shares.
    #[serde(rename = "of")]
    pub count: u64,
}

impl Share {
    /// Every row.
    pub(in crate::changes) const ALL: Self = Self { index: 0, count: 1 };

    /// Returns the two halves of this share; `None` if it cannot be split further.
    pub(in crate::changes) fn halves(self) -> Option<[Self; 2]> {
        let count = self
            .count
            .checked_mul(2)
            .filter(|count| *count <= 1 << 16)?;
        let index = self.index;
        Some([index, index + self.count].map(|index| Self { index, count }))
    }

    /// Returns `true` if the row with this id is in the share.
    pub(super) fn has_id(self, id: i64) -> bool {
        self.count < 2 || self.has(spread(u128::from(id.cast_unsigned())))
    }

    fn has(self, identity: u128) -> bool {
        self.count < 2 || identity % u128::from(self.count) == u128::from(self.index)
    }
}

/// The way in which rows are identified.
#[derive(Clone, Debug)]
pub(in crate::changes) struct RowIdentity {
    pub way: MatchBy,
    /// Logical names of the key columns.
    pub key: Vec<String>,
    /// The hash seed; the same in all processes that share the work.
    pub seed: u64,
    /// The maximum number of rows held at once.
    pub most_rows: usize,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::changes) struct IdentifiedRow {
    /// The index of its piece.
    pub piece: u32,
    /// Its position in the file.
    pub row: u64,
    pub identity: u128,
    /// A hash of its values, or its row commit version; 0 if the identity suffices. Rows with the same
    /// identity and hash were carried over.
    pub value_hash: u128,
    pub change: ChangeType,
}

impl IdentifiedRow {
    /// Returns `true` if the row is identified by a key that has a null. As in SQL, such a key equals no
    /// other, so the values identify the row.
    pub(super) fn has_null_key(&self) -> bool {
        self.identity == spread(self.value_hash)
    }
}

struct RowIdentifier {
    source: Source,
    resolved: Arc<ResolvedDefinition>,
    identity: RowIdentity,
    /// The indexes of the key columns.
    key: Vec<usize>,
    share: Share,
    /// Also hash the values of rows that are identified by a row id.
    with_values: bool,
}

#[derive(Clone, Copy)]
pub(in crate::changes) struct ShareReader<'a> {
    pub source: &'a Source,
    pub resolved: &'a Arc<ResolvedDefinition>,
    pub identity: &'a RowIdentity,
    pub share: Share,
}

impl ShareReader<'_> {
    /// Returns the maximum number of rows held; unlimited if the share cannot be split further.
    pub(in crate::changes) fn max_rows(&self) -> usize {
        let halves = self.share.halves();
        halves.map_or(usize::MAX, |_| self.identity.most_rows)
    }

    /// Returns the rows of the pieces, batch by batch, with the columns piece, row, identity, value hash,
    /// change, and with `with_values` a hash of all values.
    pub(super) fn row_events(
        &self,
        pieces: Vec<Piece>,
        with_values: bool,
    ) -> Result<PieceBatches<RecordBatch>> {
        let identifier = RowIdentifier {
            source: self.source.clone(),
            resolved: Arc::clone(self.resolved),
            key: self.resolved.indexes(&self.identity.key)?,
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
        let map = move |index, piece: &Piece, batch| {
            let rows = identifier.identify(index, piece, &batch)?;
            Ok(Some(rows).filter(|rows| rows.num_rows() > 0))
        };
        Ok(read_pieces(
            self.source,
            self.resolved,
            pieces,
            purpose,
            map,
        ))
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
                return Err(invalid_columns());
            };
            let (pieces, rows) = (values::<UInt32Type>(piece)?, values::<Int64Type>(row)?);
            let identities = values::<Decimal128Type>(identity)?.iter();
            let identities = identities.zip(values::<Decimal128Type>(value_hash)?);
            let changes = values::<UInt8Type>(change)?;
            for (((piece, row), (identity, value_hash)), change) in
                pieces.iter().zip(rows).zip(identities).zip(changes)
            {
                let continues = visit(IdentifiedRow {
                    piece: *piece,
                    row: row.cast_unsigned(),
                    identity: identity.cast_unsigned(),
                    value_hash: value_hash.cast_unsigned(),
                    change: ChangeType::from_number(*change),
                });
                if !continues {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl RowIdentifier {
    fn identify(&self, index: usize, piece: &Piece, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let seed = self.identity.seed;
        let num_columns = match self.identity.way {
            MatchBy::RowTracking if !self.with_values => 0,
            MatchBy::Files => 0,
            _ => self.resolved.table().0.fields().len(),
        };
        let positions = long(batch.columns().get(num_columns))?;
        let columns = || batch.columns().iter().take(num_columns);
        let (identity, value_hash) = match self.identity.way {
            MatchBy::RowTracking => (
                ids(batch.columns().get(num_columns + 1))?
                    .map(spread)
                    .collect(),
                ids(batch.columns().get(num_columns + 2))?.collect(),
            ),
            MatchBy::Files => {
                let path = self.source.resolver.resolve("", &piece.file.path)?;
                let path = xxh3_128_with_seed(path.as_bytes(), seed);
                let numbers = positions.values().iter();
                let identity = numbers.map(|row| spread(path ^ u128::from(row.cast_unsigned())));
                (identity.collect(), vec![0; rows])
            }
            MatchBy::Key => {
                let key = || {
                    let indexes = self.key.iter();
                    indexes.filter_map(|index| batch.columns().get(*index))
                };
                let mut identity = hash_rows(key(), rows, seed)?;
                let values = hash_rows(columns(), rows, seed)?;
                for nulls in key().filter_map(|column| column.logical_nulls()) {
                    let rows = identity.iter_mut().zip(&values).zip(&nulls);
                    for ((identity, value), has_value) in rows {
                        if !has_value {
                            *identity = spread(*value);
                        }
                    }
                }
                (identity, values)
            }
            _ => (hash_rows(columns(), rows, seed)?, vec![0; rows]),
        };
        let changes: Vec<u8> = match &piece.labels {
            Labels::All(change, _) => vec![change.number(); rows],
            _ => {
                let types = change_types(batch.columns().get(num_columns + 1))?;
                types.into_iter().map(ChangeType::number).collect()
            }
        };
        let selected: Option<Vec<usize>> = (self.share.count > 1).then(|| {
            let rows = identity.iter().enumerate();
            rows.filter(|(_, identity)| self.share.has(**identity))
                .map(|(row, _)| row)
                .collect()
        });
        let selected = selected.as_deref();
        let count = selected.map_or(rows, <[usize]>::len);
        let wide_column = |values: &[u128]| -> ArrayRef {
            let values = select(values, selected).into_iter();
            let values: Vec<i128> = values.map(u128::cast_signed).collect();
            Arc::new(Decimal128Array::from(values))
        };
        let piece = u32::try_from(index).unwrap_or(u32::MAX);
        let mut all: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_value(piece, count)),
            Arc::new(Int64Array::from(select(positions.values(), selected))),
            wide_column(&identity),
            wide_column(&value_hash),
            Arc::new(UInt8Array::from(select(&changes, selected))),
        ];
        if self.with_values {
            all.push(wide_column(&hash_rows(columns(), rows, seed)?));
        }
        let fields: Vec<Field> = ["piece", "row", "identity", "value_hash", "change", "values"]
            .into_iter()
            .zip(&all)
            .map(|(name, column)| Field::new(name, column.data_type().clone(), false))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), all)
            .map_err(|cause: ArrowError| invalid_columns().because(cause))
    }
}

/// Returns the values of these rows, or all.
fn select<T: Copy>(values: &[T], rows: Option<&[usize]>) -> Vec<T> {
    match rows {
        None => values.to_vec(),
        Some(rows) => rows
            .iter()
            .filter_map(|row| values.get(*row).copied())
            .collect(),
    }
}

pub(super) fn long(column: Option<&ArrayRef>) -> Result<&Int64Array> {
    let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.ok_or_else(invalid_columns)
}

/// Returns the values of a column, which has no nulls.
pub(super) fn values<T: ArrowPrimitiveType>(column: &ArrayRef) -> Result<&ScalarBuffer<T::Native>> {
    let column = column.as_primitive_opt::<T>();
    column
        .map(PrimitiveArray::values)
        .ok_or_else(invalid_columns)
}

/// Returns a column of row ids or row commit versions; a null is an error.
pub(super) fn tracked(column: Option<&ArrayRef>) -> Result<&Int64Array> {
    let numbers = long(column)?;
    if numbers.null_count() > 0 {
        let message = "the table tracks rows, but a row has no id or commit version: ask the writer of the \
            file, or pass the columns of a `key`";
        return Err(Error::corrupt("changes.row_id", message));
    }
    Ok(numbers)
}

fn ids(column: Option<&ArrayRef>) -> Result<impl Iterator<Item = u128>> {
    let ids = tracked(column)?.values().iter();
    Ok(ids.map(|id| u128::from(id.cast_unsigned())))
}

/// Distributes neighbouring numbers evenly; a bijection.
fn spread(number: u128) -> u128 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
}

pub(super) fn invalid_columns() -> Error {
    Error::corrupt(
        "log.columns",
        "the columns that rows are compared by are missing or invalid",
    )
}
