//! Rows of many data files as one stream: files and row groups are read side by side, and come in
//! their order.
//!
//! A few threads take the units of work from the front of one queue. The unit that the caller waits
//! for always goes on; the others wait when what they hold passes [`Look::bytes`]. The threads belong to
//! the stream and end with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::RecordBatch;

use super::{guarded, start, threads};
use crate::error::{Error, Result};
use crate::storage::interrupt;

const WAIT: Duration = Duration::from_millis(20);

/// Which unit: the number of its file, then its own number in the file.
type UnitId = (usize, usize);

/// Rows in memory.
pub trait Rows: Send + 'static {
    /// How many bytes they take.
    fn bytes(&self) -> usize;
}

impl Rows for RecordBatch {
    fn bytes(&self) -> usize {
        self.get_array_memory_size()
    }
}

/// Gives one batch; fails when nobody wants more.
pub type Give<'a, R = RecordBatch> = dyn FnMut(R) -> Result<()> + 'a;

/// Work that comes in two steps: a file is opened, which shows its units; each unit gives batches.
pub trait Work: Send + Sync + 'static {
    /// One unit of an open file.
    type Unit: Send + 'static;
    /// What a unit gives, batch by batch.
    type Batch: Rows;

    /// How many files there are.
    fn files(&self) -> usize;

    /// Opens a file.
    fn open(&self, file: usize) -> Result<Vec<Self::Unit>>;

    /// Reads one unit.
    fn read(&self, unit: Self::Unit, give: &mut Give<'_, Self::Batch>) -> Result<()>;

    /// Whether the stream goes on after this file failed. The rows that it has given stay given.
    fn passes_over(&self, file: usize, error: &Error) -> bool;
}

/// How far ahead of the caller the threads may read.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Decoded bytes that may wait to be taken.
    pub bytes: usize,
    /// Threads at work.
    pub threads: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            threads: threads(),
        }
    }
}

enum Task<U> {
    Open,
    Read(U),
}

struct Slot<R> {
    batches: VecDeque<R>,
    done: bool,
    error: Option<Error>,
}

impl<R> Default for Slot<R> {
    fn default() -> Self {
        Self {
            batches: VecDeque::new(),
            done: false,
            error: None,
        }
    }
}

struct State<W: Work> {
    queue: VecDeque<(UnitId, Task<W::Unit>)>,
    /// Units that are at work or wait to be taken.
    slots: BTreeMap<UnitId, Slot<W::Batch>>,
    next_file: usize,
    waiting_bytes: usize,
    cancelled: bool,
}

struct Shared<W: Work> {
    work: W,
    look: Look,
    state: Mutex<State<W>>,
    changed: Condvar,
}

impl<W: Work> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        // no step under this lock leaves it half done
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<W>>) -> MutexGuard<'a, State<W>> {
        let waited = self.changed.wait_timeout(state, WAIT);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The next task, with its slot made; `None` at the end.
    fn take(&self) -> Option<(UnitId, Task<W::Unit>)> {
        let mut state = self.lock();
        loop {
            if state.cancelled {
                return None;
            }
            // what is open already goes first; not far ahead of the caller, but what he waits for
            // may have been opened late
            let first = state.slots.first_key_value().map(|(id, _)| *id);
            let awaited = state.queue.front().map(|(id, _)| *id) == first;
            if state.waiting_bytes < self.look.bytes || awaited {
                if let Some((id, task)) = state.queue.pop_front() {
                    state.slots.entry(id).or_default();
                    return Some((id, task));
                }
                if state.next_file < self.work.files() {
                    let id = (state.next_file, 0);
                    state.next_file += 1;
                    state.slots.entry(id).or_default();
                    return Some((id, Task::Open));
                }
                let opening = state.slots.values().any(|slot| !slot.done);
                if !opening {
                    return None;
                }
            }
            state = self.wait(state);
        }
    }

    fn run(&self) {
        while let Some((id, task)) = self.take() {
            let worked = guarded(|| match task {
                Task::Open => self.opened(id),
                Task::Read(unit) => self.work.read(unit, &mut |batch| self.give(id, batch)),
            });
            let mut state = self.lock();
            if let Some(slot) = state.slots.get_mut(&id) {
                slot.done = true;
                slot.error = worked.err();
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Puts the units of a file to the front of the queue.
    fn opened(&self, (file, _): UnitId) -> Result<()> {
        let units = self.work.open(file)?;
        let mut state = self.lock();
        // units of earlier files that still wait come before
        let at = state
            .queue
            .partition_point(|((earlier, _), _)| *earlier < file);
        for (number, unit) in units.into_iter().enumerate() {
            let id = (file, number + 1);
            state.queue.insert(at + number, (id, Task::Read(unit)));
            state.slots.entry(id).or_default();
        }
        Ok(())
    }

    fn give(&self, id: UnitId, batch: W::Batch) -> Result<()> {
        let bytes = batch.bytes();
        let mut state = self.lock();
        loop {
            if state.cancelled {
                return Err(Error::interrupted());
            }
            let wanted = state.slots.first_key_value().map(|(first, _)| *first);
            if wanted == Some(id) || state.waiting_bytes < self.look.bytes {
                break;
            }
            state = self.wait(state);
        }
        let Some(slot) = state.slots.get_mut(&id) else {
            return Err(Error::interrupted()); // the file failed elsewhere, and is passed over
        };
        slot.batches.push_back(batch);
        state.waiting_bytes = state.waiting_bytes.saturating_add(bytes);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }
}

/// The batches of all files, in the order of the files and of their rows.
pub struct OrderedRows<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Vec<JoinHandle<()>>,
    started: bool,
    done: bool,
}

impl<W: Work> OrderedRows<W> {
    /// Nothing is read before the first batch is asked for.
    pub fn new(work: W, look: Look) -> Self {
        let state = State {
            queue: VecDeque::new(),
            slots: BTreeMap::new(),
            next_file: 0,
            waiting_bytes: 0,
            cancelled: false,
        };
        Self {
            shared: Arc::new(Shared {
                work,
                look,
                state: Mutex::new(state),
                changed: Condvar::new(),
            }),
            threads: Vec::new(),
            started: false,
            done: false,
        }
    }

    /// What is read.
    pub fn work(&self) -> &W {
        &self.shared.work
    }

    fn start(&mut self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let threads = shared.look.threads.max(1);
        self.threads = start(threads, "scan", move || shared.run())?;
        Ok(())
    }

    fn pull(&mut self) -> Option<Result<W::Batch>> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        loop {
            let Some(mut first) = state.slots.first_entry() else {
                if state.next_file >= shared.work.files() && state.queue.is_empty() {
                    return None;
                }
                state = shared.wait(state);
                if let Err(error) = interrupt::check() {
                    return Some(Err(error));
                }
                continue;
            };
            let (file, _) = *first.key();
            let slot = first.get_mut();
            if let Some(batch) = slot.batches.pop_front() {
                let bytes = batch.bytes();
                state.waiting_bytes = state.waiting_bytes.saturating_sub(bytes);
                drop(state);
                shared.changed.notify_all();
                return Some(Ok(batch));
            }
            if slot.done {
                let error = slot.error.take();
                first.remove();
                if let Some(error) = error {
                    if !shared.work.passes_over(file, &error) {
                        return Some(Err(error));
                    }
                    drop_rest(&mut state, file);
                }
                shared.changed.notify_all();
                continue;
            }
            state = shared.wait(state);
            if let Err(error) = interrupt::check() {
                return Some(Err(error));
            }
        }
    }
}

/// Forgets what is still to come of a file that has failed.
fn drop_rest<W: Work>(state: &mut State<W>, file: usize) {
    state.queue.retain(|((other, _), _)| *other != file);
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
            self.shared.lock().cancelled = true;
            self.shared.changed.notify_all();
        }
        next
    }
}

impl<W: Work> Drop for OrderedRows<W> {
    fn drop(&mut self) {
        self.shared.lock().cancelled = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // a panic of theirs was given as an error
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
