//! Panics of other crates' decoders.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::error::{Error, Result, panic_message};

thread_local! {
    /// `true` while a decoder runs on this thread.
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder of another crate. If it panics, the result is the error of `broken`, with the message of the
/// panic as its cause.
pub(crate) fn guarded<T>(
    broken: impl FnOnce() -> Error,
    decode: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let outer = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(outer);
    result.unwrap_or_else(|panic| Err(broken().because(panic_message(&*panic))))
}

/// Stops the standard library from printing panics of other crates' decoders: callers get them as errors.
/// Panics of this crate's own code are printed.
pub fn hide_decoder_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // paths of other crates' files have a root; those of the standard library, `/rustc/...`, are not
        // absolute on Windows
        let is_external = info
            .location()
            .is_some_and(|location| Path::new(location.file()).has_root());
        if !(is_external && DECODING.get()) {
            print(info);
        }
    }));
}

#[cfg(test)]
mod tests;
