//! What pairs of rows hold, compared by numbers, and kept to be handed out where there is room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};

use super::sweep::Pair;
use crate::changes::compare::LabelledPieces;
use crate::changes::definition::{Purpose, Reading};
use crate::changes::identify::{long, odd};
use crate::changes::piece::{Piece, PieceRows};
use crate::changes::read::{blame, units};
use crate::changes::row_hash::hash_rows;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{OpenFile, Unit};
use crate::scan::rows::{Give, Look, OrderedRows, Work};

/// Rows that were read to be compared are kept to be handed out: as many as may be held, up to about so
/// many bytes.
const KEPT_BYTES: usize = 256 << 20;

/// Rows of a piece that are wanted, and the number of the first of them among all pairs.
#[derive(Clone, Copy)]
struct Wanted {
    row: u64,
    /// `None` for rows that are shown in any case.
    first: Option<usize>,
    rows: u32,
}

impl Wanted {
    /// The place of each of its rows among all pairs.
    fn places(self) -> impl Iterator<Item = Option<usize>> {
        (0..self.rows as usize).map(move |at| Some(self.first? + at))
    }
}

/// What pairs hold.
#[derive(Default)]
pub(super) struct Values {
    /// Of each row of the pairs whether it holds something else now.
    pub changed: Vec<bool>,
    /// Rows of pieces as they are handed out, those of all labels and all pairs.
    pub read: Vec<(u32, Vec<RecordBatch>)>,
}

/// Reads the rows of pairs.
pub(super) fn values(
    source: &Source,
    reading: &Arc<Reading>,
    seed: u64,
    pieces: &[Piece],
    pairs: &[Pair],
    labels: &LabelledPieces,
    most: usize,
) -> Result<Values> {
    let mut of_pieces: Vec<Vec<Wanted>> = vec![Vec::new(); pieces.len()];
    let mut count = 0;
    for pair in pairs {
        for (piece, row) in pair.pieces.iter().zip(pair.rows) {
            if let Some(wanted) = of_pieces.get_mut(*piece as usize) {
                let (first, rows) = (Some(count), pair.count);
                wanted.push(Wanted { row, first, rows });
            }
        }
        count += pair.count as usize;
    }
    if count == 0 {
        return Ok(Values::default());
    }
    let mut numbers = Vec::new();
    let mut narrowed = Vec::new();
    for ((number, piece), wanted) in (0..).zip(pieces).zip(&mut of_pieces) {
        if wanted.is_empty() {
            continue;
        }
        // what is shown besides is read along
        wanted.extend(labels.runs(number).map(|(row, rows)| Wanted {
            row,
            first: None,
            rows,
        }));
        if !wanted.is_sorted_by_key(|wanted| wanted.row) {
            wanted.sort_unstable_by_key(|wanted| wanted.row);
        }
        let rows = wanted
            .iter()
            .flat_map(|wanted| wanted.row..wanted.row.saturating_add(u64::from(wanted.rows)));
        numbers.push(number);
        narrowed.push(Piece {
            rows: PieceRows::Only(Arc::new(DeletionVector::from_rows(rows)?)),
            ..piece.clone()
        });
    }
    let mut kept = Vec::new();
    kept.resize_with(narrowed.len(), || Some(Vec::new()));
    let mut rows = OrderedRows::new(
        Reader {
            source: source.clone(),
            reading: Arc::clone(reading),
            seed,
            pieces: narrowed,
            kept: Mutex::new(Kept {
                pieces: kept,
                rows: most,
                bytes: KEPT_BYTES,
            }),
        },
        Look::default(),
    );
    // each row is there twice, and what is the same twice is nothing
    let mut sums = vec![0_u128; count];
    let mut places = of_pieces
        .iter()
        .flatten()
        .flat_map(|wanted| wanted.places());
    for batch in &mut rows {
        let batch = batch?;
        let [values] = batch.columns() else {
            return Err(odd());
        };
        let values = values
            .as_primitive_opt::<Decimal128Type>()
            .ok_or_else(odd)?;
        for value in values.values() {
            if let Some(place) = places.next().ok_or_else(odd)? {
                *sums.get_mut(place).ok_or_else(odd)? ^= value.cast_unsigned();
            }
        }
    }
    if places.next().is_some() {
        return Err(odd());
    }
    let kept = rows.work().take();
    let read = numbers.into_iter().zip(kept).filter_map(|(piece, kept)| {
        let mut kept = kept?;
        kept.sort_unstable_by_key(|(first, _)| *first);
        Some((piece, kept.into_iter().map(|(_, rows)| rows).collect()))
    });
    Ok(Values {
        changed: sums.into_iter().map(|sum| sum != 0).collect(),
        read: read.collect(),
    })
}

/// Rows of a piece by the position of the first one; `None` where there was no room for all.
type Batches = Option<Vec<(i64, RecordBatch)>>;

struct Kept {
    pieces: Vec<Batches>,
    /// There is room for so many more.
    rows: usize,
    bytes: usize,
}

impl Kept {
    fn has_room(&self, rows: usize) -> bool {
        self.bytes > 0 && self.rows >= rows
    }
}

struct Reader {
    source: Source,
    reading: Arc<Reading>,
    seed: u64,
    pieces: Vec<Piece>,
    kept: Mutex<Kept>,
}

impl Reader {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // no step under this lock leaves it half done
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Batches> {
        std::mem::take(&mut self.lock().pieces)
    }

    /// Keeps these rows of a piece, where there is room.
    fn keep(&self, number: usize, all: &RecordBatch) -> Result<()> {
        let count = all.num_rows();
        if !self.lock().has_room(count) {
            if let Some(batches) = self.lock().pieces.get_mut(number) {
                *batches = None;
            }
            return Ok(());
        }
        let rows = self.reading.shown(all)?;
        let first = long(rows.columns().last())?.values().first().copied();
        let bytes = rows.get_array_memory_size();
        let mut kept = self.lock();
        if let (Some(first), Some(Some(batches))) = (first, kept.pieces.get_mut(number)) {
            batches.push((first, rows));
            kept.rows = kept.rows.saturating_sub(count);
            kept.bytes = kept.bytes.saturating_sub(bytes);
        }
        Ok(())
    }
}

impl Work for Reader {
    type Unit = (usize, Arc<OpenFile>, Unit);

    fn files(&self) -> usize {
        self.pieces.len()
    }

    fn open(&self, number: usize) -> Result<Vec<Self::Unit>> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(Vec::new());
        };
        let purpose = Purpose::Values { typed: false };
        let units = units(&self.source, &self.reading, piece, purpose)?.into_iter();
        Ok(units.map(|(open, unit)| (number, open, unit)).collect())
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
            self.keep(number, &batch).map_err(at)?;
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
