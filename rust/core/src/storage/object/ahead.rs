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

/// The tag of the file, the start of the range, and its bytes; `None` if the request failed.
type RangeResponse = Option<(u64, u64, Bytes)>;

/// The shared response.
pub(in crate::storage) type SharedResponse = Shared<BoxFuture<'static, RangeResponse>>;

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

/// Returns the tag and the bytes of a range, if the response contains all of it.
fn within(response: RangeResponse, range: &Range<u64>) -> Option<(u64, Bytes)> {
    let (tag, start, bytes) = response?;
    let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let to = usize::try_from(range.end.checked_sub(start)?).ok()?;
    (to <= bytes.len()).then(|| (tag, bytes.slice(from..to)))
}

impl ObjectStorage {
    /// Starts to fetch ranges of files, some of which were already requested; passes each to `on_arrival`
    /// with the file's tag.
    pub(in crate::storage) fn fetch_ahead<P: Send + 'static>(
        &self,
        ranges: Vec<(P, String, Range<u64>, Option<SharedResponse>)>,
        on_arrival: impl Fn(P, Bytes, u64) + Send + Sync + 'static,
    ) -> Result<()> {
        let Client { store, permits, .. } = self.client()?;
        let mut requests = Vec::with_capacity(ranges.len());
        for (promise, path, range, early) in ranges {
            requests.push((promise, self.object(&path)?, range, early));
        }
        let on_arrival = Arc::new(on_arrival);
        runtime::spawn(stream::iter(requests).for_each_concurrent(
            self.settings.max_requests(),
            move |(promise, object, range, early)| {
                let (store, on_arrival) = (Arc::clone(&store), Arc::clone(&on_arrival));
                let permits = Arc::clone(&permits);
                async move {
                    if let Some(early) = early
                        && let Some((tag, bytes)) = within(early.await, &range)
                    {
                        on_arrival(promise, bytes, tag);
                        return;
                    }
                    let _permit = permits.acquire().await;
                    if let Some((tag, bytes)) = fetch_range(&*store, &object, range).await {
                        on_arrival(promise, bytes, tag);
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
    /// `storage.threads`.
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
            let start = range.start;
            let fetched = fetch_range(&*store, &object, range).await;
            let _receiver_may_be_gone =
                sender.send(fetched.map(|(tag, bytes)| (tag, start, bytes)));
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
) -> Option<(u64, Bytes)> {
    let max_bytes = range.end.checked_sub(range.start)?;
    let options = GetOptions {
        range: Some(GetRange::Bounded(range)),
        ..GetOptions::default()
    };
    let response = store.get_opts(object, options).await.ok()?;
    let tag = tag(response.meta.e_tag.as_deref());
    Some((tag, parts::content(response, max_bytes, object).await.ok()?))
}
