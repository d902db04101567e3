//! Interruption by the caller (Ctrl-C), and the checks for it in long-running work.
//!
//! The binding installs one hook. Loops and waits of this crate call [`check`] often; it calls the hook at
//! most every 50 ms per thread.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::storage::pool;

/// The maximum time of a wait between two calls of [`check`].
pub const INTERVAL: Duration = Duration::from_millis(50);

static HOOK: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static LAST_CALL: Cell<Option<Instant>> = const { Cell::new(None) };
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Interrupts the waits of this thread, which works for another one, once the flag is set.
pub fn stop_by(flag: Arc<AtomicBool>) {
    STOP.set(Some(flag));
}

/// Installs the hook that returns whether to stop. It is called in the threads that call into this crate and
/// in those of streams, never in a pool's thread. Later hooks are ignored.
pub fn install(hook: fn() -> bool) {
    let _first_hook_is_kept = HOOK.set(hook);
}

/// Calls the hook, at most every [`INTERVAL`] per thread, so that it is cheap in any loop.
///
/// # Errors
///
/// `interrupted`, once the hook returns `true` or the flag of [`stop_by`] is set.
pub fn check() -> Result<()> {
    let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
    if STOP.with_borrow(|stop| stop.as_ref().is_some_and(is_set)) {
        return Err(Error::interrupted());
    }
    let Some(hook) = HOOK.get() else {
        return Ok(());
    };
    if pool::in_worker() {
        return Ok(()); // the thread that waits for this worker calls the hook
    }
    let now = Instant::now();
    if let Some(last) = LAST_CALL.get()
        && now.duration_since(last) < INTERVAL
    {
        return Ok(());
    }
    LAST_CALL.set(Some(now));
    if hook() {
        Err(Error::interrupted())
    } else {
        Ok(())
    }
}

/// Lets a test interrupt its own thread only.
#[cfg(test)]
pub(crate) mod testing {
    use std::cell::Cell;

    thread_local! {
        static STOP: Cell<bool> = const { Cell::new(false) };
    }

    /// Sets whether the waits of this thread are interrupted.
    pub(crate) fn stop_this_thread(stop: bool) {
        super::install(|| STOP.get());
        super::LAST_CALL.set(None);
        STOP.set(stop);
    }
}

#[cfg(test)]
mod tests;
