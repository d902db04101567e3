//! Work on a remote store that runs in the background while the caller continues.

use std::sync::Arc;

use super::Storage;
use super::pool::{BackgroundTask, spawn};
use crate::error::Result;

/// Work that runs in the background, or once its result is needed.
pub(crate) enum BackgroundWork<T> {
    Running(BackgroundTask<T>),
    Deferred(Box<dyn Fn() -> Result<T> + Send + Sync>),
}

/// Starts `work` in the background if the store is remote and caches the log; otherwise it runs once its
/// result is needed.
pub(crate) fn in_background<T: Send + 'static>(
    storage: &Arc<dyn Storage>,
    work: impl Fn(&Arc<dyn Storage>) -> Result<T> + Send + Sync + 'static,
) -> BackgroundWork<T> {
    let storage_of_work = Arc::clone(storage);
    let work = Arc::new(move || work(&storage_of_work));
    let task = storage.log_cache().and_then(|_| {
        let work = Arc::clone(&work);
        spawn(move || work()).ok() // if no thread starts, the caller does the work
    });
    match task {
        Some(task) => BackgroundWork::Running(task),
        None => BackgroundWork::Deferred(Box::new(move || work())),
    }
}

impl<T> BackgroundWork<T> {
    /// Waits for the result.
    pub(crate) fn wait(self) -> Result<T> {
        match self {
            Self::Running(task) => task.wait(),
            Self::Deferred(work) => work(),
        }
    }
}
