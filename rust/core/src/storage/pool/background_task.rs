//! A single unit of background work.

use super::{Unordered, unordered};
use crate::error::{Error, Result};

/// Background work with a result.
pub struct BackgroundTask<T>(Unordered<T>);

/// Starts `work` on its own thread, which ends with the work, even if the task is dropped.
///
/// # Errors
///
/// Storage: `storage.threads` if no thread could be started.
pub fn spawn<T: Send + 'static>(
    work: impl Fn() -> Result<T> + Send + Sync + 'static,
) -> Result<BackgroundTask<T>> {
    let once = move |_: &(), emit: &mut dyn FnMut(T) -> Result<()>| emit(work()?);
    unordered(vec![()], Some(1), 1, once).map(BackgroundTask)
}

impl<T> BackgroundTask<T> {
    /// Waits for the result.
    pub fn wait(mut self) -> Result<T> {
        match self.0.next() {
            Some(result) => result.map(|(_, value)| value),
            None => Err(Error::interrupted()), // the thread ended without a result
        }
    }
}

#[cfg(test)]
mod tests;
