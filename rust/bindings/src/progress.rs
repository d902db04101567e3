//! Shows the progress of a long call: after a second, and a few times a second from then on.
//!
//! `deltareplay._support.progress` decides whether and how a line is shown. When a call ends, its listed
//! files and read bytes are also passed to `deltareplay._support.log`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use deltareplay_core::storage::progress::{self, Totals};
use pyo3::prelude::*;

/// Shorter calls show nothing.
const FIRST_UPDATE_AFTER: Duration = Duration::from_secs(1);
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// A pending call of this thread.
#[derive(Clone, Copy)]
struct Call {
    began: Instant,
    before: Totals,
    last_update: Option<Instant>,
}

thread_local! {
    static CALL: Cell<Option<Call>> = const { Cell::new(None) };
}

/// Begins a call in this thread.
pub(crate) fn begin() {
    CALL.set(Some(Call {
        began: Instant::now(),
        before: progress::totals(),
        last_update: None,
    }));
}

/// Shows the progress of the call, if it is due. `deltareplay._support.progress` ignores errors of the
/// terminal, so an error here is the exception of a signal handler.
pub(crate) fn show(py: Python<'_>) -> PyResult<()> {
    let Some(call) = CALL.get() else {
        return Ok(());
    };
    let now = Instant::now();
    let due = call
        .last_update
        .map_or(call.began + FIRST_UPDATE_AFTER, |last| {
            last + UPDATE_INTERVAL
        });
    if now < due {
        return Ok(());
    }
    CALL.set(Some(Call {
        last_update: Some(now),
        ..call
    }));
    let (totals, units) = (progress::totals(), progress::units());
    let arguments = (
        now.duration_since(call.began).as_secs_f64(),
        totals.listed.saturating_sub(call.before.listed),
        totals.read.saturating_sub(call.before.read),
        units.map(|units| (units.done, units.all)),
    );
    let result = py
        .import("deltareplay._support.progress")
        .and_then(|module| module.call_method1("show", arguments));
    result.map(drop)
}

/// Ends the call: removes its line, and logs what it listed and read. An error is the exception of a signal
/// handler.
pub(crate) fn end(py: Python<'_>) -> PyResult<()> {
    let Some(call) = CALL.take() else {
        return Ok(());
    };
    let totals = progress::totals();
    let listed = totals.listed.saturating_sub(call.before.listed);
    let read = totals.read.saturating_sub(call.before.read);
    if call.last_update.is_some() {
        let cleared = py
            .import("deltareplay._support.progress")
            .and_then(|module| module.call_method0("clear"));
        cleared?;
    }
    if listed == 0 && read == 0 {
        return Ok(());
    }
    let arguments = (call.began.elapsed().as_secs_f64(), listed, read);
    let logged = py
        .import("deltareplay._support.log")
        .and_then(|module| module.call_method1("transferred", arguments));
    logged.map(drop)
}
