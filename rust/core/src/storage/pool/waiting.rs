//! Work that mostly waits for the store, on many threads at once.

use super::unordered;
use crate::error::Result;

/// Requests in flight at a time.
const AT_ONCE: usize = 32;

/// The results of `work` for all units, in their order.
///
/// # Errors
///
/// The first error of `work`; the remaining units may be left out then.
pub fn on_all<U, T>(
    units: Vec<U>,
    work: impl Fn(&U) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>>
where
    U: Send + Sync + 'static,
    T: Send + 'static,
{
    let mut results: Vec<Option<T>> = units.iter().map(|_| None).collect();
    let each = move |unit: &U, give: &mut dyn FnMut(T) -> Result<()>| give(work(unit)?);
    for next in unordered(units, Some(AT_ONCE), AT_ONCE, each)? {
        let (number, result) = next?;
        if let Some(slot) = results.get_mut(number) {
            *slot = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}
