//! Units of work on the pool, results in the order of the units.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;
use std::vec;

use rayon::{ThreadPool, Yield};

use super::{catch_panic, in_worker, pool, threads};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::interrupt;
use crate::storage::progress::{self, Units};

type Work<U, T> = dyn Fn(U) -> Result<T> + Send + Sync;

/// Runs `work` on every unit and returns the results in the order of the units.
///
/// At most `look_ahead` units (at least one) are started or finished ahead of the consumer, so that memory
/// is bounded. After an error, the results of later units are still returned if requested. A panic
/// inside `work` is the error `internal.panic`. Dropping the iterator cancels the units that have not
/// started. The iterator calls [`interrupt::check`] before each result; an interrupt is the last result. A
/// single unit, a pool of one thread, and units started by a unit run in the caller's thread.
pub fn ordered<U, T, W>(units: Vec<U>, look_ahead: usize, work: W) -> Ordered<U, T>
where
    U: Send + 'static,
    T: Send + 'static,
    W: Fn(U) -> Result<T> + Send + Sync + 'static,
{
    let in_caller = units.len() < 2 || threads() < 2 || in_worker();
    // without threads, the caller's own thread does the work
    let pool = if in_caller { None } else { pool().ok() };
    let all = units.len();
    Ordered {
        all,
        units: units.into_iter(),
        work: Arc::new(work),
        pool,
        look_ahead: look_ahead.max(1),
        started: VecDeque::new(),
        cancelled: Arc::new(AtomicBool::new(false)),
        process: std::process::id(),
    }
}

/// The iterator of [`ordered`].
pub struct Ordered<U, T> {
    all: usize,
    units: vec::IntoIter<U>,
    work: Arc<Work<U, T>>,
    /// `None` if the caller's thread does the work.
    pool: Option<&'static ThreadPool>,
    look_ahead: usize,
    started: VecDeque<Receiver<Result<T>>>,
    cancelled: Arc<AtomicBool>,
    process: u32,
}

impl<U: Send + 'static, T: Send + 'static> Ordered<U, T> {
    fn start_more(&mut self, pool: &ThreadPool) {
        while self.started.len() < self.look_ahead {
            let Some(unit) = self.units.next() else {
                return;
            };
            let (sender, receiver) = sync_channel(1);
            let work = Arc::clone(&self.work);
            let cancelled = Arc::clone(&self.cancelled);
            pool.spawn(move || {
                if !cancelled.load(Ordering::Relaxed) {
                    let _receiver_may_be_gone = sender.send(catch_panic(|| work(unit)));
                }
            });
            self.started.push_back(receiver);
        }
    }

    fn report_progress(&self) {
        if self.all > 1 && !in_worker() {
            let remaining = self.units.len() + self.started.len();
            let done = self.all.saturating_sub(remaining);
            progress::set_units(Some(Units {
                done,
                all: self.all,
            }));
        }
    }

    fn stop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.units = Vec::new().into_iter();
        self.started.clear();
    }
}

impl<U: Send + 'static, T: Send + 'static> Iterator for Ordered<U, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(pool) = self.pool else {
            if self.units.len() > 0
                && let Err(interrupted) = interrupt::check()
            {
                self.stop();
                return Some(Err(interrupted));
            }
            let result = self
                .units
                .next()
                .map(|unit| catch_panic(|| (self.work)(unit)));
            self.report_progress();
            return result;
        };
        if self.process != std::process::id() {
            if self.started.is_empty() && self.units.len() == 0 {
                return None;
            }
            self.stop();
            return Some(Err(Error::invalid(
                "internal.forked",
                "this iterator was started before the process forked; start it again in the child",
            )));
        }
        self.start_more(pool);
        let receiver = self.started.pop_front()?;
        self.start_more(pool); // the workers stay busy while the consumer uses this result
        let result = wait(pool, &receiver);
        let is_interrupt = |error: &Error| error.kind() == ErrorKind::Interrupted;
        if result.as_ref().is_err_and(is_interrupt) {
            self.stop();
        }
        self.report_progress();
        Some(result)
    }
}

impl<U, T> Drop for Ordered<U, T> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if self.all > 1 && !in_worker() {
            progress::set_units(None);
        }
    }
}

fn wait<T>(pool: &ThreadPool, receiver: &Receiver<Result<T>>) -> Result<T> {
    if pool.current_thread_index().is_some() {
        return wait_as_worker(pool, receiver);
    }
    loop {
        // before each result: while results are ready, the wait below never times out
        interrupt::check()?;
        match receiver.recv_timeout(interrupt::INTERVAL) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(worker_ended()),
        }
    }
}

/// Waits in a worker of the pool, which runs other units in the meantime: if workers slept, all of them
/// could wait for each other.
fn wait_as_worker<T>(pool: &ThreadPool, receiver: &Receiver<Result<T>>) -> Result<T> {
    loop {
        match receiver.try_recv() {
            Ok(result) => return result,
            Err(TryRecvError::Disconnected) => return Err(worker_ended()),
            Err(TryRecvError::Empty) => {
                if pool.yield_now() != Some(Yield::Executed) {
                    thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }
}

fn worker_ended() -> Error {
    Error::corrupt(
        "internal.panic",
        "a worker thread ended early: please report this as a bug",
    )
}

#[cfg(test)]
mod tests;
