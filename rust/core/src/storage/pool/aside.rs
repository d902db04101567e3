//! One piece of work beside the caller's own.

use super::{Unordered, unordered};
use crate::error::{Error, Result};

/// Work that has begun, and whose result is waited for.
pub struct Aside<T>(Unordered<T>);

/// Begins `work` on a thread of its own. If the caller does not wait for it, it ends by itself.
///
/// # Errors
///
/// `storage.threads`: no thread could be started.
pub fn aside<T: Send + 'static>(
    work: impl Fn() -> Result<T> + Send + Sync + 'static,
) -> Result<Aside<T>> {
    let once = move |_: &(), give: &mut dyn FnMut(T) -> Result<()>| give(work()?);
    unordered(vec![()], Some(1), 1, once).map(Aside)
}

impl<T> Aside<T> {
    /// The result, once it is there.
    ///
    /// # Errors
    ///
    /// That of the work; `interrupted`.
    pub fn wait(mut self) -> Result<T> {
        match self.0.next() {
            Some(result) => result.map(|(_, value)| value),
            None => Err(Error::interrupted()), // its thread has ended without a word
        }
    }
}

#[cfg(test)]
mod tests;
