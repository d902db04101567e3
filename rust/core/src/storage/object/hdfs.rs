//! HDFS: its client, and the parts that it lacks.

use std::fmt;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use hdfs_native::HdfsError;
use hdfs_native_object_store::{HdfsObjectStore, HdfsObjectStoreBuilder};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, RenameTargetMode, Result, RetryConfig,
};
use uuid::Uuid;

use super::super::{Location, runtime};
use super::connector::record_unknown_outcome;

/// The client, with timeouts, and with writes that are retried and leave no file if another writer wins.
#[derive(Debug)]
pub(super) struct Hdfs {
    client: HdfsObjectStore,
    retries: RetryConfig,
    /// For each response of a name node, and for each piece of data.
    timeout: Duration,
}

/// The minimum speed of a data node, in bytes per second.
const MIN_SPEED: u64 = 1 << 20;

/// The number of responses that the timeout for a listing of one directory allows for. By default, each has
/// up to a thousand names.
const RESPONSES_PER_LISTING: u32 = 10;

impl Hdfs {
    /// Creates the store of a location. `options` take precedence over the files in `HADOOP_CONF_DIR`,
    /// which configure name services, and the default file system for locations that name none.
    pub(super) fn new(
        location: &Location,
        options: Vec<(String, String)>,
        retries: RetryConfig,
        timeout: Duration,
    ) -> crate::error::Result<Result<Self>> {
        let mut builder = HdfsObjectStoreBuilder::new().with_config(options);
        if !location.authority().is_empty() {
            builder = builder.with_url(format!("hdfs://{}", location.authority()));
        }
        // otherwise it would start its own runtime
        let client = runtime::block_on(async move { builder.build() })?;
        Ok(client.map(|client| Self {
            client,
            retries,
            timeout,
        }))
    }

    /// Returns the timeout for a request with this many bytes of data.
    fn timeout_of(&self, bytes: u64) -> Duration {
        self.timeout
            .saturating_add(Duration::from_secs(bytes / MIN_SPEED))
    }

    /// Creates a file by renaming a temporary one, which fails if the target exists.
    async fn put_if_absent(&self, location: &Path, payload: PutPayload) -> Result<PutResult> {
        let temporary = temporary_path(location)?;
        let put = self.overwrite(&temporary, payload).await?;
        self.rename_temporary(&temporary, location, RenameTargetMode::Create)
            .await?;
        Ok(put)
    }

    /// Renames a temporary file, with retries; deletes it if the name node refuses.
    async fn rename_temporary(
        &self,
        temporary: &Path,
        location: &Path,
        mode: RenameTargetMode,
    ) -> Result<()> {
        let mut tries = Retries::new(&self.retries);
        loop {
            let options = RenameOptions::new().with_target_mode(mode);
            let rename = self.client.rename_opts(temporary, location, options);
            match with_timeout(self.timeout, rename).await {
                Ok(()) => return Ok(()),
                // no other client knows the temporary name: the response to an earlier rename was lost
                Err(cause)
                    if tries.count > 0
                        && exception_name(&cause) == Some("FileNotFoundException") =>
                {
                    return Ok(());
                }
                Err(cause) if is_disconnect(&cause) => {
                    if !tries.wait().await {
                        return Err(cause); // the name node may still execute the request
                    }
                }
                Err(cause) => {
                    if tries.count > 0 {
                        record_unknown_outcome(); // an earlier rename may have been executed
                    }
                    self.delete_temporary(temporary).await;
                    return Err(cause);
                }
            }
        }
    }

    /// Deletes a temporary file after an error, which counts more than that of the deletion.
    async fn delete_temporary(&self, temporary: &Path) {
        let delete = self.client.delete(temporary);
        let _the_first_error_counts = with_timeout(self.timeout, delete).await;
    }

    /// Writes a file, with retries. The client does not retry writes, since not all can be repeated; this one
    /// can.
    async fn overwrite(&self, location: &Path, payload: PutPayload) -> Result<PutResult> {
        let mut tries = Retries::new(&self.retries);
        loop {
            let put = self.client.put(location, payload.clone());
            match with_timeout(self.timeout_of(payload.content_length() as u64), put).await {
                Err(cause) if is_disconnect(&cause) && tries.wait().await => {}
                done => return done,
            }
        }
    }
}

/// The number of retries so far, and the maximum.
struct Retries {
    count: usize,
    max: usize,
    /// `None` if it exceeds the range of the system's clock.
    deadline: Option<Instant>,
    wait: Duration,
    longest: Duration,
}

impl Retries {
    fn new(retries: &RetryConfig) -> Self {
        Self {
            count: 0,
            max: retries.max_retries,
            deadline: Instant::now().checked_add(retries.retry_timeout),
            wait: retries.backoff.init_backoff,
            longest: retries.backoff.max_backoff,
        }
    }

    /// Waits before a retry; returns `false` if there are no more retries.
    async fn wait(&mut self) -> bool {
        let is_late = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if self.count >= self.max || is_late {
            return false;
        }
        self.count += 1;
        tokio::time::sleep(self.wait).await;
        self.wait = self.longest.min(self.wait.saturating_mul(2));
        true
    }
}

impl fmt::Display for Hdfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Hdfs {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        match options.mode {
            PutMode::Create => self.put_if_absent(location, payload).await,
            PutMode::Overwrite => self.overwrite(location, payload).await,
            PutMode::Update(_) => self.client.put_opts(location, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.client.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut response =
            with_timeout(self.timeout, self.client.get_opts(location, options)).await?;
        if let GetResultPayload::Stream(pieces) = response.payload {
            response.payload = GetResultPayload::Stream(with_item_timeout(pieces, self.timeout));
        }
        Ok(response)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = ranges
            .iter()
            .map(|range| range.end.saturating_sub(range.start))
            .sum();
        with_timeout(
            self.timeout_of(bytes),
            self.client.get_ranges(location, ranges),
        )
        .await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        with_item_timeout(self.client.delete_stream(locations), self.timeout)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        with_item_timeout(self.client.list(prefix), self.timeout)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let timeout = self.timeout.saturating_mul(RESPONSES_PER_LISTING);
        with_timeout(timeout, self.client.list_with_delimiter(prefix)).await
    }

    /// Copies to a temporary file first: the client writes the copy under the name that it is given, where an
    /// incomplete one would count as the copy.
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let mode = match options.mode {
            CopyMode::Create => RenameTargetMode::Create,
            CopyMode::Overwrite => RenameTargetMode::Overwrite,
        };
        if mode == RenameTargetMode::Create
            && with_timeout(self.timeout, self.client.head(to))
                .await
                .is_ok()
        {
            return Err(Error::AlreadyExists {
                path: to.to_string(),
                source: "the target of the copy exists".into(),
            });
        }
        let size = with_timeout(self.timeout, self.client.head(from))
            .await?
            .size;
        let temporary = temporary_path(to)?;
        let copy = self.client.copy(from, &temporary);
        if let Err(cause) = with_timeout(self.timeout_of(size), copy).await {
            self.delete_temporary(&temporary).await;
            return Err(cause);
        }
        self.rename_temporary(&temporary, to, mode).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        with_timeout(self.timeout, self.client.rename_opts(from, to, options)).await
    }
}

/// Returns the path of a temporary file, which no other client uses, in the directory of a file.
fn temporary_path(location: &Path) -> Result<Path> {
    let whole = location.as_ref();
    let (directory, name) = whole.rsplit_once('/').unwrap_or(("", whole));
    let temporary = format!("{directory}/.{name}.{}.tmp", Uuid::new_v4());
    Ok(Path::parse(temporary)?)
}

/// Waits for a response no longer than the timeout; the client itself has none.
async fn with_timeout<T>(
    timeout: Duration,
    response: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::time::timeout(timeout, response)
        .await
        .unwrap_or_else(|_| Err(timed_out(timeout)))
}

/// Ends a stream with an error if an item takes longer than the timeout.
fn with_item_timeout<T: Send + 'static>(
    items: BoxStream<'static, Result<T>>,
    timeout: Duration,
) -> BoxStream<'static, Result<T>> {
    let next = move |items: Option<BoxStream<'static, Result<T>>>| async move {
        let mut items = items?;
        match tokio::time::timeout(timeout, items.next()).await {
            Ok(item) => item.map(|item| (item, Some(items))),
            Err(_) => Some((Err(timed_out(timeout)), None)),
        }
    };
    futures::stream::unfold(Some(items), next).boxed()
}

/// Returns the error for a lost connection: the name node may still execute the request.
fn timed_out(timeout: Duration) -> Error {
    let message =
        format!("no response within {timeout:?}; set the option `timeout` to wait longer");
    Error::Generic {
        store: "HDFS",
        source: Box::new(HdfsError::IOError(io::Error::new(
            io::ErrorKind::TimedOut,
            message,
        ))),
    }
}

/// Returns the code and the message for a refusal of a name node; `None` for other errors.
pub(super) fn refusal(cause: &Error) -> Option<(&'static str, &'static str)> {
    let permission = "the name node does not allow it: check the user (HADOOP_USER_NAME, or a \
                      Kerberos ticket) and the permissions of the directory";
    if let Some(HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism) =
        hdfs_error(cause)
    {
        return Some(("storage.permission", permission));
    }
    match exception_name(cause)? {
        "AccessControlException" | "AuthorizationException" | "InvalidToken" => {
            Some(("storage.permission", permission))
        }
        "DSQuotaExceededException"
        | "NSQuotaExceededException"
        | "QuotaByStorageTypeExceededException" => Some((
            "storage.full",
            "the quota of the directory is exhausted: delete files, or have it raised",
        )),
        "SafeModeException" => Some((
            "storage.read_only",
            "the name node is in safe mode: wait until it leaves it",
        )),
        "ParentNotDirectoryException" => Some((
            "storage.name",
            "a parent directory of this file is itself a file: write elsewhere",
        )),
        _ => None,
    }
}

/// Returns the name of the exception in the response of a name node.
fn exception_name(cause: &Error) -> Option<&str> {
    match hdfs_error(cause)? {
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) => {
            class.rsplit(['.', '$']).next()
        }
        _ => None,
    }
}

/// Returns `true` if no name node responded: it is not there, or too slow.
pub(super) fn is_without_response(cause: &Error) -> bool {
    matches!(hdfs_error(cause), Some(HdfsError::IOError(_)))
}

/// Returns `true` if a connection to a name node or a data node was lost.
fn is_disconnect(cause: &Error) -> bool {
    matches!(
        hdfs_error(cause),
        Some(HdfsError::IOError(_) | HdfsError::DataTransferError(_))
    )
}

fn hdfs_error(cause: &Error) -> Option<&HdfsError> {
    match cause {
        Error::Generic { source, .. } => source.downcast_ref(),
        _ => None,
    }
}
