//! Rows of many data files as one stream: files and row groups are read in parallel, and returned in order.
//!
//! A few threads take units of work from the front of one queue. The unit that the caller waits for always
//! proceeds; the others wait while the bytes held exceed [`ReadAheadLimits::bytes`]. The threads belong to
//! the stream and end with it.
//!
//! For remote files, fetching is a separate stage: an additional thread adds files to the queue and starts
//! to fetch the ranges that files and units need; the others take the first task whose bytes have arrived.
//! Fetched bytes count like decoded ones.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::{WAIT, catch_panic, start, threads};
use crate::error::{Error, Result};
use crate::storage::{FileBytes, Meter, interrupt};

/// The number of queued files and units per pending request; they need little memory.
const QUEUED: usize = 4;

/// The index of a file, and the index of the unit in the file.
type UnitId = (usize, usize);

/// Rows in memory.
pub trait Rows: Send + 'static {
    /// Returns the size of the rows in bytes.
    fn bytes(&self) -> usize;
}

impl Rows for RecordBatch {
    fn bytes(&self) -> usize {
        self.get_array_memory_size()
    }
}

/// Passes on one batch; fails if the consumer is gone.
pub type Emit<'a, R = RecordBatch> = dyn FnMut(R) -> Result<()> + 'a;

/// Ranges of a file to fetch before they are needed.
#[derive(Clone, Debug)]
pub struct Prefetch {
    /// The remote file.
    pub bytes: Arc<FileBytes>,
    /// The ranges needed.
    pub ranges: Vec<Range<u64>>,
    /// The ranges taken before, in order.
    pub taken: Vec<Range<u64>>,
}

/// Work in two steps: opening a file, which yields its units, and reading each unit, which yields batches.
pub trait Work: Send + Sync + 'static {
    /// A unit of an open file.
    type Unit: Send + 'static;
    /// The batches of a unit.
    type Batch: Rows;

    /// Returns the number of files.
    fn files(&self) -> usize;

    /// Returns the maximum number of pending requests; `None` if nothing is fetched ahead.
    fn max_requests(&self) -> Option<usize>;

    /// Returns the bytes of a remote file, before it is opened.
    fn bytes(&self, file: usize) -> Option<Arc<FileBytes>>;

    /// Opens a file, whose bytes may still be arriving.
    fn open(&self, file: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<Self::Unit>>;

    /// Returns the ranges that a unit of a remote file needs next.
    fn prefetch(&self, unit: &Self::Unit) -> Option<Prefetch>;

    /// Reads a unit. Returns its rest if that requires bytes that have not arrived.
    fn read(
        &self,
        unit: Self::Unit,
        emit: &mut Emit<'_, Self::Batch>,
    ) -> Result<Option<Self::Unit>>;

    /// Returns `true` if the stream continues with the next file after this one failed. The rows returned
    /// before are not withdrawn.
    fn continues_after(&self, file: usize, error: &Error) -> bool;
}

/// The limits of reading ahead of the caller.
#[derive(Clone, Copy, Debug)]
pub struct ReadAheadLimits {
    /// The maximum number of bytes fetched or decoded and not yet taken.
    pub bytes: usize,
    /// The number of threads.
    pub threads: usize,
}

impl Default for ReadAheadLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            threads: threads(),
        }
    }
}

enum Task<U> {
    Open(Option<Arc<FileBytes>>),
    Read(U),
}

struct Queued<U> {
    id: UnitId,
    task: Task<U>,
    prefetch: Option<Prefetch>,
    /// The number of its ranges whose fetch has started.
    started: usize,
    /// True if the fetch of all ranges has started.
    is_started: bool,
}

impl<U> Queued<U> {
    fn new(id: UnitId, task: Task<U>, prefetch: Option<Prefetch>) -> Self {
        Self {
            id,
            task,
            prefetch,
            started: 0,
            is_started: false,
        }
    }

    /// Returns `true` if its bytes have arrived.
    fn is_ready(&self) -> bool {
        let has = |prefetch: &Prefetch| self.is_started && prefetch.bytes.has(&prefetch.ranges);
        self.prefetch.as_ref().is_none_or(has)
    }

    /// Returns the ranges to fetch now, of at most `max_bytes` bytes; the first range may have more if it
    /// `may_exceed` them. `None` if nothing is to be fetched ahead.
    fn begin(&mut self, max_bytes: usize, may_exceed: bool) -> Option<Prefetch> {
        let Some(prefetch) = &self.prefetch else {
            self.is_started = true;
            return None;
        };
        let mut left = max_bytes;
        let mut ranges = Vec::new();
        for range in prefetch.ranges.iter().skip(self.started) {
            let bytes = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            if bytes > left && !(may_exceed && ranges.is_empty()) {
                break;
            }
            left = left.saturating_sub(bytes);
            ranges.push(range.clone());
        }
        self.started += ranges.len();
        self.is_started = self.started == prefetch.ranges.len();
        Some(Prefetch {
            bytes: Arc::clone(&prefetch.bytes),
            ranges,
            taken: prefetch.taken.clone(),
        })
    }
}

/// The results of a file or a unit that are not yet taken.
struct Slot<R> {
    batches: VecDeque<R>,
    /// The bytes fetched for it and not yet decoded.
    fetched: usize,
    done: bool,
    error: Option<Error>,
}

impl<R> Default for Slot<R> {
    fn default() -> Self {
        Self {
            batches: VecDeque::new(),
            fetched: 0,
            done: false,
            error: None,
        }
    }
}

struct State<W: Work> {
    /// The tasks that no thread has taken yet, in the order of files and units.
    queue: VecDeque<Queued<W::Unit>>,
    /// Files and units that are queued or being read, or whose results wait to be taken.
    slots: BTreeMap<UnitId, Slot<W::Batch>>,
    next_file: usize,
    waiting_bytes: usize,
    /// The number of threads that read units; they may wait until the caller takes batches.
    reading: usize,
}

impl<W: Work> State<W> {
    /// Returns the unit that the caller waits for.
    fn first(&self) -> Option<UnitId> {
        self.slots.first_key_value().map(|(id, _)| *id)
    }

    /// Returns the first task whose bytes have arrived. One thread is reserved for the tasks before it.
    fn ready(&self, threads: usize) -> Option<usize> {
        let overtakes = self.reading + 1 < threads;
        let is_allowed = |(at, queued): &(usize, &Queued<W::Unit>)| {
            *at == 0 || overtakes || matches!(queued.task, Task::Open(_))
        };
        let mut queue = self.queue.iter().enumerate().filter(is_allowed);
        queue
            .find(|(_, queued)| queued.is_ready())
            .map(|(at, _)| at)
    }
}

struct Shared<W: Work> {
    work: W,
    limits: ReadAheadLimits,
    state: Mutex<State<W>>,
    /// Counts the bytes fetched ahead.
    meter: Arc<Meter>,
    /// Set while the state is locked.
    cancelled: Arc<AtomicBool>,
}

impl<W: Work> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        // no operation under this lock can leave the state inconsistent
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Ends the threads, even those that wait for bytes.
    fn cancel(&self) {
        let state = self.lock();
        self.cancelled.store(true, Ordering::Relaxed);
        drop(state);
        self.meter.changed.notify_all();
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<W>>) -> MutexGuard<'a, State<W>> {
        let waited = self.meter.changed.wait_timeout(state, WAIT);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns `true` if more may be decoded.
    fn has_room(&self, state: &State<W>) -> bool {
        state.waiting_bytes.saturating_add(self.meter.bytes()) < self.limits.bytes
    }

    /// Returns the next task and creates its slot; `None` at the end.
    fn take(&self) -> Option<(UnitId, Task<W::Unit>)> {
        let reads_on_demand = self.work.max_requests().is_none();
        let mut state = self.lock();
        loop {
            if self.is_cancelled() {
                return None;
            }
            // units of open files come before new files; only the unit that the caller waits for exceeds the
            // limit
            let ready = state.ready(self.limits.threads);
            let id = |at: usize| state.queue.get(at).map(|queued| queued.id);
            let awaited = ready.is_none_or(|at| id(at) == state.first());
            if awaited || self.has_room(&state) {
                if let Some(Queued { id, task, .. }) = ready.and_then(|at| state.queue.remove(at)) {
                    state.slots.entry(id).or_default().fetched = 0;
                    state.reading += usize::from(matches!(task, Task::Read(_)));
                    return Some((id, task));
                }
                let rest = state.next_file < self.work.files();
                if rest && reads_on_demand && (state.slots.is_empty() || self.has_room(&state)) {
                    let id = (state.next_file, 0);
                    state.next_file += 1;
                    state.slots.entry(id).or_default();
                    return Some((id, Task::Open(None)));
                }
                let opening = state.slots.values().any(|slot| !slot.done);
                if !rest && !opening {
                    return None;
                }
            }
            state = self.wait(state);
        }
    }

    fn run(&self) {
        interrupt::stop_by(Arc::clone(&self.cancelled));
        while let Some((id, task)) = self.take() {
            let reads = matches!(task, Task::Read(_));
            let worked = catch_panic(|| match task {
                Task::Open(bytes) => self.open(id, bytes).map(|()| None),
                Task::Read(unit) => self.work.read(unit, &mut |batch| self.emit(id, batch)),
            });
            let rest = worked.map(|unit| {
                let prefetch = unit.as_ref().and_then(|unit| self.work.prefetch(unit));
                unit.map(|unit| Queued::new(id, Task::Read(unit), prefetch))
            });
            let mut state = self.lock();
            state.reading -= usize::from(reads);
            if let Some(slot) = state.slots.get_mut(&id) {
                slot.done = !matches!(rest, Ok(Some(_)));
                match rest {
                    Ok(Some(rest)) => {
                        let at = state.queue.partition_point(|queued| queued.id < id);
                        state.queue.insert(at, rest);
                    }
                    Ok(None) => {}
                    Err(error) => slot.error = Some(error),
                }
            }
            drop(state);
            self.meter.changed.notify_all();
        }
    }

    /// Starts to fetch the ranges that tasks need, in order, until all files are open.
    fn fetch(&self, max_requests: usize) {
        interrupt::stop_by(Arc::clone(&self.cancelled));
        let mut state = self.lock();
        while !self.is_cancelled() {
            let next = state.queue.iter().position(|queued| !queued.is_started);
            let next_id = next
                .and_then(|at| state.queue.get(at))
                .map(|queued| queued.id);
            let awaited = state.slots.is_empty() || next_id == state.first();
            let (fetched, half) = (self.meter.bytes(), self.limits.bytes / 2);
            // the task that the caller waits for does not delay the tasks after it
            let first = state.slots.first_key_value();
            let ahead = fetched.saturating_sub(first.map_or(0, |(_, slot)| slot.fetched));
            let held = state.waiting_bytes.saturating_add(fetched);
            let max_bytes = half
                .saturating_sub(ahead)
                .min(self.limits.bytes.saturating_sub(held));
            let room = max_bytes > 0
                && self.meter.requests() < max_requests
                && state.queue.len() < max_requests.saturating_mul(QUEUED);
            if awaited || room {
                if let Some(queued) = next.and_then(|at| state.queue.get_mut(at)) {
                    let max_bytes = if awaited { usize::MAX } else { max_bytes };
                    let id = queued.id;
                    match queued.begin(max_bytes, fetched < half) {
                        None => continue,
                        Some(part) if part.ranges.is_empty() && !queued.is_started => {
                            state = self.wait(state);
                            continue;
                        }
                        Some(part) => {
                            drop(state);
                            part.bytes.begin(&part.ranges, &part.taken, &self.meter);
                            self.meter.changed.notify_all();
                            state = self.lock();
                            let bytes = self.meter.bytes().saturating_sub(fetched);
                            if let Some(slot) = state.slots.get_mut(&id) {
                                slot.fetched = slot.fetched.saturating_add(bytes);
                            }
                        }
                    }
                    continue;
                }
                if state.next_file < self.work.files() {
                    let id = (state.next_file, 0);
                    state.next_file += 1;
                    state.slots.entry(id).or_default();
                    drop(state);
                    let bytes = self.work.bytes(id.0);
                    let prefetch = bytes.as_ref().map(|bytes| Prefetch {
                        ranges: vec![bytes.first()],
                        taken: Vec::new(),
                        bytes: Arc::clone(bytes),
                    });
                    state = self.lock();
                    // units of earlier files that were opened meanwhile come first
                    let at = state.queue.partition_point(|queued| queued.id < id);
                    let queued = Queued::new(id, Task::Open(bytes), prefetch);
                    state.queue.insert(at, queued);
                    continue;
                }
                if next.is_none() && state.slots.values().all(|slot| slot.done) {
                    return;
                }
            }
            state = self.wait(state);
        }
    }

    /// Opens a file, and adds its units to the queue, before those of later files.
    fn open(&self, (file, _): UnitId, bytes: Option<Arc<FileBytes>>) -> Result<()> {
        let units = self.work.open(file, bytes)?.into_iter().enumerate();
        let units: Vec<Queued<W::Unit>> = units
            .map(|(number, unit)| {
                let prefetch = self.work.prefetch(&unit);
                Queued::new((file, number + 1), Task::Read(unit), prefetch)
            })
            .collect();
        let mut state = self.lock();
        // waiting units of earlier files come first
        let at = state.queue.partition_point(|queued| queued.id.0 < file);
        for (number, queued) in units.into_iter().enumerate() {
            state.slots.entry(queued.id).or_default();
            state.queue.insert(at + number, queued);
        }
        Ok(())
    }

    fn emit(&self, id: UnitId, batch: W::Batch) -> Result<()> {
        let bytes = batch.bytes();
        let mut state = self.lock();
        loop {
            if self.is_cancelled() {
                return Err(Error::interrupted());
            }
            if state.first() == Some(id) || self.has_room(&state) {
                break;
            }
            state = self.wait(state);
        }
        let Some(slot) = state.slots.get_mut(&id) else {
            return Err(Error::interrupted()); // the file failed elsewhere and is skipped
        };
        slot.batches.push_back(batch);
        state.waiting_bytes = state.waiting_bytes.saturating_add(bytes);
        drop(state);
        self.meter.changed.notify_all();
        Ok(())
    }
}

/// The batches of all files, in order.
pub struct OrderedRows<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Vec<JoinHandle<()>>,
    started: bool,
    done: bool,
}

impl<W: Work> OrderedRows<W> {
    /// Creates the stream; nothing is read before the first batch is requested.
    pub fn new(work: W, limits: ReadAheadLimits) -> Self {
        let state = State {
            queue: VecDeque::new(),
            slots: BTreeMap::new(),
            next_file: 0,
            waiting_bytes: 0,
            reading: 0,
        };
        Self {
            shared: Arc::new(Shared {
                work,
                limits,
                state: Mutex::new(state),
                meter: Arc::default(),
                cancelled: Arc::default(),
            }),
            threads: Vec::new(),
            started: false,
            done: false,
        }
    }

    fn start(&mut self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let threads = shared.limits.threads.max(1);
        self.threads = start(threads, "scan", move || shared.run())?;
        let shared = Arc::clone(&self.shared);
        if let Some(max_requests) = shared.work.max_requests() {
            let fetch = start(1, "fetch", move || shared.fetch(max_requests))?;
            self.threads.extend(fetch);
        }
        Ok(())
    }

    fn pull(&mut self) -> Option<Result<W::Batch>> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        loop {
            if let Some(mut first) = state.slots.first_entry() {
                let (file, _) = *first.key();
                let slot = first.get_mut();
                if let Some(batch) = slot.batches.pop_front() {
                    let bytes = batch.bytes();
                    state.waiting_bytes = state.waiting_bytes.saturating_sub(bytes);
                    drop(state);
                    shared.meter.changed.notify_all();
                    return Some(Ok(batch));
                }
                if slot.done {
                    let error = slot.error.take();
                    first.remove();
                    if let Some(error) = error {
                        if !shared.work.continues_after(file, &error) {
                            return Some(Err(error));
                        }
                        drop_rest(&mut state, file);
                    }
                    shared.meter.changed.notify_all();
                    continue;
                }
            } else if state.next_file >= shared.work.files() && state.queue.is_empty() {
                return None;
            }
            state = shared.wait(state);
            if let Err(error) = interrupt::check() {
                return Some(Err(error));
            }
        }
    }
}

/// Drops the remaining units of a file that failed.
fn drop_rest<W: Work>(state: &mut State<W>, file: usize) {
    state.queue.retain(|queued| queued.id.0 != file);
    let ids: Vec<UnitId> = state
        .slots
        .range((file, 0)..(file + 1, 0))
        .map(|(id, _)| *id)
        .collect();
    for id in ids {
        if let Some(slot) = state.slots.remove(&id) {
            let bytes: usize = slot.batches.iter().map(Rows::bytes).sum();
            state.waiting_bytes = state.waiting_bytes.saturating_sub(bytes);
        }
    }
}

impl<W: Work> Iterator for OrderedRows<W> {
    type Item = Result<W::Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        if !self.started {
            self.started = true;
            if let Err(error) = self.start() {
                self.done = true;
                return Some(Err(error));
            }
        }
        let next = match interrupt::check() {
            Ok(()) => self.pull(),
            Err(interrupted) => Some(Err(interrupted)),
        };
        if !matches!(next, Some(Ok(_))) {
            self.done = true;
            self.shared.cancel();
        }
        next
    }
}

impl<W: Work> Drop for OrderedRows<W> {
    fn drop(&mut self) {
        self.shared.cancel();
        for thread in self.threads.drain(..) {
            let _panic_is_reported = thread.join();
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests;
