//! One piece of work beside the caller's own.

use super::{Unordered, unordered};
use crate::error::{Error, Result};

/// Work that has begun, and whose result is waited for.
pub struct Aside<T>(Unordered<T>);

/// Begins `work` on a thread of its own. Whoever does not wait for it lets it end by itself.
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
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;

    use super::aside;
    use crate::error::Error;

    #[test]
    fn both_go_on_at_once() {
        let (sender, receiver) = channel();
        let (back, there) = channel();
        let (receiver, back) = (std::sync::Mutex::new(receiver), std::sync::Mutex::new(back));
        let other = aside(move || {
            let number: u32 = receiver.lock().unwrap().recv().unwrap();
            back.lock().unwrap().send(number + 1).unwrap();
            Ok("done")
        })
        .unwrap();
        sender.send(1).unwrap();
        assert_eq!(there.recv().unwrap(), 2);
        assert_eq!(other.wait().unwrap(), "done");
    }

    #[test]
    fn errors_come_out_of_waiting() {
        let failing = aside(|| Err::<(), _>(Error::storage("storage.denied", "no"))).unwrap();
        assert_eq!(failing.wait().unwrap_err().code(), "storage.denied");
    }
}
