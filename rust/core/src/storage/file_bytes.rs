//! The bytes of one file while it is being read.
//!
//! Local files are read by system calls, and nothing is kept. Bytes of a remote file that are kept or pending
//! are shared, and not requested again. A small file is fetched as a whole; of a larger one, the tail with
//! the footer is fetched first. Ranges that are close to each other are fetched by one request.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::failures::check_complete;
use super::request::{OnEnd, Request};
use super::{MAX_GAP_BYTES, Storage};
use crate::error::Result;

/// The maximum size of a file that is fetched by one request.
pub(crate) const MAX_SINGLE_REQUEST: u64 = 1 << 20;

/// The size of the tail of a larger file that is fetched first: footer, page index, perhaps columns.
const TAIL_BYTES: u64 = 512 << 10;

/// The number of bytes fetched first if only the footer is read.
const FOOTER_BYTES: u64 = 64 << 10;

/// Counts the bytes that a stream has fetched or requested and not yet decoded.
#[derive(Debug, Default)]
pub struct Meter {
    bytes: AtomicUsize,
    requests: AtomicUsize,
    /// Notified when a request ends, and when bytes are released.
    pub changed: Condvar,
}

impl Meter {
    /// Returns the number of bytes fetched or requested.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of pending requests.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Bytes that a meter counts until they are dropped.
#[derive(Debug)]
struct Metered {
    meter: Arc<Meter>,
    bytes: usize,
}

impl Metered {
    fn new(meter: &Arc<Meter>, bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        meter.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self {
            meter: Arc::clone(meter),
            bytes,
        }
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.meter.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.meter.changed.notify_all();
    }
}

/// A range of the file that was fetched or requested.
#[derive(Debug)]
struct Piece {
    range: Range<u64>,
    /// The request, and the index of this range in it.
    request: Arc<Request>,
    number: usize,
    /// True if it is kept after its bytes were taken.
    is_retained: bool,
    /// Counts the piece in the meter, unless `State::kept` does.
    _metered: Option<Metered>,
}

#[derive(Debug, Default)]
struct State {
    /// Sorted, without overlap.
    pieces: Vec<Piece>,
    /// The meter of the stream that reads the file.
    meter: Option<Arc<Meter>>,
    /// Counts bytes that are kept for other readers.
    kept: Option<Metered>,
    /// True if everything fetched is kept.
    keeps_all: bool,
}

/// The bytes of a file.
#[derive(Debug)]
pub struct FileBytes {
    storage: Arc<dyn Storage>,
    path: String,
    length: u64,
    is_remote: bool,
    /// True if only the footer is read.
    footer_only: bool,
    state: Mutex<State>,
}

impl FileBytes {
    /// Creates the bytes of a file of `length` bytes, without reading.
    pub fn new(storage: &Arc<dyn Storage>, path: String, length: u64) -> Self {
        Self {
            is_remote: storage.is_remote(),
            storage: Arc::clone(storage),
            path,
            length,
            footer_only: false,
            state: Mutex::default(),
        }
    }

    /// Creates the bytes of a file of which only the footer is read.
    pub fn footer_only(storage: &Arc<dyn Storage>, path: String, length: u64) -> Self {
        Self {
            footer_only: true,
            ..Self::new(storage, path, length)
        }
    }

    /// Returns the length of the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns `true` if reading requires network requests.
    pub fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Returns the range to read first: the whole file, or its tail.
    pub fn first(&self) -> Range<u64> {
        let (whole, tail) = match self.footer_only {
            true => (FOOTER_BYTES, FOOTER_BYTES),
            false => (MAX_SINGLE_REQUEST, TAIL_BYTES),
        };
        let start = if self.length <= whole {
            0
        } else {
            self.length - tail
        };
        start..self.length
    }

    /// Keeps everything that is fetched if `max_bytes` have room for the file and for what the meter counts.
    /// Otherwise, or if only the footer is read, keeps the range that is fetched first; returns `false` if
    /// there is no room for that range either.
    pub fn keep(&self, meter: &Arc<Meter>, max_bytes: usize) -> bool {
        let first = self.first();
        let room = u64::try_from(max_bytes.saturating_sub(meter.bytes())).unwrap_or(u64::MAX);
        let mut state = self.lock();
        state.keeps_all = self.length <= room && !self.footer_only;
        let bytes = match state.keeps_all {
            true => self.length,
            false => first.end - first.start,
        };
        if bytes > room {
            return false;
        }
        state.kept = Some(Metered::new(meter, bytes));
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // no operation under this lock can leave the pieces inconsistent
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the missing parts of these ranges, counted by `meter` from now on. `taken`: ranges that
    /// were taken before, in order.
    pub fn begin(&self, ranges: &[Range<u64>], taken: &[Range<u64>], meter: &Arc<Meter>) {
        let mut state = self.lock();
        state.meter = Some(Arc::clone(meter));
        self.request_missing(&mut state, ranges, taken);
    }

    /// Returns `true` if all bytes of these ranges have been fetched, or failed.
    pub fn has(&self, ranges: &[Range<u64>]) -> bool {
        let Ok(state) = self.state.try_lock() else {
            return false; // another thread begins to fetch
        };
        let ended = |range: &Range<u64>| {
            let mut pieces = state.pieces.iter();
            gaps(std::slice::from_ref(range), ranges_of(&state.pieces)).is_empty()
                && pieces.all(|piece| !overlap(&piece.range, range) || piece.request.has_ended())
        };
        ranges.iter().all(ended)
    }

    /// Returns the bytes of these ranges and keeps them; if only the footer is read, keeps only the range
    /// that was fetched first.
    pub fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if !self.is_remote {
            return self.storage.read_ranges(&self.path, ranges);
        }
        if let Some(bad) = ranges.iter().find(|range| range.start > range.end) {
            return self
                .storage
                .read_ranges(&self.path, std::slice::from_ref(bad));
        }
        let mut state = self.lock();
        self.request_missing(&mut state, ranges, &[]);
        for piece in &mut state.pieces {
            piece.is_retained |=
                !self.footer_only && ranges.iter().any(|range| overlap(&piece.range, range));
        }
        drop(state);
        let parts = self.parts(ranges)?;
        if self.footer_only {
            self.lock().pieces.retain(|piece| piece.is_retained);
        }
        ranges
            .iter()
            .map(|range| bytes_of_range(&parts, range, &self.path))
            .collect()
    }

    /// Returns pieces that contain these ranges, with their offsets, and releases those that are not kept.
    /// `taken`: ranges that were taken before, in order.
    pub fn take(&self, ranges: &[Range<u64>], taken: &[Range<u64>]) -> Result<Vec<(u64, Bytes)>> {
        let starts = ranges.iter().map(|range| range.start);
        if !self.is_remote {
            let bytes = self.storage.read_ranges(&self.path, ranges)?;
            return Ok(starts.zip(bytes).collect());
        }
        self.request_missing(&mut self.lock(), ranges, taken);
        let mut parts = self.parts(ranges)?;
        // merge a range that spans several pieces
        for range in ranges {
            let at = parts.partition_point(|(start, _)| *start <= range.start);
            let Some((start, bytes)) = at.checked_sub(1).and_then(|at| parts.get(at)) else {
                continue;
            };
            let whole = *start..range.end;
            if start + (bytes.len() as u64) < range.end {
                let bytes = bytes_of_range(&parts, &whole, &self.path)?;
                if let Some(part) = parts.get_mut(at - 1) {
                    part.1 = bytes;
                }
            }
        }
        let is_taken = |piece: &Piece| ranges.iter().any(|range| overlap(&piece.range, range));
        let mut state = self.lock();
        if !state.keeps_all {
            state
                .pieces
                .retain(|piece| piece.is_retained || !is_taken(piece));
        }
        Ok(parts)
    }

    /// Waits for these ranges, and returns the pieces that contain them.
    fn parts(&self, ranges: &[Range<u64>]) -> Result<Vec<(u64, Bytes)>> {
        let needed: Vec<(Range<u64>, Arc<Request>, usize)> = {
            let state = self.lock();
            let overlaps = |piece: &&Piece| ranges.iter().any(|range| overlap(&piece.range, range));
            let pieces = state.pieces.iter().filter(overlaps);
            pieces
                .map(|piece| {
                    (
                        piece.range.clone(),
                        Arc::clone(&piece.request),
                        piece.number,
                    )
                })
                .collect()
        };
        let mut parts = Vec::with_capacity(needed.len());
        for (range, request, number) in needed {
            let bytes = request.wait()?.into_iter().nth(number).unwrap_or_default();
            check_complete(&self.path, bytes.len(), range.end - range.start)?;
            parts.push((range.start, bytes));
        }
        Ok(parts)
    }

    fn request_missing(&self, state: &mut State, ranges: &[Range<u64>], taken: &[Range<u64>]) {
        let pieces = &mut state.pieces;
        let first = self.first();
        let begins = pieces.is_empty() && taken.is_empty();
        let mut needed = ranges.to_vec();
        if begins && ranges.iter().any(|range| overlap(&first, range)) {
            needed.push(first.clone());
        }
        let missing = gaps(&needed, ranges_of(pieces));
        if missing.is_empty() {
            return;
        }
        let is_separated = |between: &Range<u64>| {
            let mut earlier = ranges_of(pieces).chain(taken);
            earlier.any(|range| overlap(range, between))
        };
        let requests = merge_close(missing, is_separated);
        let meter = state.meter.as_ref();
        let on_end: OnEnd = match meter {
            None => Box::new(|| {}),
            Some(meter) => {
                let meter = Arc::clone(meter);
                meter.requests.fetch_add(1, Ordering::Relaxed);
                Box::new(move || {
                    meter.requests.fetch_sub(1, Ordering::Relaxed);
                    meter.changed.notify_all();
                })
            }
        };
        let request = self.storage.begin_read(&self.path, &requests, on_end);
        let request = Arc::new(request);
        for (number, range) in requests.into_iter().enumerate() {
            let is_retained = begins && overlap(&range, &first);
            let is_counted = state.keeps_all || (state.kept.is_some() && is_retained);
            let meter = meter.filter(|_| !is_counted);
            pieces.push(Piece {
                is_retained,
                request: Arc::clone(&request),
                _metered: meter.map(|meter| Metered::new(meter, range.end - range.start)),
                number,
                range,
            });
        }
        pieces.sort_unstable_by_key(|piece| piece.range.start);
    }
}

pub(super) fn overlap(range: &Range<u64>, other: &Range<u64>) -> bool {
    range.start < other.end && other.start < range.end
}

fn ranges_of(pieces: &[Piece]) -> impl Iterator<Item = &Range<u64>> + Clone {
    pieces.iter().map(|piece| &piece.range)
}

/// Returns the parts of these ranges that the pieces lack, in order and without overlap. The pieces are
/// sorted by their start.
pub(super) fn gaps<'a>(
    ranges: &[Range<u64>],
    pieces: impl Iterator<Item = &'a Range<u64>> + Clone,
) -> Vec<Range<u64>> {
    let mut sorted: Vec<&Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut gaps: Vec<Range<u64>> = Vec::new();
    let mut at = 0; // everything before it is done
    for range in sorted {
        at = at.max(range.start);
        for piece in pieces.clone().filter(|piece| overlap(piece, range)) {
            if at < piece.start {
                gaps.push(at..piece.start);
            }
            at = at.max(piece.end);
        }
        if at < range.end {
            gaps.push(at..range.end);
            at = range.end;
        }
    }
    gaps
}

/// Returns the ranges to fetch, in order: without overlaps and empty ones, close ones merged.
pub(super) fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    merge_close(gaps(ranges, std::iter::empty()), |_| false)
}

/// Merges ranges with at most [`MAX_GAP_BYTES`] bytes between them, unless `is_separated` returns `true` for
/// the range in between.
pub(super) fn merge_close(
    ranges: Vec<Range<u64>>,
    is_separated: impl Fn(&Range<u64>) -> bool,
) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last)
                if range.start <= last.end.saturating_add(MAX_GAP_BYTES)
                    && !is_separated(&(last.end..range.start)) =>
            {
                last.end = range.end;
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the bytes of a range from sorted pieces.
pub(super) fn bytes_of_range(
    parts: &[(u64, Bytes)],
    range: &Range<u64>,
    path: &str,
) -> Result<Bytes> {
    let size = |from: u64, to: u64| usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    let length = size(range.start, range.end);
    let from = parts.partition_point(|(start, _)| *start <= range.start);
    let parts = parts.get(from.saturating_sub(1)..).unwrap_or_default();
    if let Some((start, bytes)) = parts.first() {
        let within = size(*start, range.start);
        if let Some(end) = within.checked_add(length)
            && end <= bytes.len()
        {
            return Ok(bytes.slice(within..end));
        }
    }
    let mut whole = BytesMut::with_capacity(length);
    for (start, bytes) in parts {
        let next = range.start + whole.len() as u64;
        let rest = bytes.get(size(*start, next)..).unwrap_or_default();
        let left = rest.len().min(length - whole.len());
        whole.extend_from_slice(rest.get(..left).unwrap_or_default());
    }
    check_complete(path, whole.len(), range.end - range.start)?;
    Ok(whole.freeze())
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests;
