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

impl Call {
    /// Returns the number of listed files and of read bytes since the call began.
    fn transferred(&self) -> (u64, u64) {
        let totals = progress::totals();
        (
            totals.listed.saturating_sub(self.before.listed),
            totals.read.saturating_sub(self.before.read),
        )
    }
}

thread_local! {
    static CALL: Cell<Option<Call>> = const { Cell::new(None) };
}

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
    let (listed, read) = call.transferred();
    let arguments = (
        now.duration_since(call.began).as_secs_f64(),
        listed,
        read,
        progress::units().map(|units| (units.done, units.all)),
    );
    py.import("deltareplay._support.progress")?
        .call_method1("show", arguments)
        .map(drop)
}

/// Ends the call: removes its line, and logs what it listed and read. An error is the exception of a signal
/// handler.
pub(crate) fn end(py: Python<'_>) -> PyResult<()> {
    let Some(call) = CALL.take() else {
        return Ok(());
    };
    let (listed, read) = call.transferred();
    if call.last_update.is_some() {
        py.import("deltareplay._support.progress")?
            .call_method0("clear")?;
    }
    if listed == 0 && read == 0 {
        return Ok(());
    }
    let arguments = (call.began.elapsed().as_secs_f64(), listed, read);
    py.import("deltareplay._support.log")?
        .call_method1("transferred", arguments)
        .map(drop)
}
