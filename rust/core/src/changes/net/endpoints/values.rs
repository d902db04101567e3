//! The values of pairs of rows: read, compared, and returned from memory.
//!
//! Rows beyond the memory budget are compared by hash, and read again to be returned.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema};
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::differ::{BatchRow, differ};
use super::matcher::Pair;
use crate::changes::net::compare::LabelledPieces;
use crate::changes::net::identify::{ShareReader, invalid_columns, long};
use crate::changes::range::commits::Stamp;
use crate::changes::rows::piece::{ChangeCode, ChangeType, Piece, PieceRows};
use crate::changes::rows::read::read_pieces;
use crate::changes::rows::row_hash::hash_rows;
use crate::changes::rows::row_schema::{Purpose, ResolvedDefinition};
use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::storage::pool::pool;
use crate::storage::pool::rows::Rows;

/// The maximum number of bytes of rows that are cached from comparison until they are returned.
const MAX_CACHED_BYTES: usize = 256 << 20;

const IMAGES: [ChangeType; 2] = [ChangeType::UpdatePreimage, ChangeType::UpdatePostimage];

/// Consecutive requested rows of a piece.
#[derive(Clone, Copy)]
struct RequestedRun {
    row: u64,
    rows: u32,
    kind: RequestKind,
}

#[derive(Clone, Copy)]
enum RequestKind {
    /// Rows of pairs: the index of the first pair.
    Pairs(usize),
    /// Rows that are returned in any case.
    ReportedRows(ChangeCode),
}

/// The requested rows of one piece, ascending.
#[derive(Default)]
struct PieceRequest {
    piece: u32,
    /// 0 before, 1 after.
    side: usize,
    rows: Vec<RequestedRun>,
}

impl PieceRequest {
    fn count(&self) -> u64 {
        self.rows.iter().map(|run| u64::from(run.rows)).sum()
    }

    /// Returns the piece, of `piece_rows` rows if known, restricted to these rows.
    fn narrowed(&self, piece: &Piece, piece_rows: Option<u64>) -> Result<Piece> {
        if piece_rows == Some(self.count()) {
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

/// Requests the rows of pairs and the other reported rows of the same pieces.
fn piece_requests(
    count: usize,
    pairs: &[Pair],
    stamps: &[Stamp],
    labels: &LabelledPieces,
) -> Result<Vec<PieceRequest>> {
    let mut requests: Vec<PieceRequest> = Vec::new();
    requests.resize_with(count, PieceRequest::default);
    let mut first = 0;
    for pair in pairs {
        for (side, (piece, row)) in pair.pieces.iter().zip(pair.rows).enumerate() {
            let request = requests
                .get_mut(*piece as usize)
                .ok_or_else(invalid_columns)?;
            request.side = side;
            request.rows.push(RequestedRun {
                row,
                rows: pair.count,
                kind: RequestKind::Pairs(first),
            });
        }
        first += pair.count as usize;
    }
    for (piece, request) in (0..).zip(&mut requests) {
        request.piece = piece;
        if request.rows.is_empty() {
            continue;
        }
        for label in labels.labels(piece) {
            let stamp = stamps.partition_point(|stamp| stamp.version < label.stamp.version);
            request.rows.push(RequestedRun {
                row: label.row,
                rows: label.rows,
                kind: RequestKind::ReportedRows(
                    ChangeCode::new(label.change, stamp).ok_or_else(invalid_columns)?,
                ),
            });
        }
        if !request.rows.is_sorted_by_key(|run| run.row) {
            request.rows.sort_unstable_by_key(|run| run.row);
        }
    }
    requests.retain(|request| !request.rows.is_empty());
    Ok(requests)
}

/// Reads the rows of pairs, and labels both images of those whose values differ.
pub(super) fn label_changed(
    reader: ShareReader<'_>,
    pieces: &[Piece],
    pairs: &[Pair],
    stamps: &Arc<Vec<Stamp>>,
    labels: &mut LabelledPieces,
) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let requests = piece_requests(pieces.len(), pairs, stamps, labels)?;
    let narrowed = requests.iter().map(|request| {
        let piece = pieces
            .get(request.piece as usize)
            .ok_or_else(invalid_columns)?;
        request.narrowed(piece, labels.num_rows(request.piece))
    });
    let ShareReader {
        resolved, identity, ..
    } = reader;
    let narrowed = narrowed.collect::<Result<_>>()?;
    let budget = Mutex::new(Budget {
        rows: identity.most_rows,
        bytes: MAX_CACHED_BYTES,
    });
    let (num_columns, seed) = (resolved.table().0.fields().len(), identity.seed);
    let map = move |_, _: &Piece, batch: RecordBatch| {
        if fits(&budget, &batch) {
            return Ok(Some(ReadRows::Cached(batch)));
        }
        let columns = batch.columns().iter().take(num_columns);
        let hashes = hash_rows(columns, batch.num_rows(), seed)?;
        Ok(Some(ReadRows::Hashed(hashes)))
    };
    let purpose = |_: &Piece| Purpose::Values { typed: false };
    let mut batches = read_pieces(reader.source, resolved, narrowed, purpose, map);
    let mut read_pairs = ReadPairs::new(pairs, num_columns);
    for request in &requests {
        read_pairs.read(request, &mut batches)?;
    }
    if batches.next().is_some() {
        return Err(invalid_columns());
    }
    drop(batches);
    let changed = read_pairs.changed(identity.seed)?;
    read_pairs.label(pairs, &changed, stamps, labels)?;
    read_pairs.finish(resolved, stamps, labels)
}

struct CachedRows {
    piece: u32,
    rows: RecordBatch,
    codes: Vec<u32>,
    /// True if all requested rows of the piece are cached.
    whole: bool,
}

struct ReadPairs {
    cached: Vec<CachedRows>,
    /// The positions of the cached rows of each pair.
    locations: Vec<[BatchRow; 2]>,
    /// For each pair the exclusive or of the hashes of both rows, zero if they are equal; `None` while all
    /// rows are cached.
    hash_xors: Option<Vec<u128>>,
    num_columns: usize,
}

impl ReadPairs {
    fn new(pairs: &[Pair], num_columns: usize) -> Self {
        let rows = pairs.iter().map(|pair| pair.count as usize).sum();
        Self {
            cached: Vec::new(),
            locations: vec![[BatchRow::NONE; 2]; rows],
            hash_xors: None,
            num_columns,
        }
    }

    fn read(
        &mut self,
        request: &PieceRequest,
        batches: &mut impl Iterator<Item = Result<ReadRows>>,
    ) -> Result<()> {
        let begin = self.cached.len();
        let mut whole = true;
        let mut remaining = request.count();
        let mut rows = RequestedRows::of(&request.rows);
        while remaining > 0 {
            let count = match batches.next().ok_or_else(invalid_columns)?? {
                ReadRows::Cached(batch) => {
                    let count = batch.num_rows();
                    self.cache_batch(request, batch, &mut rows)?;
                    count
                }
                ReadRows::Hashed(hashes) => {
                    whole = false;
                    self.add_hashes(&hashes, &mut rows)?;
                    hashes.len()
                }
            };
            remaining = remaining
                .checked_sub(count as u64)
                .ok_or_else(invalid_columns)?;
        }
        for cached in self.cached.iter_mut().skip(begin) {
            cached.whole = whole;
        }
        Ok(())
    }

    fn add_hashes(&mut self, hashes: &[u128], rows: &mut RequestedRows<'_>) -> Result<()> {
        let hash_xors = self
            .hash_xors
            .get_or_insert_with(|| vec![0; self.locations.len()]);
        let mut hashes = hashes.iter();
        while let Some((kind, _, count)) = rows.next(hashes.len()) {
            let hashes = hashes.by_ref().take(count);
            if let RequestKind::Pairs(first) = kind {
                let hash_xors = hash_xors
                    .get_mut(first..first + count)
                    .ok_or_else(invalid_columns)?;
                for (xor, hash) in hash_xors.iter_mut().zip(hashes) {
                    *xor ^= *hash;
                }
            } else {
                hashes.for_each(drop);
            }
        }
        Ok(())
    }

    fn cache_batch(
        &mut self,
        request: &PieceRequest,
        batch: RecordBatch,
        rows: &mut RequestedRows<'_>,
    ) -> Result<()> {
        let batch_index = u32::try_from(self.cached.len()).map_err(|_| invalid_columns())?;
        let positions = long(batch.columns().last())?.values().clone();
        let mut codes = vec![ChangeCode::NONE.number(); batch.num_rows()];
        let mut at = 0;
        while let Some((kind, row, count)) = rows.next(codes.len() - at) {
            if positions.get(at).map(|row| row.cast_unsigned()) != Some(row) {
                return Err(invalid_columns());
            }
            match kind {
                RequestKind::ReportedRows(code) => {
                    let codes = codes.get_mut(at..at + count).ok_or_else(invalid_columns)?;
                    codes.fill(code.number());
                }
                RequestKind::Pairs(first) => {
                    let locations = self.locations.get_mut(first..first + count);
                    let locations = locations.ok_or_else(invalid_columns)?;
                    for (row, locations) in (at..).zip(locations) {
                        let row = u32::try_from(row).map_err(|_| invalid_columns())?;
                        *locations
                            .get_mut(request.side)
                            .ok_or_else(invalid_columns)? = BatchRow {
                            batch: batch_index,
                            row,
                        };
                    }
                }
            }
            at += count;
        }
        self.cached.push(CachedRows {
            piece: request.piece,
            rows: batch,
            codes,
            whole: true,
        });
        Ok(())
    }

    /// Marks the pairs whose values differ.
    fn changed(&mut self, seed: u64) -> Result<Vec<bool>> {
        let num_columns = self.num_columns;
        let Some(hash_xors) = &mut self.hash_xors else {
            let batches: Vec<&RecordBatch> =
                self.cached.iter().map(|cached| &cached.rows).collect();
            return differ(&batches, num_columns, &self.locations, seed);
        };
        let cached = &self.cached;
        let hashes: Vec<Vec<u128>> = pool()?.install(|| {
            let hashes = cached.par_iter().map(|cached| {
                let columns = cached.rows.columns().iter().take(num_columns);
                hash_rows(columns, cached.rows.num_rows(), seed)
            });
            hashes.collect::<Result<_>>()
        })?;
        for (xor, locations) in hash_xors.iter_mut().zip(&self.locations) {
            for location in locations {
                let hashes = hashes.get(location.batch as usize);
                let hash = hashes.and_then(|hashes| hashes.get(location.row as usize));
                *xor ^= hash.copied().unwrap_or(0);
            }
        }
        Ok(hash_xors.iter().map(|xor| *xor != 0).collect())
    }

    /// Labels both images of the rows that changed.
    fn label(
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
                    let cached = self.cached.get_mut(location.batch as usize);
                    if let Some(cached) = cached.filter(|cached| cached.whole) {
                        let code = ChangeCode::new(change, pair.stamp as usize)
                            .ok_or_else(invalid_columns)?;
                        let slot = cached.codes.get_mut(location.row as usize);
                        *slot.ok_or_else(invalid_columns)? = code.number();
                    } else {
                        let row = row.saturating_add(u64::from(at));
                        let stamp = stamps
                            .get(pair.stamp as usize)
                            .ok_or_else(invalid_columns)?;
                        labels.push(*piece, row, change, *stamp);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets the rows of pieces that are cached as a whole, so that they are not read again.
    fn finish(
        self,
        resolved: &ResolvedDefinition,
        stamps: &Arc<Vec<Stamp>>,
        labels: &mut LabelledPieces,
    ) -> Result<()> {
        let has_reported = |cached: &CachedRows| {
            let mut codes = cached.codes.iter();
            cached.whole && codes.any(|code| *code != ChangeCode::NONE.number())
        };
        let coded: Vec<(u32, RecordBatch)> = pool()?.install(|| {
            let cached = self.cached.into_par_iter().filter(has_reported);
            let coded = cached.map(|cached| Ok((cached.piece, cached.coded(resolved)?)));
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

impl CachedRows {
    /// Returns the rows with codes instead of positions.
    fn coded(self, resolved: &ResolvedDefinition) -> Result<RecordBatch> {
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
            .map_err(|cause| invalid_columns().because(cause))?;
        resolved.project(&rows)
    }
}

/// Iterates over requested rows, a limited number at a time.
struct RequestedRows<'a> {
    rest: std::slice::Iter<'a, RequestedRun>,
    current: Option<RequestedRun>,
}

impl<'a> RequestedRows<'a> {
    fn of(requested: &'a [RequestedRun]) -> Self {
        let mut rest = requested.iter();
        let current = rest.next().copied();
        Self { rest, current }
    }

    /// Returns at most `max_rows` consecutive rows: their kind, the first row, and the number of rows.
    fn next(&mut self, max_rows: usize) -> Option<(RequestKind, u64, usize)> {
        let current = self.current.as_mut().filter(|_| max_rows > 0)?;
        let count = max_rows.min(current.rows as usize);
        let next_rows = (current.kind, current.row, count);
        if count == current.rows as usize {
            self.current = self.rest.next().copied();
        } else {
            current.row += count as u64;
            current.rows -= u32::try_from(count).unwrap_or(current.rows);
            if let RequestKind::Pairs(first) = &mut current.kind {
                *first += count;
            }
        }
        Some(next_rows)
    }
}

struct Budget {
    rows: usize,
    bytes: usize,
}

/// Takes the rows from the budget. Once rows exceed it, returns `false` for them and all later ones, so that
/// few pieces are cached in part.
fn fits(budget: &Mutex<Budget>, rows: &RecordBatch) -> bool {
    let bytes = rows.get_array_memory_size();
    // no operation under this lock can leave the state inconsistent
    let mut budget = budget.lock().unwrap_or_else(PoisonError::into_inner);
    let rest = budget.rows.checked_sub(rows.num_rows());
    let rest = rest.zip(budget.bytes.checked_sub(bytes));
    (budget.rows, budget.bytes) = rest.unwrap_or((0, 0));
    rest.is_some()
}

enum ReadRows {
    /// Rows with their positions in the last column.
    Cached(RecordBatch),
    /// Hashes, if the budget does not suffice.
    Hashed(Vec<u128>),
}

impl Rows for ReadRows {
    fn bytes(&self) -> usize {
        match self {
            Self::Cached(rows) => rows.bytes(),
            Self::Hashed(hashes) => hashes.capacity() * size_of::<u128>(),
        }
    }
}
