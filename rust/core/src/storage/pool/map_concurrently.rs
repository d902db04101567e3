//! Runs work that mostly waits for the store, on many threads.

use std::sync::atomic::{AtomicBool, Ordering};

use super::unordered;
use crate::error::Result;

/// The maximum number of pending requests.
const AT_ONCE: usize = 32;

/// Runs `work` for all units and returns the results in order.
///
/// # Errors
///
/// The first error of `work`, once no unit is in progress: whatever a unit writes is there then. No unit
/// begins after an error.
pub fn map_concurrently<U, T>(
    units: Vec<U>,
    work: impl Fn(&U) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>>
where
    U: Send + Sync + 'static,
    T: Send + 'static,
{
    let mut results: Vec<Option<T>> = units.iter().map(|_| None).collect();
    let has_failed = AtomicBool::new(false);
    let each = move |unit: &U, emit: &mut dyn FnMut(Result<T>) -> Result<()>| {
        if has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let result = work(unit);
        has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
        emit(result)
    };
    let mut outcome = Ok(());
    for next in unordered(units, Some(AT_ONCE), AT_ONCE, each)? {
        match next? {
            (number, Ok(result)) => {
                if let Some(slot) = results.get_mut(number) {
                    *slot = Some(result);
                }
            }
            (_, Err(error)) => outcome = outcome.and(Err(error)),
        }
    }
    outcome.map(|()| results.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests;
