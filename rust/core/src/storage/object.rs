//! A table on an object store or in memory: `object_store` behind the synchronous interface.
//!
//! The client is built on first use, and again in a forked child, which must not use its parent's
//! connections.

pub(super) mod ahead;
mod config;
mod connector;
mod hdfs;
mod listing;
mod parts;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::{StreamExt, stream};
use object_store::list::PaginatedListStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::sync::Semaphore;

use self::config::Settings;
use super::failures::{Unreachable, beyond_the_end, check_complete, check_size, repeat, target_of};
use super::file_bytes::merged;
use super::per_process::PerProcess;
use super::{
    FileMeta, Location, MAX_PARALLEL_FILE_BYTES, OnEnd, Request, Storage, StoreKind,
    refuse_parents, runtime,
};
use crate::error::{Error, Result};

/// The maximum number of parallel deletions, and of parallel requests of a listing.
const AT_ONCE: usize = 64;

#[derive(Clone)]
struct Client {
    store: Arc<dyn ObjectStore>,
    /// For paginated listings, which can begin at a name and skip sub-directories.
    pages: Option<Arc<dyn PaginatedListStore>>,
    /// One permit for each request for bytes that may be pending.
    permits: Arc<Semaphore>,
}

/// The outcome of an attempt to create a file.
enum Creation {
    /// The file was created, and has this tag.
    Created(u64),
    Existed,
    /// Another writer is creating the file.
    Contended,
}

/// Storage below one prefix of an object store.
pub struct ObjectStorage {
    location: Location,
    settings: Arc<Settings>,
    client: PerProcess<Client>,
}

impl fmt::Debug for ObjectStorage {
    // without the options, some of which are secret
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStorage")
            .field("root", &self.location.root())
            .finish_non_exhaustive()
    }
}

impl ObjectStorage {
    /// Creates the storage at a remote or in-memory `location`, without I/O.
    ///
    /// `options` have `object_store`'s configuration keys, in either case, or Hadoop's for HDFS; environment
    /// variables of the usual names (`AWS_…`, `AZURE_…`, `GOOGLE_…`) are the defaults. In addition,
    /// `max_retries` and `retry_timeout` limit retries of failed requests, and `max_concurrent_requests`
    /// the number of pending requests for bytes.
    ///
    /// # Errors
    ///
    /// Invalid argument: `options.unknown` for an option that the store does not have, `options.value` for an
    /// invalid value.
    pub fn new(location: &Location, options: &[(String, String)]) -> Result<Self> {
        Ok(Self {
            location: location.clone(),
            settings: Arc::new(Settings::new(location.kind(), options)?),
            client: PerProcess::new(),
        })
    }

    fn client(&self) -> Result<Client> {
        let client = self.client.get_or_try_init(|| match self.location.kind() {
            StoreKind::Memory => {
                let store = memory(self.location.authority());
                Ok(self.settings.client(store, None))
            }
            _ => self.settings.build(&self.location),
        });
        client.cloned()
    }

    /// Creates a file unless it exists; returns its tag, 0 if the store has none, and `None` if it existed.
    pub(super) fn create(&self, path: &str, bytes: Bytes) -> Result<Option<u64>> {
        let (object, store) = (self.object(path)?, self.client()?.store);
        let payload = PutPayload::from(bytes);
        let creation = async move {
            match store
                .put_opts(&object, payload, PutMode::Create.into())
                .await
            {
                Ok(created) => Ok(Creation::Created(tag(created.e_tag.as_deref()))),
                // some stores return the same while another writer is uploading, which may fail
                Err(object_store::Error::AlreadyExists { .. }) => match store.head(&object).await {
                    Ok(_) => Ok(Creation::Existed),
                    Err(object_store::Error::NotFound { .. }) => Ok(Creation::Contended),
                    Err(cause) => Err(cause),
                },
                Err(cause) => Err(cause),
            }
        };
        let (outcome, may_be_executed) = runtime::block_on(connector::observed(creation))?;
        let creation = outcome.map_err(|cause| {
            let error = self.failed("write", path, cause);
            if !may_be_executed || error.code() == "storage.io" {
                return error;
            }
            // not the code of a refusal, after which nothing would have been written
            let message =
                "the store failed to confirm that it wrote this file, and refused to repeat it";
            Error::storage("storage.io", message)
                .at_path(path)
                .because(error)
        })?;
        match creation {
            Creation::Created(tag) => Ok(Some(tag)),
            Creation::Existed => Ok(None),
            Creation::Contended => {
                let message = "another writer is writing this file: try again";
                Err(Error::storage("storage.contended", message).at_path(path))
            }
        }
    }

    fn key(&self, path: &str) -> Result<String> {
        refuse_parents(path)?;
        let key = match (path.strip_prefix('/'), self.location.key()) {
            (Some(absolute), _) => absolute.to_owned(),
            (None, "") => path.to_owned(),
            (None, prefix) => format!("{prefix}/{path}"),
        };
        Ok(key.trim_end_matches('/').to_owned())
    }

    fn object(&self, path: &str) -> Result<Path> {
        Path::parse(self.key(path)?).map_err(|cause| {
            Error::invalid(
                "storage.path",
                "an object store cannot hold a file of this name",
            )
            .at_path(path)
            .because(cause)
        })
    }

    fn failed(&self, verb: &str, path: &str, cause: object_store::Error) -> Error {
        failed(&self.settings, verb, path, cause)
    }

    /// Runs `work` on the objects of these paths, `at_once` of them in parallel; results are in their order.
    fn in_parallel<T, F>(
        &self,
        verb: &str,
        paths: &[&str],
        at_once: usize,
        work: impl Fn(Path) -> F + Send + 'static,
    ) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let objects: Vec<Result<Path>> = paths.iter().map(|path| self.object(path)).collect();
        let pending = stream::iter(objects).map(move |object| {
            let pending = object.map(&work);
            async move { Ok(pending?.await) }
        });
        match runtime::block_on(pending.buffered(at_once).collect::<Vec<Result<_>>>()) {
            Ok(results) => results
                .into_iter()
                .zip(paths)
                .map(|(result, path)| result?.map_err(|cause| self.failed(verb, path, cause)))
                .collect(),
            Err(error) => repeat(&error, paths),
        }
    }

    /// Returns a future that reads ranges by these requests, which are sorted and do not overlap.
    fn range_reader(
        &self,
        path: &str,
        ranges: &[Range<u64>],
        requests: Vec<Range<u64>>,
    ) -> Result<impl Future<Output = Result<Vec<Bytes>>> + Send + 'static> {
        let (object, client) = (self.object(path)?, self.client()?);
        if let Some(bad) = ranges.iter().find(|range| range.start > range.end) {
            return Err(beyond_the_end(path, bad, bad.start));
        }
        let (settings, path) = (Arc::clone(&self.settings), path.to_owned());
        let ranges = ranges.to_vec();
        Ok(async move {
            let fetched = client.fetch(&object, &requests).await;
            let result = fetched.map(|fetched| {
                ranges
                    .iter()
                    .map(|range| slice_of(range, &requests, &fetched))
                    .collect::<Option<Vec<_>>>()
            });
            let cause = match result {
                Ok(Some(pieces)) => return Ok(pieces),
                Ok(None) => None,
                Err(absent @ object_store::Error::NotFound { .. }) => {
                    return Err(failed(&settings, "read", &path, absent));
                }
                Err(cause) => Some(cause),
            };
            // stores treat a range beyond the end differently: compare with the size instead
            let size = match client.store.head(&object).await {
                Ok(meta) => meta.size,
                Err(cause) => return Err(failed(&settings, "read", &path, cause)),
            };
            if let Some(bad) = ranges.iter().find(|range| range.end > size) {
                return Err(beyond_the_end(&path, bad, size));
            }
            Err(match cause {
                Some(cause) => failed(&settings, "read", &path, cause),
                None => Error::storage("storage.io", "the store sent fewer bytes than requested")
                    .at_path(path),
            })
        })
    }
}

fn failed(settings: &Settings, verb: &str, path: &str, cause: object_store::Error) -> Error {
    use object_store::Error as Cause;
    let target = target_of(verb);
    let refused = || {
        (
            "storage.permission",
            format!("not allowed to {verb} {target}: check the credentials in storage_options"),
        )
    };
    let (code, message) = match &cause {
        Cause::NotFound { .. } => {
            return Error::storage("storage.not_found", "there is no such file").at_path(path);
        }
        Cause::PermissionDenied { .. } | Cause::Unauthenticated { .. } => refused(),
        _ if connector::is_refused_listing(&cause) => refused(),
        Cause::NotSupported { .. } | Cause::NotImplemented { .. } => (
            "storage.unsupported",
            format!("this store cannot {verb} files in this way"),
        ),
        _ if connector::is_refused_redirect(&cause) => (
            "storage.redirect",
            format!(
                "cannot {verb} {target}: the server redirects the request to another server, which is not \
                 followed; if you trust that server, open the table by its address"
            ),
        ),
        _ => match hdfs::refusal(&cause) {
            Some((code, why)) => (code, format!("cannot {verb} {target}: {why}")),
            None => ("storage.io", format!("cannot {verb} {target}")),
        },
    };
    let error = Error::storage(code, message).at_path(path);
    let text = settings.redact(&cause.to_string()).into_owned();
    if connector::is_without_response(&cause) || hdfs::is_without_response(&cause) {
        error.because(Unreachable(text))
    } else {
        error.because(text)
    }
}

impl Storage for ObjectStorage {
    fn root(&self) -> &str {
        self.location.root()
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        self.list_divided(directory, from, &[])
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_at_most(path, u64::MAX)
    }

    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        let (object, client) = (self.object(path)?, self.client()?);
        let read = runtime::block_on(async move {
            let Client { store, permits, .. } = client;
            let _permit = permits.acquire().await;
            let response = store.get(&object).await?;
            let size = response.meta.size;
            let bytes = if size <= max_bytes {
                Some(parts::content(response, size, &object).await?)
            } else {
                None
            };
            Ok((size, bytes))
        })?;
        let (size, bytes) = read.map_err(|cause| self.failed("read", path, cause))?;
        check_size(path, size, max_bytes)?;
        let bytes = bytes.unwrap_or_default();
        check_complete(path, bytes.len(), size)?;
        Ok(bytes)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        runtime::block_on(self.range_reader(path, ranges, merged(ranges))?)?
    }

    fn max_requests(&self) -> Option<usize> {
        Some(self.settings.max_requests())
    }

    fn begin_read(&self, path: &str, ranges: &[Range<u64>], on_end: OnEnd) -> Request {
        let started = Request::start(on_end, |promise| {
            let reading = self.range_reader(path, ranges, ranges.to_vec())?;
            runtime::spawn(async move { promise.fulfil(reading.await) })
        });
        started.unwrap_or_else(|error| Request::ready(Err(error)))
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        let Client { store, permits, .. } = match self.client() {
            Ok(client) => client,
            Err(error) => return repeat(&error, paths),
        };
        self.in_parallel("read", paths, self.settings.max_requests(), move |object| {
            let (store, permits) = (Arc::clone(&store), Arc::clone(&permits));
            async move {
                let _permit = permits.acquire().await;
                let response = store.get(&object).await?;
                parts::content(response, MAX_PARALLEL_FILE_BYTES, &object).await
            }
        })
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        let (object, store) = (self.object(path)?, self.client()?.store);
        let object_meta = runtime::block_on(async move { store.head(&object).await })?
            .map_err(|cause| self.failed("look at", path, cause))?;
        Ok(meta(path.to_owned(), &object_meta))
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let bytes = Bytes::copy_from_slice(bytes);
        self.create(path, bytes).map(|created| created.is_some())
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let (object, store) = (self.object(path)?, self.client()?.store);
        let payload = PutPayload::from(Bytes::copy_from_slice(bytes));
        runtime::block_on(async move { store.put(&object, payload).await })?
            .map(drop)
            .map_err(|cause| self.failed("write", path, cause))
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        self.list_files_below(directory, enter)
    }

    fn copy(&self, from: &str, to: &str) -> Result<bool> {
        use object_store::Error::{AlreadyExists, NotImplemented, NotSupported};
        let (source, target) = (self.object(from)?, self.object(to)?);
        let store = self.client()?.store;
        runtime::block_on(async move {
            match store.copy_if_not_exists(&source, &target).await {
                Err(AlreadyExists { .. }) => Ok(false),
                // not every store has a conditional copy
                Err(NotImplemented { .. } | NotSupported { .. }) => {
                    store.copy(&source, &target).await.map(|()| true)
                }
                outcome => outcome.map(|()| true),
            }
        })?
        .map_err(|cause| self.failed("copy", from, cause))
    }

    fn put_pieces(
        &self,
        path: &str,
        pieces: &mut dyn FnMut() -> Result<Option<Bytes>>,
    ) -> Result<bool> {
        let (object, store) = (self.object(path)?, self.client()?.store);
        let failed = |cause| self.failed("write", path, cause);
        match self.head(path) {
            Ok(_) => return Ok(false),
            Err(absent) if absent.code() == "storage.not_found" => {}
            Err(error) => return Err(error),
        }
        let mut upload = runtime::block_on(async move { store.put_multipart(&object).await })?
            .map_err(failed)?;
        loop {
            let sent = match pieces() {
                Ok(None) => break,
                Ok(Some(piece)) => {
                    let sent;
                    (sent, upload) = runtime::block_on(async move {
                        let sent = upload.put_part(piece.into()).await;
                        (sent, upload)
                    })?;
                    sent.map_err(failed)
                }
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                let _unused_parts_may_stay = runtime::block_on(async move { upload.abort().await });
                return Err(error);
            }
        }
        runtime::block_on(async move { upload.complete().await })?
            .map(|_| true)
            .map_err(failed)
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        let store = match self.client() {
            Ok(client) => client.store,
            Err(error) => return repeat(&error, paths),
        };
        self.in_parallel("delete", paths, AT_ONCE, move |object| {
            let store = Arc::clone(&store);
            async move {
                match store.delete(&object).await {
                    Err(object_store::Error::NotFound { .. }) => Ok(()),
                    done => done,
                }
            }
        })
    }
}

/// Returns the in-memory store of this name, which lives as long as the process.
fn memory(name: &str) -> Arc<dyn ObjectStore> {
    static STORES: Mutex<Option<HashMap<String, Arc<InMemory>>>> = Mutex::new(None);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let store = stores
        .get_or_insert_default()
        .entry(name.to_owned())
        .or_default();
    let store = Arc::clone(store);
    #[cfg(test)]
    if name.starts_with("far-") {
        return tests::far::far(name, store);
    }
    store
}

fn meta(path: String, object: &ObjectMeta) -> FileMeta {
    FileMeta {
        path,
        size: object.size,
        modification_time: object.last_modified.timestamp_millis(),
        // not derived from size and time, which two versions of a file may share
        tag: tag(object.e_tag.as_deref()),
    }
}

/// Returns the tag of an object, 0 without an ETag; some responses quote the ETag, others do not.
fn tag(e_tag: Option<&str>) -> u64 {
    let Some(e_tag) = e_tag else { return 0 };
    let mut hasher = DefaultHasher::new();
    e_tag.trim_matches('"').hash(&mut hasher);
    hasher.finish().max(1)
}

/// Returns the bytes of one range from those fetched; `None` if the store sent fewer than requested.
fn slice_of(range: &Range<u64>, fetches: &[Range<u64>], fetched: &[Bytes]) -> Option<Bytes> {
    if range.is_empty() {
        return Some(Bytes::new());
    }
    let index = fetches
        .partition_point(|fetch| fetch.start <= range.start)
        .checked_sub(1)?;
    let (fetch, bytes) = (fetches.get(index)?, fetched.get(index)?);
    let start = usize::try_from(range.start.checked_sub(fetch.start)?).ok()?;
    let end = usize::try_from(range.end.checked_sub(fetch.start)?).ok()?;
    (end <= bytes.len()).then(|| bytes.slice(start..end))
}

#[cfg(test)]
pub(super) mod tests;
