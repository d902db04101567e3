//! Units of work on a few threads, their results as they come.
//!
//! The threads belong to one stream and end with it: a reader that is left half read holds up no one
//! else, and nothing is shared with a forked child. What is in flight is bounded, so is the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::guarded;
use crate::error::{Error, Result};
use crate::storage::interrupt;

const WAIT: Duration = Duration::from_millis(20);

/// Results of units, each with the number of its unit, in the order in which they come.
pub struct Unordered<T> {
    results: Option<Receiver<Result<(usize, T)>>>,
}

/// Begins to work on `units` with at most `threads` threads, as many as the pool has where that is not
/// told; at most `capacity` results wait to be taken. `work` gives each result to the function that it
/// gets, which fails when nobody wants more.
pub fn unordered<U, T, W>(
    units: Vec<U>,
    threads: Option<usize>,
    capacity: usize,
    work: W,
) -> Result<Unordered<T>>
where
    U: Send + Sync + 'static,
    T: Send + 'static,
    W: Fn(&U, &mut dyn FnMut(T) -> Result<()>) -> Result<()> + Send + Sync + 'static,
{
    let (sender, results) = sync_channel(capacity);
    let threads = threads
        .unwrap_or_else(super::threads)
        .max(1)
        .min(units.len());
    let shared = Arc::new((units, work, AtomicUsize::new(0)));
    for number in 0..threads {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        let spawned = std::thread::Builder::new()
            .name(format!("deltareplay-read-{number}"))
            .spawn(move || {
                let (units, work, next) = &*shared;
                while let Some((number, unit)) = take(units, next) {
                    if let Err(error) = one(number, unit, work, &sender) {
                        let _ = sender.send(Err(error)); // nobody listens: nothing to tell
                        return;
                    }
                }
            });
        if let Err(cause) = spawned {
            if number == 0 {
                return Err(
                    Error::storage("storage.threads", "no thread could be started").because(cause),
                );
            }
            break; // the threads that did start do all of the work
        }
    }
    Ok(Unordered {
        results: Some(results),
    })
}

fn take<'a, U>(units: &'a [U], next: &AtomicUsize) -> Option<(usize, &'a U)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    units.get(number).map(|unit| (number, unit))
}

fn one<U, T>(
    number: usize,
    unit: &U,
    work: &(impl Fn(&U, &mut dyn FnMut(T) -> Result<()>) -> Result<()> + ?Sized),
    sender: &SyncSender<Result<(usize, T)>>,
) -> Result<()> {
    let mut give = |result: T| {
        sender
            .send(Ok((number, result)))
            .map_err(|_| Error::interrupted())
    };
    guarded(|| work(unit, &mut give))
}

impl<T> Iterator for Unordered<T> {
    type Item = Result<(usize, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let result = match self.results.as_ref()?.recv_timeout(WAIT) {
                Ok(result) => result,
                Err(RecvTimeoutError::Timeout) => match interrupt::check() {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                },
                Err(RecvTimeoutError::Disconnected) => {
                    self.results = None;
                    return None;
                }
            };
            if result.is_err() {
                self.results = None; // the threads end at their next result
            }
            return Some(result);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn gives_every_result_of_every_unit() {
        let work = |unit: &usize, give: &mut dyn FnMut(usize) -> Result<()>| {
            (0..*unit).try_for_each(&mut *give)
        };
        let mut found: Vec<_> = unordered((0..50).collect(), None, 2, work)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        found.sort_unstable();
        let wanted: Vec<_> = (0..50)
            .flat_map(|unit| (0..unit).map(move |n| (unit, n)))
            .collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_panic_is_an_error_and_the_end() {
        let work = |unit: &usize, _: &mut dyn FnMut(()) -> Result<()>| {
            assert!(*unit != 3, "three");
            Ok(())
        };
        let errors: Vec<_> = unordered((0..8).collect(), Some(2), 1, work)
            .unwrap()
            .filter_map(Result::err)
            .collect();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors.first().map(Error::code), Some("internal.panic"));
    }

    #[test]
    fn dropping_the_stream_ends_the_threads() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let work = move |_: &usize, give: &mut dyn FnMut(usize) -> Result<()>| {
            let _held = &held;
            (0..).try_for_each(&mut *give)
        };
        let mut stream = unordered(vec![0; 4], None, 1, work).unwrap();
        assert!(stream.next().is_some());
        drop(stream);
        for _ in 0..500 {
            if Arc::strong_count(&alive) == 1 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("a thread of the stream is still at work");
    }
}
