//! Threads that belong to one stream of results, and end with it.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::error::{Error, Result};

/// Starts up to `count` threads that run `work`, fewer if the system refuses more.
///
/// # Errors
///
/// Storage: `storage.threads` if not even one thread could be started.
pub fn start(
    count: usize,
    name: &str,
    work: impl Fn() + Send + Sync + 'static,
) -> Result<Vec<JoinHandle<()>>> {
    let work = Arc::new(work);
    let mut started = Vec::with_capacity(count);
    for number in 0..count {
        let work = Arc::clone(&work);
        let thread = Builder::new()
            .name(format!("deltareplay-{name}-{number}"))
            .spawn(move || work());
        match thread {
            Ok(thread) => started.push(thread),
            Err(cause) if started.is_empty() => return Err(cannot_start(cause)),
            Err(_) => break, // the threads that did start do all of the work
        }
    }
    Ok(started)
}

/// Returns the error for a thread that the system refuses to start.
pub(super) fn cannot_start(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::storage(
        "storage.threads",
        "the system refuses a new thread; raise the process's limit, or set DELTAREPLAY_THREADS=1",
    )
    .because(cause)
}
