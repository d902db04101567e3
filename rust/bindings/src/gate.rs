//! The boundary between Python and the core: core work runs without the interpreter lock; errors become
//! exceptions.
//!
//! Ctrl-C: the core regularly calls a hook that returns whether to stop. On a thread that [`detached`] runs
//! on, the hook lets Python run its signal handlers; their exceptions are kept, and raised when the core has
//! returned. The core's own threads run no signal handlers.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use deltareplay_core::error::{ErrorKind, Result, panic_message};
use deltareplay_core::storage::interrupt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::exceptions::{panicked, to_exception};
use crate::progress;

thread_local! {
    /// `true` while [`detached`] runs on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The exception of a signal handler during [`detached`].
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Installs the hook for Ctrl-C; called once, when the module is imported.
pub(crate) fn install_interrupt_hook() {
    interrupt::install(stop_requested);
}

/// Runs core work without the interpreter lock; a core error or a panic becomes its exception.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        let _inside = Inside::enter();
        catch_unwind(AssertUnwindSafe(work))
    });
    let ended = progress::end(py);
    if let Some(raised) = RAISED.with(RefCell::take) {
        return Err(raised);
    }
    ended?;
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {
            Err(PyKeyboardInterrupt::new_err(()))
        }
        Ok(Err(error)) => Err(to_exception(py, &error)),
        Err(payload) => Err(panicked(py, &panic_message(payload.as_ref()))),
    }
}

/// Keeps an exception, which [`detached`] then raises whatever the core returns. On the core's own threads it
/// is dropped, and [`detached`] raises `KeyboardInterrupt` for the error `interrupted` that the caller returns.
pub(crate) fn keep(raised: PyErr) {
    if INSIDE.get() {
        RAISED.set(Some(raised));
    }
}

/// Returns whether this thread should stop.
fn stop_requested() -> bool {
    if !INSIDE.get() {
        return false;
    }
    if RAISED.with_borrow(Option::is_some) {
        return true;
    }
    // `None`: the interpreter is shutting down
    let Some(signals) = Python::try_attach(|py| {
        py.check_signals()?;
        progress::show(py)
    }) else {
        return true;
    };
    match signals {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    }
}

/// Marks the thread as inside [`detached`] during its lifetime; restores the mark of an outer call.
struct Inside(bool);

impl Inside {
    fn enter() -> Self {
        progress::begin();
        Self(INSIDE.replace(true))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}
