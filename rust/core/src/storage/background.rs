//! Work that runs in the background while the caller does its own, if the store is remote.

use std::sync::Arc;

use super::Storage;
use super::pool::{BackgroundTask, spawn};
use crate::error::Result;

/// Background work on a remote store; on a local one it is done when its result is needed.
pub(crate) enum BackgroundWork<T> {
    Begun(BackgroundTask<T>),
    Later(Box<dyn Fn() -> Result<T> + Send + Sync>),
}

/// Starts `work` in the background if the store is remote.
pub(crate) fn in_background<T: Send + 'static>(
    storage: &Arc<dyn Storage>,
    work: impl Fn(&Arc<dyn Storage>) -> Result<T> + Send + Sync + 'static,
) -> BackgroundWork<T> {
    let own = Arc::clone(storage);
    let work = Arc::new(move || work(&own));
    let begun = storage.memory().and_then(|_| {
        let work = Arc::clone(&work);
        spawn(move || work()).ok() // without threads the caller's own does it
    });
    match begun {
        Some(begun) => BackgroundWork::Begun(begun),
        None => BackgroundWork::Later(Box::new(move || work())),
    }
}

impl<T> BackgroundWork<T> {
    /// Waits for the result.
    ///
    /// # Errors
    ///
    /// The errors of the work; `interrupted`.
    pub(crate) fn wait(self) -> Result<T> {
        match self {
            Self::Begun(begun) => begun.wait(),
            Self::Later(work) => work(),
        }
    }
}
