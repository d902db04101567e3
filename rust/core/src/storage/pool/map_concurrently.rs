//! Runs work that mostly waits for the store, on many threads.

use super::unordered;
use crate::error::Result;

/// The maximum number of pending requests.
const AT_ONCE: usize = 32;

/// Runs `work` for all units and returns the results in order.
///
/// # Errors
///
/// The first error of `work`; the remaining units may be skipped then.
pub fn map_concurrently<U, T>(
    units: Vec<U>,
    work: impl Fn(&U) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>>
where
    U: Send + Sync + 'static,
    T: Send + 'static,
{
    let mut results: Vec<Option<T>> = units.iter().map(|_| None).collect();
    let each = move |unit: &U, emit: &mut dyn FnMut(T) -> Result<()>| emit(work(unit)?);
    for next in unordered(units, Some(AT_ONCE), AT_ONCE, each)? {
        let (number, result) = next?;
        if let Some(slot) = results.get_mut(number) {
            *slot = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}
