//! The threads that decode and read.
//!
//! [`ordered`] runs units of work on the pool and returns their results in order; [`unordered`] runs them
//! on its own threads ([`start`]), which may wait for the consumer, and returns results as they finish;
//! [`rows`] reads files whose units are known once they are opened, and returns their rows in order;
//! [`map_concurrently`] runs work that mostly waits for the store; [`spawn`] runs a single unit in the
//! background. There is one pool for each process id. No thread starts at import. A forked child starts its
//! own pool and never uses the parent's. `DELTAREPLAY_THREADS` sets the number of threads; the default is the
//! number of available CPUs, at most [`MAX_DEFAULT_THREADS`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::per_process::PerProcess;
use crate::error::{Error, Result, panic_message};

mod background_task;
mod map_concurrently;
mod ordered;
pub mod rows;
mod start;
mod unordered;

pub use background_task::{BackgroundTask, spawn};
pub use map_concurrently::map_concurrently;
pub use ordered::{Ordered, ordered};
pub use start::start;
pub use unordered::{Unordered, unordered};

/// The largest default size of the pool.
pub const MAX_DEFAULT_THREADS: usize = 32;

/// The longest time that a thread waits for a result or a change before it checks for an interrupt.
const WAIT: Duration = Duration::from_millis(20);

static POOL: PerProcess<ThreadPool> = PerProcess::new();
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns `true` in a thread of the pool.
pub fn in_worker() -> bool {
    rayon::current_thread_index().is_some()
}

/// Returns the number of threads of the pool, started or not.
pub fn threads() -> usize {
    let known = THREADS.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let variable = std::env::var("DELTAREPLAY_THREADS").ok();
    let count = requested_threads(variable.as_deref());
    THREADS.store(count, Ordering::Relaxed);
    count
}

fn requested_threads(requested: Option<&str>) -> usize {
    match requested.and_then(|text| text.trim().parse::<usize>().ok()) {
        Some(count) if count > 0 => count.min(1024),
        _ => {
            thread::available_parallelism().map_or(1, |count| count.get().min(MAX_DEFAULT_THREADS))
        }
    }
}

/// Returns this process's thread pool, started on first use.
///
/// # Errors
///
/// Storage: `storage.threads` if not all of its threads could be started.
pub fn pool() -> Result<&'static ThreadPool> {
    POOL.get_or_try_init(|| {
        ThreadPoolBuilder::new()
            .num_threads(threads())
            .thread_name(|index| format!("deltareplay-{index}"))
            .build()
            .map_err(start::cannot_start)
    })
}

/// Runs `work`; a panic in it becomes the error `internal.panic`.
pub fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // unwind safe: state that a panic leaves inconsistent is not used again
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Returns the error for a caught panic, which is always a bug of this crate.
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic_message(panic);
    Error::corrupt(
        "internal.panic",
        format!("please report this as a bug: {text}"),
    )
}

#[cfg(test)]
mod tests;
