//! Work that waits for a store far away, beside the caller's own.

use std::sync::Arc;

use super::Storage;
use super::pool::{Aside, aside};
use crate::error::Result;

/// Work that has begun where the store is far away; elsewhere it is done when its result is needed.
pub(crate) enum Beside<T> {
    Begun(Aside<T>),
    Later(Box<dyn Fn() -> Result<T> + Send + Sync>),
}

/// Begins `work` where the store is far away.
pub(crate) fn beside<T: Send + 'static>(
    storage: &Arc<dyn Storage>,
    work: impl Fn(&Arc<dyn Storage>) -> Result<T> + Send + Sync + 'static,
) -> Beside<T> {
    let own = Arc::clone(storage);
    let work = Arc::new(move || work(&own));
    let begun = storage.memory().and_then(|_| {
        let work = Arc::clone(&work);
        aside(move || work()).ok() // without threads the caller's own does it
    });
    match begun {
        Some(begun) => Beside::Begun(begun),
        None => Beside::Later(Box::new(move || work())),
    }
}

impl<T> Beside<T> {
    /// The result.
    ///
    /// # Errors
    ///
    /// That of the work; `interrupted`.
    pub(crate) fn wait(self) -> Result<T> {
        match self {
            Self::Begun(begun) => begun.wait(),
            Self::Later(work) => work(),
        }
    }
}
