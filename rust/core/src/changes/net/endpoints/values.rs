//! The values of pairs of rows: read once, compared, and returned from memory.
//!
//! If the budget does not suffice, the remaining rows are compared by hash, and read again to be returned.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, Field, Schema};
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::differ::{BatchRow, differ};
use super::matched::Pair;
use crate::changes::net::compare::LabelledPieces;
use crate::changes::net::identify::{ShareReader, long, missing_columns};
use crate::changes::range::commits::Stamp;
use crate::changes::rows::piece::{ChangeCode, ChangeType, Piece, PieceRows};
use crate::changes::rows::read::read_pieces;
use crate::changes::rows::row_hash::hash_rows;
use crate::changes::rows::row_schema::{Purpose, Reading};
use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::storage::pool::pool;
use crate::storage::pool::rows::Rows;

/// Rows that were read for comparison are kept to be returned, up to this many bytes.
const KEPT_BYTES: usize = 256 << 20;

const IMAGES: [ChangeType; 2] = [ChangeType::UpdatePreimage, ChangeType::UpdatePostimage];

/// The requested rows of a piece.
#[derive(Clone, Copy)]
struct RequestedRows {
    row: u64,
    rows: u32,
    what: RequestKind,
}

#[derive(Clone, Copy)]
enum RequestKind {
    /// Rows of pairs: the index of the first one among all.
    Pairs(usize),
    /// Rows that are returned in any case.
    ReportedRows(ChangeCode),
}

/// The requested rows of one piece, ascending.
#[derive(Default)]
struct RowsOfPiece {
    piece: u32,
    /// 0 before, 1 now.
    side: usize,
    rows: Vec<RequestedRows>,
}

impl RowsOfPiece {
    fn count(&self) -> u64 {
        self.rows.iter().map(|run| u64::from(run.rows)).sum()
    }

    /// Returns the piece restricted to these rows.
    fn narrowed(&self, piece: &Piece, all: Option<u64>) -> Result<Piece> {
        if all == Some(self.count()) {
            return Ok(piece.clone());
        }
        let rows = self.rows.iter();
        let rows = rows.flat_map(|run| run.row..run.row.saturating_add(run.rows.into()));
        Ok(Piece {
            rows: PieceRows::Only(Arc::new(DeletionVector::from_rows(rows)?)),
            ..piece.clone()
        })
    }
}

/// Returns the rows of pairs and the other reported rows of the same pieces, by piece.
fn requested_rows(
    count: usize,
    pairs: &[Pair],
    stamps: &[Stamp],
    labels: &LabelledPieces,
) -> Result<Vec<RowsOfPiece>> {
    let mut of_pieces: Vec<RowsOfPiece> = Vec::new();
    of_pieces.resize_with(count, RowsOfPiece::default);
    let mut first = 0;
    for pair in pairs {
        for (side, (piece, row)) in pair.pieces.iter().zip(pair.rows).enumerate() {
            let of_piece = of_pieces
                .get_mut(*piece as usize)
                .ok_or_else(missing_columns)?;
            of_piece.side = side;
            of_piece.rows.push(RequestedRows {
                row,
                rows: pair.count,
                what: RequestKind::Pairs(first),
            });
        }
        first += pair.count as usize;
    }
    for (piece, of_piece) in (0..).zip(&mut of_pieces) {
        of_piece.piece = piece;
        if of_piece.rows.is_empty() {
            continue;
        }
        for label in labels.labels(piece) {
            let stamp = stamps.partition_point(|stamp| stamp.version < label.stamp.version);
            of_piece.rows.push(RequestedRows {
                row: label.row,
                rows: label.rows,
                what: RequestKind::ReportedRows(
                    ChangeCode::new(label.change, stamp).ok_or_else(missing_columns)?,
                ),
            });
        }
        if !of_piece.rows.is_sorted_by_key(|run| run.row) {
            of_piece.rows.sort_unstable_by_key(|run| run.row);
        }
    }
    of_pieces.retain(|of_piece| !of_piece.rows.is_empty());
    Ok(of_pieces)
}

/// Reads the rows of pairs, and labels both images of those whose values differ.
pub(super) fn show_changed(
    rows: ShareReader<'_>,
    pieces: &[Piece],
    pairs: &[Pair],
    stamps: &Arc<Vec<Stamp>>,
    labels: &mut LabelledPieces,
) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let requested = requested_rows(pieces.len(), pairs, stamps, labels)?;
    let narrowed = requested.iter().map(|of_piece| {
        let piece = pieces
            .get(of_piece.piece as usize)
            .ok_or_else(missing_columns)?;
        of_piece.narrowed(piece, labels.rows(of_piece.piece))
    });
    let ShareReader {
        reading, identity, ..
    } = rows;
    let narrowed = narrowed.collect::<Result<_>>()?;
    let budget = Mutex::new(Budget {
        rows: identity.most_rows,
        bytes: KEPT_BYTES,
    });
    let (own, seed) = (reading.table().0.fields().len(), identity.seed);
    let map = move |_, _: &Piece, batch: RecordBatch| {
        if fits(&budget, &batch) {
            return Ok(Some(ReadRows::Kept(batch)));
        }
        let columns = batch.columns().iter().take(own);
        let numbers = hash_rows(columns, batch.num_rows(), seed)?;
        Ok(Some(ReadRows::Hashed(numbers)))
    };
    let purpose = |_: &Piece| Purpose::Values { typed: false };
    let mut batches = read_pieces(rows.source, reading, narrowed, purpose, map);
    let mut read_pairs = ReadPairs::new(pairs, own);
    for of_piece in &requested {
        read_pairs.read(of_piece, &mut batches)?;
    }
    if batches.next().is_some() {
        return Err(missing_columns());
    }
    drop(batches);
    let changed = read_pairs.changed(identity.seed)?;
    read_pairs.show(pairs, &changed, stamps, labels)?;
    read_pairs.finish(reading, stamps, labels)
}

/// Rows kept in memory.
struct Kept {
    piece: u32,
    rows: RecordBatch,
    codes: Vec<u32>,
    /// True if all rows of the piece are kept.
    whole: bool,
}

/// The rows of the pairs, as read.
struct ReadPairs {
    kept: Vec<Kept>,
    /// The positions of the kept rows of each pair.
    locations: Vec<[BatchRow; 2]>,
    /// The hashes of the pairs that are not kept, once there is one: zero if both rows are equal.
    sums: Option<Vec<u128>>,
    /// The number of columns to compare.
    own: usize,
}

impl ReadPairs {
    fn new(pairs: &[Pair], own: usize) -> Self {
        let rows = pairs.iter().map(|pair| pair.count as usize).sum();
        Self {
            kept: Vec::new(),
            locations: vec![[BatchRow::NONE; 2]; rows],
            sums: None,
            own,
        }
    }

    /// Reads the batches of one piece.
    fn read(
        &mut self,
        of_piece: &RowsOfPiece,
        batches: &mut impl Iterator<Item = Result<ReadRows>>,
    ) -> Result<()> {
        let begin = self.kept.len();
        let mut whole = true;
        let mut left = of_piece.count();
        let mut rows = Runs::of(&of_piece.rows);
        while left > 0 {
            let count = match batches.next().ok_or_else(missing_columns)?? {
                ReadRows::Kept(batch) => {
                    let count = batch.num_rows();
                    self.keep(of_piece, batch, &mut rows)?;
                    count
                }
                ReadRows::Hashed(numbers) => {
                    whole = false;
                    self.add(&numbers, &mut rows)?;
                    numbers.len()
                }
            };
            left = left.checked_sub(count as u64).ok_or_else(missing_columns)?;
        }
        for kept in self.kept.iter_mut().skip(begin) {
            kept.whole = whole;
        }
        Ok(())
    }

    fn add(&mut self, numbers: &[u128], rows: &mut Runs<'_>) -> Result<()> {
        let sums = self
            .sums
            .get_or_insert_with(|| vec![0; self.locations.len()]);
        let mut numbers = numbers.iter();
        while let Some((what, _, count)) = rows.next(numbers.len()) {
            let numbers = numbers.by_ref().take(count);
            if let RequestKind::Pairs(first) = what {
                let sums = sums
                    .get_mut(first..first + count)
                    .ok_or_else(missing_columns)?;
                for (sum, number) in sums.iter_mut().zip(numbers) {
                    *sum ^= *number;
                }
            } else {
                numbers.for_each(drop);
            }
        }
        Ok(())
    }

    fn keep(
        &mut self,
        of_piece: &RowsOfPiece,
        batch: RecordBatch,
        rows: &mut Runs<'_>,
    ) -> Result<()> {
        let number = u32::try_from(self.kept.len()).map_err(|_| missing_columns())?;
        let positions = long(batch.columns().last())?.values().clone();
        let mut codes = vec![ChangeCode::NONE.number(); batch.num_rows()];
        let mut at = 0;
        while let Some((what, row, count)) = rows.next(codes.len() - at) {
            if positions.get(at).map(|row| row.cast_unsigned()) != Some(row) {
                return Err(missing_columns());
            }
            match what {
                RequestKind::ReportedRows(code) => {
                    let codes = codes.get_mut(at..at + count).ok_or_else(missing_columns)?;
                    codes.fill(code.number());
                }
                RequestKind::Pairs(first) => {
                    let locations = self.locations.get_mut(first..first + count);
                    let locations = locations.ok_or_else(missing_columns)?;
                    for (row, locations) in (at..).zip(locations) {
                        let row = u32::try_from(row).map_err(|_| missing_columns())?;
                        *locations
                            .get_mut(of_piece.side)
                            .ok_or_else(missing_columns)? = BatchRow { batch: number, row };
                    }
                }
            }
            at += count;
        }
        self.kept.push(Kept {
            piece: of_piece.piece,
            rows: batch,
            codes,
            whole: true,
        });
        Ok(())
    }

    /// Marks the pairs whose values differ.
    fn changed(&mut self, seed: u64) -> Result<Vec<bool>> {
        let own = self.own;
        let Some(sums) = &mut self.sums else {
            let batches: Vec<&RecordBatch> = self.kept.iter().map(|kept| &kept.rows).collect();
            return differ(&batches, own, &self.locations, seed);
        };
        let kept = &self.kept;
        let numbers: Vec<Vec<u128>> = pool()?.install(|| {
            let numbers = kept.par_iter().map(|kept| {
                let columns = kept.rows.columns().iter().take(own);
                hash_rows(columns, kept.rows.num_rows(), seed)
            });
            numbers.collect::<Result<_>>()
        })?;
        for (sum, locations) in sums.iter_mut().zip(&self.locations) {
            for location in locations {
                let numbers = numbers.get(location.batch as usize);
                let number = numbers.and_then(|numbers| numbers.get(location.row as usize));
                *sum ^= number.copied().unwrap_or(0);
            }
        }
        Ok(sums.iter().map(|sum| *sum != 0).collect())
    }

    /// Labels both images of the rows that changed.
    fn show(
        &mut self,
        pairs: &[Pair],
        changed: &[bool],
        stamps: &[Stamp],
        labels: &mut LabelledPieces,
    ) -> Result<()> {
        let mut rows = self.locations.iter().zip(changed);
        for pair in pairs {
            let positions = pair.pieces.iter().zip(pair.rows);
            let images = IMAGES.into_iter().zip(positions);
            for (at, (locations, changed)) in (0..pair.count).zip(&mut rows) {
                if !changed {
                    continue;
                }
                for (location, (change, (piece, row))) in locations.iter().zip(images.clone()) {
                    let kept = self.kept.get_mut(location.batch as usize);
                    if let Some(kept) = kept.filter(|kept| kept.whole) {
                        let code = ChangeCode::new(change, pair.stamp as usize)
                            .ok_or_else(missing_columns)?;
                        let slot = kept.codes.get_mut(location.row as usize);
                        *slot.ok_or_else(missing_columns)? = code.number();
                    } else {
                        let row = row.saturating_add(u64::from(at));
                        let stamp = stamps
                            .get(pair.stamp as usize)
                            .ok_or_else(missing_columns)?;
                        labels.push(*piece, row, change, *stamp);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns pieces that are kept as a whole from memory.
    fn finish(
        self,
        reading: &Reading,
        stamps: &Arc<Vec<Stamp>>,
        labels: &mut LabelledPieces,
    ) -> Result<()> {
        let shows = |kept: &Kept| {
            let mut codes = kept.codes.iter();
            kept.whole && codes.any(|code| *code != ChangeCode::NONE.number())
        };
        let coded: Vec<(u32, RecordBatch)> = pool()?.install(|| {
            let kept = self.kept.into_par_iter().filter(shows);
            let coded = kept.map(|kept| Ok((kept.piece, kept.coded(reading)?)));
            coded.collect::<Result<_>>()
        })?;
        for rows in coded.chunk_by(|(left, _), (right, _)| left == right) {
            if let Some((piece, _)) = rows.first() {
                let rows = rows.iter().map(|(_, rows)| rows.clone()).collect();
                labels.set_read(*piece, rows, Arc::clone(stamps));
            }
        }
        Ok(())
    }
}

impl Kept {
    /// Returns the rows with codes instead of positions.
    fn coded(self, reading: &Reading) -> Result<RecordBatch> {
        let columns_mismatch = |cause: ArrowError| missing_columns().because(cause);
        let mut fields = self.rows.schema().fields().to_vec();
        let mut columns = self.rows.columns().to_vec();
        let codes: ArrayRef = Arc::new(UInt32Array::from(self.codes));
        fields.pop();
        columns.pop();
        fields.push(Arc::new(Field::new(
            "code",
            codes.data_type().clone(),
            false,
        )));
        columns.push(codes);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(columns_mismatch)?;
        reading.project(&rows)
    }
}

/// Iterates over requested rows, a limited number at a time.
struct Runs<'a> {
    rest: std::slice::Iter<'a, RequestedRows>,
    current: Option<RequestedRows>,
}

impl<'a> Runs<'a> {
    fn of(requested: &'a [RequestedRows]) -> Self {
        let mut rest = requested.iter();
        let current = rest.next().copied();
        Self { rest, current }
    }

    /// Returns at most `max_rows` consecutive rows: the purpose, the first row, and the number of rows.
    fn next(&mut self, max_rows: usize) -> Option<(RequestKind, u64, usize)> {
        let current = self.current.as_mut().filter(|_| max_rows > 0)?;
        let count = max_rows.min(current.rows as usize);
        let next_rows = (current.what, current.row, count);
        if count == current.rows as usize {
            self.current = self.rest.next().copied();
        } else {
            current.row += count as u64;
            current.rows -= u32::try_from(count).unwrap_or(current.rows);
            if let RequestKind::Pairs(first) = &mut current.what {
                *first += count;
            }
        }
        Some(next_rows)
    }
}

/// The remaining budget of rows and bytes.
struct Budget {
    rows: usize,
    bytes: usize,
}

/// Takes the rows from the budget; returns `false` from the first ones on that exceed it, so that few
/// pieces are kept in part.
fn fits(budget: &Mutex<Budget>, rows: &RecordBatch) -> bool {
    let bytes = rows.get_array_memory_size();
    // no operation under this lock can leave the state inconsistent
    let mut budget = budget.lock().unwrap_or_else(PoisonError::into_inner);
    let rest = budget.rows.checked_sub(rows.num_rows());
    let rest = rest.zip(budget.bytes.checked_sub(bytes));
    (budget.rows, budget.bytes) = rest.unwrap_or((0, 0));
    rest.is_some()
}

/// The rows read of a piece.
enum ReadRows {
    /// Rows with their positions in the last column.
    Kept(RecordBatch),
    /// Hashes, if the budget does not suffice.
    Hashed(Vec<u128>),
}

impl Rows for ReadRows {
    fn bytes(&self) -> usize {
        match self {
            Self::Kept(rows) => rows.bytes(),
            Self::Hashed(numbers) => numbers.capacity() * size_of::<u128>(),
        }
    }
}
