//! Pending requests for byte ranges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::task::AbortHandle;

use super::interrupt;
use crate::error::{Error, Result};

/// Called when a request has ended, successfully or not.
pub type OnEnd = Box<dyn FnOnce() + Send>;

/// A request for ranges of a file. It is cancelled when it is dropped.
#[derive(Debug)]
pub struct Request {
    response: Arc<Response>,
    task: Option<AbortHandle>,
}

#[derive(Debug, Default)]
struct Response {
    result: Mutex<Option<Result<Vec<Bytes>>>>,
    ended: AtomicBool,
    changed: Condvar,
}

impl Response {
    fn lock(&self) -> MutexGuard<'_, Option<Result<Vec<Bytes>>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, result: Result<Vec<Bytes>>) {
        self.lock().get_or_insert(result);
        self.ended.store(true, Ordering::Release);
        self.changed.notify_all();
    }
}

impl Request {
    /// Creates a request that has ended with this result.
    pub fn ready(result: Result<Vec<Bytes>>) -> Self {
        let response = Arc::new(Response::default());
        response.set(result);
        Self {
            response,
            task: None,
        }
    }

    /// Creates a request that has ended with this result, and calls `on_end`.
    pub fn ended(result: Result<Vec<Bytes>>, on_end: OnEnd) -> Self {
        let request = Self::ready(result);
        on_end();
        request
    }

    /// Sends a request. `send` receives the promise of its response, and returns the handle of its task,
    /// which is aborted when the request is dropped.
    pub(super) fn start(
        on_end: OnEnd,
        send: impl FnOnce(Promise) -> Result<AbortHandle>,
    ) -> Result<Self> {
        let response = Arc::new(Response::default());
        let promise = Promise {
            response: Arc::clone(&response),
            on_end: Some(on_end),
        };
        let task = Some(send(promise)?);
        Ok(Self { response, task })
    }

    /// Returns `true` if the response has arrived.
    pub fn has_ended(&self) -> bool {
        self.response.ended.load(Ordering::Acquire)
    }

    /// Waits for the bytes of the ranges.
    ///
    /// # Errors
    ///
    /// The error of the request, on every call; `interrupted`.
    pub fn wait(&self) -> Result<Vec<Bytes>> {
        loop {
            let result = self.response.lock();
            let waited =
                self.response
                    .changed
                    .wait_timeout_while(result, interrupt::INTERVAL, |result| result.is_none());
            match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
                Some(Ok(bytes)) => return Ok(bytes.clone()),
                Some(Err(error)) => return Err(error.clone()),
                None => {}
            }
            interrupt::check()?; // without the lock: it may run a signal handler
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The promise of a response. Dropping it without a response ends the request with an error.
pub(super) struct Promise {
    response: Arc<Response>,
    on_end: Option<OnEnd>,
}

impl Promise {
    /// Fulfils the promise.
    pub(super) fn fulfil(self, result: Result<Vec<Bytes>>) {
        self.response.set(result);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.response.ended.load(Ordering::Acquire) {
            let message = "a request ended early: please report this as a bug";
            self.response
                .set(Err(Error::corrupt("internal.panic", message)));
        }
        if let Some(on_end) = self.on_end.take() {
            on_end();
        }
    }
}

#[cfg(test)]
mod tests;
