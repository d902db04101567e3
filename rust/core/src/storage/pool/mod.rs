//! The threads that decode and read.
//!
//! [`ordered`] runs units of work on one pool and gives their results in order; [`unordered`] runs them on
//! threads of its own ([`start`]), which may wait for the reader of the results, and returns these as they
//! come; [`rows`] reads files whose units show when they are opened, and gives their rows in order;
//! [`on_all`] runs units that mostly wait for the store, and [`aside`] one piece of work beside the
//! caller's own. There is one pool for each process id. Nothing starts at import. A forked child starts a
//! pool of its own and leaves the parent's alone. `DELTAREPLAY_THREADS` sets the number of threads;
//! otherwise it is what the process may use, at most [`MAX_THREADS`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::per_process::PerProcess;
use crate::error::{Error, Result};

mod aside;
mod ordered;
pub mod rows;
mod started;
mod unordered;
mod waiting;

pub use aside::{Aside, aside};
pub use ordered::{Ordered, ordered};
pub use started::start;
pub use unordered::{Unordered, unordered};
pub use waiting::on_all;

/// The largest pool that is started without being requested by `DELTAREPLAY_THREADS`.
pub const MAX_THREADS: usize = 32;

static POOL: PerProcess<ThreadPool> = PerProcess::new();
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads that the pool has, or will have once it is started.
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
        _ => thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS)),
    }
}

/// This process's thread pool, started on first use.
///
/// # Errors
///
/// `storage.threads`: the system refuses to start a thread.
pub fn pool() -> Result<&'static ThreadPool> {
    POOL.get_or_try_init(|| {
        ThreadPoolBuilder::new()
            .num_threads(threads())
            .thread_name(|index| format!("deltareplay-{index}"))
            .build()
            .map_err(started::none_started)
    })
}

/// Does `work`; a panic in it is the error `internal.panic`.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Unwind safe: state that a panic leaves half done is not used again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The error for a panic that was caught: always a bug here, never the caller's.
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::corrupt(
        "internal.panic",
        format!("please report this as a bug: {text}"),
    )
}

#[cfg(test)]
mod tests;
