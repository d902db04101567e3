//! The async runtime: two threads for each process id, started on first use.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use super::interrupt;
use super::per_process::PerProcess;
use crate::error::{Error, Result};

/// These threads mostly wait.
const WORKERS: usize = 2;

static RUNTIME: PerProcess<IoRuntime> = PerProcess::new();

/// A runtime that does not block when it is dropped: if two threads start one at once, one of them drops its
/// own.
struct IoRuntime(Option<Runtime>);

impl Drop for IoRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtime() -> Result<&'static Runtime> {
    let started = RUNTIME.get_or_try_init(|| {
        Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("deltareplay-io")
            .enable_all()
            .build()
            .map(|runtime| IoRuntime(Some(runtime)))
            .map_err(|cause| {
                Error::storage(
                    "storage.threads",
                    "no thread could be started for network requests; raise the process's limit",
                )
                .because(cause)
            })
    })?;
    let ending = || Error::storage("storage.threads", "the process is about to end");
    started.0.as_ref().ok_or_else(ending)
}

/// Starts `work`, which runs until it ends or is aborted.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<AbortHandle> {
    Ok(runtime()?.spawn(work).abort_handle())
}

/// Runs `work` to its end while this thread waits, and calls [`interrupt::check`] meanwhile. An interrupt
/// abandons the work.
pub(super) fn block_on<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    let task = spawn(async move {
        let _receiver_may_be_gone = sender.send(work.await);
    })?;
    loop {
        match receiver.recv_timeout(interrupt::INTERVAL) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupted) = interrupt::check() {
                    task.abort();
                    return Err(interrupted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::corrupt(
                    "internal.panic",
                    "a request ended early: please report this as a bug",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests;
