//! Ranges of the log that are fetched before they are needed, some before a listing has confirmed the file:
//! it may not exist, or differ.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use tokio::task::AbortHandle;

use super::{Client, ObjectStorage, meta, parts};
use crate::error::Result;
use crate::storage::{StoreKind, runtime};

/// The tag of the file, the start of the range, and its bytes; `None` if the request failed.
type RangeResponse = Option<(u64, u64, Bytes)>;

/// The shared response.
pub(in crate::storage) type SharedResponse = Shared<BoxFuture<'static, RangeResponse>>;

/// A pending request for a range. It is cancelled when this is dropped, unless someone else waits for it.
#[derive(Debug)]
pub struct PendingRange {
    path: String,
    arrived: SharedResponse,
    task: AbortHandle,
}

impl PendingRange {
    /// Starts to fetch a range of a file from `start` on.
    ///
    /// # Errors
    ///
    /// `storage.threads`.
    fn begin(
        path: &str,
        start: u64,
        fetch: impl Future<Output = Option<(u64, Bytes)>> + Send + 'static,
    ) -> Result<Self> {
        let (sender, receiver) = oneshot::channel();
        let task = runtime::spawn(async move {
            let fetched = fetch.await.map(|(tag, bytes)| (tag, start, bytes));
            let _nobody = sender.send(fetched);
        })?;
        let arrived = receiver.map(|fetched| fetched.ok().flatten());
        Ok(Self {
            path: path.to_owned(),
            arrived: arrived.boxed().shared(),
            task,
        })
    }

    /// Returns the response if it is about this file; it may contain the range.
    pub(in crate::storage) fn bytes(&self, path: &str) -> Option<SharedResponse> {
        (self.path == path).then(|| self.arrived.clone())
    }
}

impl Drop for PendingRange {
    fn drop(&mut self) {
        if self.arrived.strong_count() == Some(1) {
            self.task.abort();
        }
    }
}

/// Returns the tag and the bytes of a range, if the response contains all of it.
fn within(answer: RangeResponse, range: &Range<u64>) -> Option<(u64, Bytes)> {
    let (tag, start, bytes) = answer?;
    let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let to = usize::try_from(range.end.checked_sub(start)?).ok()?;
    (to <= bytes.len()).then(|| (tag, bytes.slice(from..to)))
}

impl ObjectStorage {
    /// Starts to fetch ranges of files, some of which were already requested; passes each to `keep` with
    /// the file's tag.
    pub(in crate::storage) fn fetch_ahead<P: Send + 'static>(
        &self,
        ranges: Vec<(P, String, Range<u64>, Option<SharedResponse>)>,
        keep: impl Fn(P, Bytes, u64) + Send + Sync + 'static,
    ) -> Result<()> {
        let Client { store, permits, .. } = self.client()?;
        let mut requests = Vec::with_capacity(ranges.len());
        for (promise, path, range, early) in ranges {
            requests.push((promise, self.object(&path)?, range, early));
        }
        let keep = Arc::new(keep);
        runtime::spawn(stream::iter(requests).for_each_concurrent(
            self.settings.max_requests(),
            move |(promise, object, range, early)| {
                let (store, keep) = (Arc::clone(&store), Arc::clone(&keep));
                let permits = Arc::clone(&permits);
                async move {
                    if let Some(early) = early
                        && let Some((tag, bytes)) = within(early.await, &range)
                    {
                        keep(promise, bytes, tag);
                        return;
                    }
                    let _permit = permits.acquire().await;
                    if let Some((tag, bytes)) = fetch_range(&*store, &object, range).await {
                        keep(promise, bytes, tag);
                    }
                }
            },
        ))
        .map(drop)
    }

    /// Returns `true` if listings distinguish versions of a file: web servers and HDFS may not.
    pub(in crate::storage) fn has_tags(&self) -> bool {
        !matches!(self.location.kind(), StoreKind::Http | StoreKind::Hdfs)
    }

    /// Starts to fetch a range of a file that may not exist.
    pub(in crate::storage) fn fetch_early(
        &self,
        path: &str,
        range: Range<u64>,
    ) -> Result<PendingRange> {
        let Client { store, permits, .. } = self.client()?;
        let object = self.object(path)?;
        let whole = range.clone();
        PendingRange::begin(path, range.start, async move {
            let _permit = permits.acquire().await;
            fetch_range(&*store, &object, whole).await
        })
    }

    /// Reads ranges separately; they are sorted and do not overlap.
    pub(in crate::storage) fn read_apart(
        &self,
        path: &str,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        runtime::block_on(self.reading(path, ranges, ranges.to_vec())?)?
    }
}

/// Fetches a range of a file with its tag; `None` for any failure.
async fn fetch_range(
    store: &dyn ObjectStore,
    object: &Path,
    range: Range<u64>,
) -> Option<(u64, Bytes)> {
    let max_bytes = range.end.checked_sub(range.start)?;
    let options = GetOptions {
        range: Some(GetRange::Bounded(range)),
        ..GetOptions::default()
    };
    let answer = store.get_opts(object, options).await.ok()?;
    let tag = meta(String::new(), &answer.meta).tag;
    Some((tag, parts::content(answer, max_bytes, object).await.ok()?))
}
