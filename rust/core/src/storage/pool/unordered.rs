//! Runs units of work on a few threads, and returns results as they finish.
//!
//! The threads belong to one stream and end with it: a stream that is not read to its end blocks no other,
//! and nothing is shared with a forked child. The number of pending results is limited, and so is the
//! memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use super::{WAIT, catch_panic, start};
use crate::error::{Error, Result};
use crate::storage::interrupt;

/// Results with the index of their unit, in the order in which they finish.
pub struct Unordered<T> {
    results: Option<Receiver<Result<(usize, T)>>>,
}

/// Starts to work on `units` with at most `threads` threads, by default as many as the pool has; at most
/// `capacity` results wait to be taken. `work` passes each result to its argument, which fails if the
/// consumer is gone.
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
    let next = AtomicUsize::new(0);
    start(threads, "read", move || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(number) else {
                return;
            };
            let mut emit = |result: T| {
                let sent = sender.send(Ok((number, result)));
                sent.map_err(|_| Error::interrupted())
            };
            if let Err(error) = catch_panic(|| work(unit, &mut emit)) {
                let _receiver_may_be_gone = sender.send(Err(error));
                return;
            }
        }
    })?;
    Ok(Unordered {
        results: Some(results),
    })
}

impl<T> Iterator for Unordered<T> {
    type Item = Result<(usize, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let results = self.results.as_ref()?;
            let result = match interrupt::check() {
                Err(error) => Err(error),
                Ok(()) => match results.recv_timeout(WAIT) {
                    Ok(result) => result,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => {
                        self.results = None;
                        return None;
                    }
                },
            };
            if result.is_err() {
                self.results = None; // the threads end at their next result
            }
            return Some(result);
        }
    }
}

#[cfg(test)]
mod tests;
