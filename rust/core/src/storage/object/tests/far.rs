//! A remote store for tests: each response takes a while, and a log shows which requests waited for
//! others.
//!
//! Every `memory://` store whose name begins with `far-` is one.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// The time until each response: long compared with the work of tests between requests, even on a busy
/// machine.
const LATENCY: Duration = Duration::from_millis(150);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The verb and the path, e.g. `GET t/a`.
    pub(crate) line: String,
    began: Instant,
    ended: Option<Instant>,
}

/// Returns the length of the longest chain of requests, each of which began after the previous one had ended.
pub(crate) fn rounds(requests: &[Request]) -> usize {
    let mut ended: Vec<&Request> = requests.iter().collect();
    ended.sort_by_key(|request| request.ended);
    let (mut rounds, mut last) = (0, None);
    for request in ended {
        if last.is_none_or(|last| request.began >= last) {
            rounds += 1;
            last = request.ended;
        }
    }
    rounds
}

type Log = Arc<Mutex<Vec<Request>>>;

fn locked(log: &Log) -> MutexGuard<'_, Vec<Request>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn log_of(name: &str) -> Log {
    static LOGS: Mutex<Option<HashMap<String, Log>>> = Mutex::new(None);
    let mut logs = LOGS.lock().unwrap_or_else(PoisonError::into_inner);
    let log = logs.get_or_insert_default().entry(name.to_owned());
    Arc::clone(log.or_default())
}

/// Returns the requests to the store of this name so far, and clears them.
pub(crate) fn taken(name: &str) -> Vec<Request> {
    std::mem::take(&mut *locked(&log_of(name)))
}

/// Returns the store with delayed responses and a log of its requests.
pub(crate) fn far(name: &str, store: Arc<InMemory>) -> Arc<dyn ObjectStore> {
    let log = log_of(name);
    Arc::new(Far { store, log })
}

#[derive(Debug)]
struct Far {
    store: Arc<InMemory>,
    log: Log,
}

impl fmt::Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Far {
    async fn wait(&self, line: String) {
        let index = {
            let mut log = locked(&self.log);
            log.push(Request {
                line,
                began: Instant::now(),
                ended: None,
            });
            log.len() - 1
        };
        tokio::time::sleep(LATENCY).await;
        if let Some(request) = locked(&self.log).get_mut(index) {
            request.ended = Some(Instant::now());
        }
    }
}

#[async_trait]
impl ObjectStore for Far {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.wait(format!("PUT {location}")).await;
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.wait(format!("POST {location}")).await;
        self.store.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let verb = if options.head { "HEAD" } else { "GET" };
        self.wait(format!("{verb} {location}")).await;
        self.store.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.wait(format!("GET {location}")).await;
        self.store.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let far = Self {
            store: Arc::clone(&self.store),
            log: Arc::clone(&self.log),
        };
        let prefix = prefix.cloned();
        let listed = async move {
            far.wait(format!("LIST {}", prefix.clone().unwrap_or_default()))
                .await;
            far.store.list(prefix.as_ref())
        };
        futures::stream::once(listed).flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let name = prefix.cloned().unwrap_or_default();
        self.wait(format!("LIST {name}")).await;
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.wait(format!("COPY {from}")).await;
        self.store.copy_opts(from, to, options).await
    }
}
