//! A store in memory whose calls happen one at a time, in an order determined by a seed, with injected
//! faults.
//!
//! Every actor runs in its own thread and has a handle. A call waits until all actors wait; then the seed
//! selects the one that continues, up to its next call. So only one of them runs at a time, and the whole
//! run follows from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use deltareplay_core::error::{Error, Result};
use deltareplay_core::storage::{FileMeta, Storage};

use crate::support::Random;

/// Milliseconds between two calls.
const STEP: i64 = 1_000;
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Ends the thread of an actor whose process has died.
pub(super) struct Died;

/// Fault rates, in percent of the calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// Puts that are lost, before or after their execution, or executed later.
    pub(super) puts: usize,
    /// Other calls that fail.
    pub(super) others: usize,
    /// Writes at which the process dies.
    pub(super) deaths: usize,
    /// Creations overwrite existing files.
    pub(super) no_condition: bool,
}

#[derive(Default)]
struct State {
    random: Option<Random>,
    faults: Faults,
    waiting: BTreeSet<usize>,
    running: Option<usize>,
    alive: usize,
    /// Bytes and modification time of each file.
    files: BTreeMap<String, (Bytes, i64)>,
    now: i64,
    /// Creations that were reported as failed, and are executed later.
    delayed: Vec<(String, Bytes)>,
    busy: BTreeSet<usize>,
    /// Actors that have ended; their threads may still make calls.
    ended: BTreeSet<usize>,
    calls: u64,
    /// Every commit that was created, including versions that were deleted later.
    commits: Vec<(String, Bytes)>,
    trace: Vec<(usize, &'static str)>,
    num_faults: usize,
}

impl State {
    fn random(&mut self) -> &mut Random {
        self.random.get_or_insert(Random(0))
    }

    fn create(&mut self, path: &str, bytes: Bytes) -> bool {
        if self.files.contains_key(path) && !self.faults.no_condition {
            return false;
        }
        if is_commit(path) {
            self.commits.push((path.to_owned(), bytes.clone()));
        }
        self.files.insert(path.to_owned(), (bytes, self.now));
        true
    }

    fn execute_delayed(&mut self) {
        for (path, bytes) in std::mem::take(&mut self.delayed) {
            self.create(&path, bytes);
        }
    }
}

pub(super) fn is_commit(path: &str) -> bool {
    path.strip_prefix("_delta_log/")
        .and_then(|name| name.strip_suffix(".json"))
        .is_some_and(|name| name.len() == 20)
}

/// The state shared by all handles.
#[derive(Default)]
pub(super) struct World {
    state: Mutex<State>,
    turn: Condvar,
}

impl World {
    /// Creates a world without faults until [`World::begin`].
    pub(super) fn new(seed: u64, now: i64) -> Arc<Self> {
        let world = Self::default();
        {
            let mut state = world.lock();
            state.random = Some(Random(seed));
            state.now = now;
            state.alive = 1;
        }
        Arc::new(world)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the simulation with this many actors, numbered from 1, and with faults; with 1 actor, number
    /// 0 alone, there are none.
    pub(super) fn begin(&self, actors: usize, faults: Faults) {
        let mut state = self.lock();
        state.execute_delayed();
        state.alive = actors;
        state.running = None;
        state.faults = faults;
    }

    /// Ends an actor.
    pub(super) fn end(&self, actor: usize) {
        let mut state = self.lock();
        state.alive -= 1;
        state.ended.insert(actor);
        state.waiting.remove(&actor);
        state.busy.remove(&actor);
        if state.running == Some(actor) {
            state.running = None;
        }
        self.turn.notify_all();
    }

    /// Marks an actor as busy, so that no days pass, or as idle.
    pub(super) fn set_busy(&self, actor: usize, busy: bool) {
        let mut state = self.lock();
        if busy {
            state.busy.insert(actor);
        } else {
            state.busy.remove(&actor);
        }
    }

    /// Waits for the actor's turn; `None` if it has ended.
    fn wait(&self, actor: usize) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
        if !state.ended.contains(&actor) {
            state.waiting.insert(actor);
        }
        if state.running == Some(actor) {
            state.running = None;
        }
        loop {
            if state.ended.contains(&actor) {
                return None;
            }
            if state.running.is_none() && state.waiting.len() == state.alive {
                let number = state.waiting.len();
                let chosen = state.random().below(number);
                state.running = state.waiting.iter().nth(chosen).copied();
                self.turn.notify_all();
            }
            if state.running == Some(actor) {
                state.waiting.remove(&actor);
                state.now += STEP;
                state.calls += 1;
                if state.random().percent(10) {
                    state.execute_delayed();
                }
                return Some(state);
            }
            state = self
                .turn
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets days pass at a time when nobody is busy; returns `false` if there was none.
    pub(super) fn days_pass(&self, actor: usize, days: i64) -> bool {
        for _ in 0..200 {
            let Some(mut state) = self.wait(actor) else {
                return false;
            };
            if state.busy.is_empty() {
                state.execute_delayed();
                state.now += days * DAY;
                return true;
            }
        }
        false
    }

    /// Returns the number of calls.
    pub(super) fn calls(&self) -> u64 {
        self.lock().calls
    }

    pub(super) fn now(&self) -> i64 {
        self.lock().now
    }

    pub(super) fn commits(&self) -> Vec<(String, Bytes)> {
        self.lock().commits.clone()
    }

    /// Returns actor and name of each call, in order.
    pub(super) fn trace(&self) -> Vec<(usize, &'static str)> {
        self.lock().trace.clone()
    }

    /// Returns the number of injected faults.
    pub(super) fn num_faults(&self) -> usize {
        self.lock().num_faults
    }
}

/// The world as one actor sees it.
pub(super) struct Handle {
    world: Arc<World>,
    actor: usize,
    /// Held during a call, since an actor may have threads of its own.
    call_lock: Mutex<()>,
}

impl Handle {
    pub(super) fn open(world: &Arc<World>, actor: usize) -> Arc<dyn Storage> {
        Arc::new(Self {
            world: Arc::clone(world),
            actor,
            call_lock: Mutex::default(),
        })
    }

    fn call<T>(&self, name: &'static str, work: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let _guard = self
            .call_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let actor = self.actor;
        let mut state = self.world.wait(actor).ok_or_else(|| broken("ended"))?;
        state.trace.push((actor, name));
        work(&mut state)
    }

    fn read_call<T>(
        &self,
        name: &'static str,
        path: &str,
        work: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        self.call(name, |state| {
            let others = state.faults.others;
            if state.random().percent(others) {
                state.num_faults += 1;
                return Err(broken(path));
            }
            work(state)
        })
    }

    /// Executes a call that changes something; the process may die before it or after it.
    fn write_call<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        let mut dies = false;
        let done = self.call(name, |state| {
            let deaths = state.faults.deaths;
            dies = state.random().percent(deaths);
            if dies {
                state.num_faults += 1;
                if state.random().percent(50) {
                    return Err(broken("before"));
                }
            }
            work(state)
        });
        if dies {
            resume_unwind(Box::new(Died));
        }
        done
    }
}

fn broken(path: &str) -> Error {
    Error::storage("storage.fault", "a fault of the simulation").at_path(path)
}

fn missing(path: &str) -> Error {
    Error::storage("storage.not_found", "there is no such file").at_path(path)
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "actor {}", self.actor)
    }
}

fn bytes_of(state: &State, path: &str) -> Result<Bytes> {
    let file = state.files.get(path);
    file.map(|(bytes, _)| bytes.clone())
        .ok_or_else(|| missing(path))
}

fn meta(path: &str, file: &(Bytes, i64)) -> FileMeta {
    FileMeta {
        path: path.to_owned(),
        size: file.0.len() as u64,
        modification_time: file.1,
        tag: 0,
    }
}

impl Storage for Handle {
    fn root(&self) -> &str {
        "memory://simulation"
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        let prefix = match directory.trim_end_matches('/') {
            "" => String::new(),
            directory => format!("{directory}/"),
        };
        self.read_call("list", directory, |state| {
            let inside = |path: &String| {
                path.strip_prefix(&prefix)
                    .is_some_and(|name| !name.contains('/') && name >= from)
            };
            let files = state.files.iter().filter(|(path, _)| inside(path));
            Ok(files.map(|(path, file)| meta(path, file)).collect())
        })
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_call("read", path, |state| bytes_of(state, path))
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.read_call("read_ranges", path, |state| {
            let bytes = bytes_of(state, path)?;
            let slice = |range: &Range<u64>| {
                let (start, end) = (range.start, range.end.min(bytes.len() as u64));
                bytes.slice(usize::try_from(start).unwrap()..usize::try_from(end).unwrap())
            };
            Ok(ranges.iter().map(slice).collect())
        })
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        self.read_call("head", path, |state| {
            let file = state.files.get(path).ok_or_else(|| missing(path))?;
            Ok(meta(path, file))
        })
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let bytes = Bytes::copy_from_slice(bytes);
        self.write_call("put_if_absent", |state| {
            let puts = if is_commit(path) {
                state.faults.puts
            } else {
                0
            };
            if !state.random().percent(puts) {
                return Ok(state.create(path, bytes));
            }
            state.num_faults += 1;
            match state.random().below(3) {
                0 => {
                    state.create(path, bytes);
                }
                1 => state.delayed.push((path.to_owned(), bytes)),
                _ => {}
            }
            Err(broken(path))
        })
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let bytes = Bytes::copy_from_slice(bytes);
        self.write_call("put", |state| {
            let now = state.now;
            state.files.insert(path.to_owned(), (bytes, now));
            Ok(())
        })
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        self.read_call("list_below", directory, |state| {
            let entered = |path: &str| {
                path.match_indices('/')
                    .filter_map(|(at, _)| path.get(..at))
                    .all(enter)
            };
            let below = |path: &str| {
                let rest = path.strip_prefix(directory);
                directory.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
            };
            let files = state
                .files
                .iter()
                .filter(|(path, _)| below(path) && entered(path));
            Ok(files.map(|(path, file)| meta(path, file)).collect())
        })
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        let delete = |path: &&str| {
            self.write_call("delete", |state| {
                state.files.remove(*path);
                Ok(())
            })
        };
        paths.iter().map(delete).collect()
    }
}
