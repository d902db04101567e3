//! Units of work on the pool, results in the order of the units.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;
use std::vec;

use rayon::{ThreadPool, Yield};

use super::{guarded, pool, threads};
use crate::error::{Error, Result};
use crate::storage::interrupt;
use crate::storage::progress::{self, Units};

type Work<U, T> = dyn Fn(U) -> Result<T> + Send + Sync;

/// Runs `work` on every unit and gives the results in the order of the units.
///
/// At most `look_ahead` units (at least one) are begun or finished beyond those already given out, so
/// that memory stays bounded however slow the consumer is. An error is one result among others: the
/// units after it still come, for whoever asks for them. A panic inside `work` is the error
/// `internal.panic`. Dropping the iterator cancels the units that have not begun. While it waits, it
/// asks [`interrupt::check`]; an interrupt is the last result. A single unit, a pool of one thread, and
/// units asked for by a unit run in the caller's thread.
pub fn ordered<U, T, W>(units: Vec<U>, look_ahead: usize, work: W) -> Ordered<U, T>
where
    U: Send + 'static,
    T: Send + 'static,
    W: Fn(U) -> Result<T> + Send + Sync + 'static,
{
    let alone = units.len() < 2 || threads() < 2 || rayon::current_thread_index().is_some();
    // Without threads there is still an answer: the caller's own thread does the work.
    let pool = if alone { None } else { pool().ok() };
    let all = units.len();
    Ordered {
        all,
        units: units.into_iter(),
        work: Arc::new(work),
        pool,
        look_ahead: look_ahead.max(1),
        begun: VecDeque::new(),
        cancelled: Arc::new(AtomicBool::new(false)),
        process: std::process::id(),
    }
}

/// The iterator that [`ordered`] gives.
pub struct Ordered<U, T> {
    all: usize,
    units: vec::IntoIter<U>,
    work: Arc<Work<U, T>>,
    /// None: the caller's thread does the work.
    pool: Option<&'static ThreadPool>,
    look_ahead: usize,
    begun: VecDeque<Receiver<Result<T>>>,
    cancelled: Arc<AtomicBool>,
    process: u32,
}

impl<U: Send + 'static, T: Send + 'static> Ordered<U, T> {
    fn begin_more(&mut self, pool: &ThreadPool) {
        while self.begun.len() < self.look_ahead {
            let Some(unit) = self.units.next() else {
                return;
            };
            let (sender, receiver) = sync_channel(1);
            let work = Arc::clone(&self.work);
            let cancelled = Arc::clone(&self.cancelled);
            pool.spawn(move || {
                if !cancelled.load(Ordering::Relaxed) {
                    // Nobody listens any more when the iterator was dropped: fine.
                    let _nobody = sender.send(guarded(|| work(unit)));
                }
            });
            self.begun.push_back(receiver);
        }
    }

    /// Says how far this is, where a person may see it.
    fn tell_progress(&self) {
        if self.all > 1 && rayon::current_thread_index().is_none() {
            let left = self.units.len() + self.begun.len();
            let done = self.all.saturating_sub(left);
            progress::set_units(Some(Units {
                done,
                all: self.all,
            }));
        }
    }

    fn stop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.units = Vec::new().into_iter();
        self.begun.clear();
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
            let result = self.units.next().map(|unit| guarded(|| (self.work)(unit)));
            self.tell_progress();
            return result;
        };
        if self.process != std::process::id() {
            if self.begun.is_empty() && self.units.len() == 0 {
                return None;
            }
            self.stop();
            return Some(Err(Error::invalid(
                "internal.forked",
                "this iterator was begun before the process forked; begin it anew in the child",
            )));
        }
        self.begin_more(pool);
        let receiver = self.begun.pop_front()?;
        self.begin_more(pool); // the workers stay busy while the consumer uses this result
        let result = wait(pool, &receiver);
        if result
            .as_ref()
            .is_err_and(|error| error.kind() == crate::error::ErrorKind::Interrupted)
        {
            self.stop();
        }
        self.tell_progress();
        Some(result)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.units.len().saturating_add(self.begun.len())))
    }
}

impl<U, T> Drop for Ordered<U, T> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if self.all > 1 && rayon::current_thread_index().is_none() {
            progress::set_units(None);
        }
    }
}

fn wait<T>(pool: &ThreadPool, receiver: &Receiver<Result<T>>) -> Result<T> {
    if pool.current_thread_index().is_some() {
        return wait_as_worker(pool, receiver);
    }
    loop {
        match receiver.recv_timeout(interrupt::INTERVAL) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => interrupt::check()?,
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
        }
    }
}

/// A worker of the pool that waits for the pool does other units meanwhile; were it to sleep, all
/// workers could end up waiting for one another.
fn wait_as_worker<T>(pool: &ThreadPool, receiver: &Receiver<Result<T>>) -> Result<T> {
    loop {
        match receiver.try_recv() {
            Ok(result) => return result,
            Err(TryRecvError::Disconnected) => return Err(lost()),
            Err(TryRecvError::Empty) => {
                if pool.yield_now() != Some(Yield::Executed) {
                    thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }
}

fn lost() -> Error {
    Error::corrupt(
        "internal.panic",
        "a worker thread ended early: please report this as a bug",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Instant;

    use super::*;
    use crate::error::ErrorKind;

    /// As [`ordered`], on a pool even where the machine has one processor.
    fn on_two_threads<U, T, W>(units: Vec<U>, look_ahead: usize, work: W) -> Ordered<U, T>
    where
        U: Send + 'static,
        T: Send + 'static,
        W: Fn(U) -> Result<T> + Send + Sync + 'static,
    {
        static POOL: std::sync::OnceLock<ThreadPool> = std::sync::OnceLock::new();
        let pool = POOL.get_or_init(|| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(2)
                .build()
                .unwrap()
        });
        let mut iterator = ordered(units, look_ahead, work);
        iterator.pool = Some(pool);
        iterator
    }

    #[test]
    fn keeps_the_order_whatever_takes_longest() {
        let units: Vec<u64> = (0..200).collect();
        for look_ahead in [0, 1, 3, 1000] {
            let results: Vec<u64> = on_two_threads(units.clone(), look_ahead, |unit| {
                thread::sleep(Duration::from_micros((unit * 7) % 300));
                Ok(unit)
            })
            .map(Result::unwrap)
            .collect();
            assert_eq!(results, units, "look-ahead {look_ahead}");
        }
    }

    #[test]
    fn looks_no_further_ahead_than_asked() {
        let begun = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&begun);
        let mut iterator = on_two_threads((0..100).collect(), 3, move |unit: i32| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(unit)
        });
        for taken in 1..=5 {
            iterator.next().unwrap().unwrap();
            thread::sleep(Duration::from_millis(20));
            let seen = begun.load(Ordering::SeqCst);
            assert!(seen <= taken + 3, "{seen} begun, {taken} taken");
            assert!(seen > taken, "nothing was begun ahead");
        }
    }

    #[test]
    fn dropping_cancels_what_has_not_begun() {
        let begun = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&begun);
        let mut iterator = on_two_threads((0..1000).collect(), 1000, move |unit: i32| {
            counter.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(2));
            Ok(unit)
        });
        iterator.next().unwrap().unwrap();
        drop(iterator);
        thread::sleep(Duration::from_millis(50));
        let after = begun.load(Ordering::SeqCst);
        assert!(after < 500, "{after} units ran after the drop");
    }

    #[test]
    fn errors_and_panics_are_results_in_their_place() {
        let work = |unit: i32| match unit {
            2 => Err(Error::corrupt("test.bad", "two")),
            4 => panic!("four is {unit}"),
            _ => Ok(unit),
        };
        let inline: Ordered<i32, i32> = {
            let mut iterator = ordered((0..6).collect(), 4, work);
            iterator.pool = None;
            iterator
        };
        for iterator in [inline, on_two_threads((0..6).collect(), 4, work)] {
            let codes: Vec<_> = iterator
                .map(|result| result.map_err(|error| error.code()))
                .collect();
            assert_eq!(
                codes,
                [
                    Ok(0),
                    Ok(1),
                    Err("test.bad"),
                    Ok(3),
                    Err("internal.panic"),
                    Ok(5)
                ]
            );
        }
    }

    #[test]
    fn an_interrupt_ends_the_wait_and_the_iterator() {
        interrupt::testing::stop_this_thread(true);
        let mut iterator = on_two_threads((0..4).collect(), 4, |unit: i32| {
            thread::sleep(Duration::from_millis(1500));
            Ok(unit)
        });
        let start = Instant::now();
        let result = iterator.next().unwrap();
        interrupt::testing::stop_this_thread(false);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Interrupted);
        assert!(start.elapsed() < Duration::from_millis(1000));
        assert!(iterator.next().is_none());
    }

    #[test]
    fn one_unit_runs_in_the_callers_thread() {
        let here = thread::current().id();
        let mut iterator = ordered(vec![()], 8, move |()| Ok(thread::current().id() == here));
        assert!(iterator.next().unwrap().unwrap());
        assert!(iterator.next().is_none());
    }

    #[test]
    fn a_unit_may_use_the_pool_itself() {
        let total: u64 = on_two_threads((0..20_u64).collect(), 20, |outer| {
            let inner = move |inner| Ok(outer * inner);
            let alone = ordered((0..10_u64).collect(), 4, inner).sum::<Result<u64>>()?;
            // One that came from elsewhere and has this worker's own pool must not block it.
            let moved = on_two_threads((10..20_u64).collect(), 4, inner).sum::<Result<u64>>()?;
            Ok(alone + moved)
        })
        .map(Result::unwrap)
        .sum();
        assert_eq!(total, 190 * 190);
    }

    #[test]
    fn no_units_no_results() {
        assert!(ordered(Vec::<u8>::new(), 4, Ok).next().is_none());
    }
}
