//! What pairs of rows hold, compared by numbers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};

use super::join::Pair;
use crate::changes::definition::{Purpose, Reading};
use crate::changes::identify::odd;
use crate::changes::piece::{Piece, PieceRows};
use crate::changes::read::{blame, open};
use crate::changes::row_hash::hash_rows;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{OpenFile, Unit};
use crate::scan::rows::{Give, Look, OrderedRows, Work};

/// Rows of one piece that are wanted, and the number of the first of them among all pairs.
#[derive(Clone, Copy)]
struct Wanted {
    piece: u32,
    row: u64,
    rows: u32,
    first: usize,
}

/// Of each row of the pairs whether it holds something else now.
pub(super) fn unequal(
    source: &Source,
    reading: &Arc<Reading>,
    seed: u64,
    pieces: &[Piece],
    pairs: &[Pair],
) -> Result<Vec<bool>> {
    let mut wanted: Vec<Wanted> = Vec::with_capacity(2 * pairs.len());
    let mut count = 0;
    for pair in pairs {
        for run in [pair.before, pair.now] {
            wanted.push(Wanted {
                piece: run.piece,
                row: run.row,
                rows: run.rows,
                first: count,
            });
        }
        count += pair.now.rows as usize;
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    wanted.sort_unstable_by_key(|wanted| (wanted.piece, wanted.row));
    let mut narrowed = Vec::new();
    for same in wanted.chunk_by(|one, other| one.piece == other.piece) {
        let rows = same
            .iter()
            .flat_map(|wanted| wanted.row..wanted.row.saturating_add(u64::from(wanted.rows)));
        let rows = Arc::new(DeletionVector::from_rows(rows)?);
        let piece = same.first().map(|wanted| wanted.piece as usize);
        if let Some(piece) = piece.and_then(|piece| pieces.get(piece)) {
            narrowed.push(Piece {
                rows: PieceRows::Only(rows),
                ..piece.clone()
            });
        }
    }
    let work = Values {
        source: source.clone(),
        reading: Arc::clone(reading),
        seed,
        pieces: narrowed,
    };
    // each row is there twice, and what is the same twice is nothing
    let mut sums = vec![0_u128; count];
    let mut places = wanted
        .iter()
        .flat_map(|wanted| wanted.first..wanted.first + wanted.rows as usize);
    for batch in OrderedRows::new(work, Look::default()) {
        let batch = batch?;
        let [values] = batch.columns() else {
            return Err(odd());
        };
        let values = values
            .as_primitive_opt::<Decimal128Type>()
            .ok_or_else(odd)?;
        for value in values.values() {
            let place = places.next().and_then(|place| sums.get_mut(place));
            *place.ok_or_else(odd)? ^= value.cast_unsigned();
        }
    }
    if places.next().is_some() {
        return Err(odd());
    }
    Ok(sums.into_iter().map(|sum| sum != 0).collect())
}

struct Values {
    source: Source,
    reading: Arc<Reading>,
    seed: u64,
    pieces: Vec<Piece>,
}

impl Work for Values {
    type Unit = (usize, Arc<OpenFile>, Unit);

    fn files(&self) -> usize {
        self.pieces.len()
    }

    fn open(&self, number: usize) -> Result<Vec<Self::Unit>> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(Vec::new());
        };
        let purpose = Purpose::Values { typed: false };
        let Some(open) = open(&self.source, &self.reading, piece, purpose)? else {
            return Ok(Vec::new());
        };
        let units = open.units().into_iter();
        Ok(units
            .map(|unit| (number, Arc::clone(&open), unit))
            .collect())
    }

    fn read(&self, (number, open, unit): Self::Unit, give: &mut Give<'_>) -> Result<()> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(());
        };
        let at = |error| blame(error, piece);
        let own = self.reading.table().0.fields().len();
        for batch in open.read(&*self.source.storage, &unit).map_err(at)? {
            let batch = batch.map_err(at)?;
            let columns = batch.columns().iter().take(own);
            let hashes = hash_rows(columns, batch.num_rows(), self.seed).map_err(at)?;
            give(batch_of(hashes)?)?;
        }
        Ok(())
    }

    fn passes_over(&self, _: usize, _: &Error) -> bool {
        false
    }
}

fn batch_of(hashes: Vec<u128>) -> Result<RecordBatch> {
    let hashes = hashes.into_iter().map(u128::cast_signed);
    let hashes: ArrayRef = Arc::new(Decimal128Array::from_iter_values(hashes));
    let field = Field::new("value", hashes.data_type().clone(), false);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![hashes])
        .map_err(|cause: ArrowError| odd().because(cause))
}
