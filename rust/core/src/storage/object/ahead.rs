//! Ranges of the log that are fetched before they are needed, some before a listing has confirmed the file:
//! it may not exist, or differ.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use tokio::task::AbortHandle;

use super::{Client, ObjectStorage, parts, tag};
use crate::error::Result;
use crate::storage::{StoreKind, runtime};

/// The bytes of a file from `start` on, and the file's tag.
#[derive(Clone)]
pub(in crate::storage) struct RangeResponse {
    tag: u64,
    start: u64,
    bytes: Bytes,
}

impl RangeResponse {
    /// Returns the bytes of a range, if the response contains all of it.
    fn slice(&self, range: &Range<u64>) -> Option<Bytes> {
        let from = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(self.start)?).ok()?;
        (to <= self.bytes.len()).then(|| self.bytes.slice(from..to))
    }
}

/// A shared response; `None` if the request failed.
pub(in crate::storage) type SharedResponse = Shared<BoxFuture<'static, Option<RangeResponse>>>;

/// A range to fetch before it is needed.
pub(in crate::storage) struct RangeAhead<P> {
    /// The promise to fulfil with the bytes.
    pub(in crate::storage) promise: P,
    pub(in crate::storage) path: String,
    pub(in crate::storage) range: Range<u64>,
    /// The response to an earlier request, which may contain the range.
    pub(in crate::storage) early: Option<SharedResponse>,
}

/// A pending request for a range. Dropping it cancels the request, unless someone else waits for it.
#[derive(Debug)]
pub struct PendingRange {
    path: String,
    arrived: SharedResponse,
    task: AbortHandle,
}

impl PendingRange {
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

impl ObjectStorage {
    /// Starts to fetch ranges of files; passes each promise to `on_arrival` with the bytes and the file's
    /// tag, and drops it if its request fails.
    pub(in crate::storage) fn fetch_ahead<P: Send + 'static>(
        &self,
        ranges: Vec<RangeAhead<P>>,
        on_arrival: impl Fn(P, Bytes, u64) + Send + Sync + 'static,
    ) -> Result<()> {
        let Client { store, permits, .. } = self.client()?;
        let request = |range: RangeAhead<P>| Ok((self.object(&range.path)?, range));
        let requests: Vec<_> = ranges.into_iter().map(request).collect::<Result<_>>()?;
        let on_arrival = Arc::new(on_arrival);
        runtime::spawn(stream::iter(requests).for_each_concurrent(
            self.settings.max_requests(),
            move |(object, ahead)| {
                let (store, on_arrival) = (Arc::clone(&store), Arc::clone(&on_arrival));
                let permits = Arc::clone(&permits);
                async move {
                    let RangeAhead { promise, range, .. } = ahead;
                    if let Some(early) = ahead.early
                        && let Some(response) = early.await
                        && let Some(bytes) = response.slice(&range)
                    {
                        on_arrival(promise, bytes, response.tag);
                        return;
                    }
                    let _permit = permits.acquire().await;
                    if let Some(response) = fetch_range(&*store, &object, range).await {
                        on_arrival(promise, response.bytes, response.tag);
                    }
                }
            },
        ))
        .map(drop)
    }

    /// Returns `true` if listings have ETags: those of web servers and HDFS may not.
    pub(in crate::storage) fn has_tags(&self) -> bool {
        !matches!(self.location.kind(), StoreKind::Http | StoreKind::Hdfs)
    }

    /// Starts to fetch a range of a file that may not exist.
    ///
    /// # Errors
    ///
    /// Invalid argument: the path or an option is not valid. Storage: `storage.threads`.
    pub(in crate::storage) fn fetch_early(
        &self,
        path: &str,
        range: Range<u64>,
    ) -> Result<PendingRange> {
        let Client { store, permits, .. } = self.client()?;
        let object = self.object(path)?;
        let (sender, receiver) = oneshot::channel();
        let task = runtime::spawn(async move {
            let _permit = permits.acquire().await;
            let _receiver_may_be_gone = sender.send(fetch_range(&*store, &object, range).await);
        })?;
        let arrived = receiver.map(|fetched| fetched.ok().flatten());
        Ok(PendingRange {
            path: path.to_owned(),
            arrived: arrived.boxed().shared(),
            task,
        })
    }

    /// Reads ranges separately; they are sorted and do not overlap.
    pub(in crate::storage) fn read_separately(
        &self,
        path: &str,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        runtime::block_on(self.range_reader(path, ranges, ranges.to_vec())?)?
    }
}

/// Fetches a range of a file with its tag; `None` for any failure.
async fn fetch_range(
    store: &dyn ObjectStore,
    object: &Path,
    range: Range<u64>,
) -> Option<RangeResponse> {
    let start = range.start;
    let max_bytes = range.end.checked_sub(start)?;
    let options = GetOptions {
        range: Some(GetRange::Bounded(range)),
        ..GetOptions::default()
    };
    let response = store.get_opts(object, options).await.ok()?;
    let tag = tag(response.meta.e_tag.as_deref());
    let bytes = parts::content(response, max_bytes, object).await.ok()?;
    Some(RangeResponse { tag, start, bytes })
}
