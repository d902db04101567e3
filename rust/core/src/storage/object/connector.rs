//! The HTTP client of the stores: as that of `object_store`, except that redirects must stay within their
//! origin, the header `Retry-After` is obeyed, listings and errors are bounded, and errors do not repeat the
//! secrets of a request.
//!
//! A server chooses the target of a redirect, whose content would be taken for the table, and the length of
//! a response, for which `object_store` allocates memory. So listings and errors are read here, up to a
//! limit.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::TryStreamExt;
use memchr::memmem;
use object_store::client::{
    ClientConfigKey as Key, ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind,
    HttpRequest, HttpResponse, HttpService,
};
use percent_encoding::percent_decode_str;
use reqwest::header::HeaderValue;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{ClientBuilder, NoProxy, Proxy, StatusCode, tls};

/// The maximum number of consecutive redirects.
const MAX_REDIRECTS: usize = 10;

/// The maximum size of a page of a listing, or of an error, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// The maximum size of a WebDAV listing, which has no pages, in bytes: some hundreds of thousands of files.
const MAX_BYTES_LISTED: usize = 256 << 20;

/// The error for a redirect to another origin, and for too many redirects.
#[derive(Debug)]
struct RedirectRefused;

impl fmt::Display for RedirectRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a redirect leads to another scheme, host or port, or there are too many")
    }
}

impl Error for RedirectRefused {}

/// Returns `true` if the error was caused by a redirect that was not followed.
pub(super) fn is_refused_redirect(error: &(dyn Error + 'static)) -> bool {
    has_cause::<RedirectRefused>(error)
}

/// The error for a listing that the server does not allow: that of `object_store` does not say so.
#[derive(Debug)]
struct ListingRefused {
    status: u16,
    body: String,
}

impl fmt::Display for ListingRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}: {}", self.status, self.body)
    }
}

impl Error for ListingRefused {}

/// Returns `true` if the error was caused by a listing that the server does not allow.
pub(super) fn is_refused_listing(error: &(dyn Error + 'static)) -> bool {
    has_cause::<ListingRefused>(error)
}

/// Returns `true` if the server did not respond: it cannot be reached, or is too slow.
pub(super) fn is_without_response(error: &(dyn Error + 'static)) -> bool {
    let cause = find_cause::<HttpError>(error).map(HttpError::kind);
    matches!(cause, Some(HttpErrorKind::Connect | HttpErrorKind::Timeout))
}

fn has_cause<T: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    find_cause::<T>(error).is_some()
}

fn find_cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<T>() {
            None => cause = error.source(),
            typed => return typed,
        }
    }
    None
}

/// Checks the response to a listing. `object_store` takes any XML document for a listing without objects, and
/// one that is said to be truncated, but has no token, for a complete one.
fn check_listing(status: StatusCode, body: &[u8]) -> Result<(), HttpError> {
    let has = |text: &str| memmem::find(body, text.as_bytes()).is_some();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let (status, body) = (status.as_u16(), String::from_utf8_lossy(body).into());
        let refused = ListingRefused { status, body };
        return Err(HttpError::new(HttpErrorKind::Unknown, refused));
    }
    let why = if !status.is_success() {
        return Ok(());
    } else if !has("ListBucketResult") && !has("EnumerationResults") {
        "the response of the server is not a listing"
    } else if has("<IsTruncated>true</IsTruncated>") && !has("NextContinuationToken") {
        "the server sent a truncated listing without a token to continue it"
    } else {
        return Ok(());
    };
    Err(unexpected(why))
}

/// Checks the response to a deletion: `object_store` panics for an error about another object.
fn check_deletion(request: &[u8], response: &[u8]) -> Result<(), HttpError> {
    let key = |document| between(document, b"<Key>", b"</Key>");
    let mut rest = response;
    while let Some((failed, after)) = between(rest, b"<Error>", b"</Error>") {
        if key(failed).map(|(key, _)| key) != key(request).map(|(key, _)| key) {
            return Err(unexpected(format!(
                "the server reports an error about another object: {}",
                String::from_utf8_lossy(response)
            )));
        }
        rest = after;
    }
    Ok(())
}

/// Returns the bytes between two tags, and those after them.
fn between<'a>(document: &'a [u8], start: &[u8], end: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let rest = document.get(memmem::find(document, start)? + start.len()..)?;
    rest.split_at_checked(memmem::find(rest, end)?)
}

fn unexpected(why: impl Into<BoxError>) -> HttpError {
    let cause = std::io::Error::new(std::io::ErrorKind::InvalidData, why);
    HttpError::new(HttpErrorKind::Decode, cause)
}

/// Reads the body of a listing or an error, up to a limit, and removes secrets from an error.
async fn read_bounded(
    response: HttpResponse,
    max_bytes: usize,
    secrets: &Secrets,
    check: impl FnOnce(StatusCode, &[u8]) -> Result<(), HttpError>,
) -> Result<HttpResponse, HttpError> {
    let (parts, body) = response.into_parts();
    let mut pieces = body.bytes_stream();
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(piece) = pieces.try_next().await? {
        if piece.len() > max_bytes - bytes.len() {
            return Err(unexpected(format!(
                "the response of the server is longer than {max_bytes} bytes, so it was not read"
            )));
        }
        bytes.extend_from_slice(&piece);
    }
    let mut bytes = Bytes::from(bytes);
    if !parts.status.is_success() {
        bytes = secrets.redact(bytes);
    }
    check(parts.status, &bytes)?;
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}

/// The secrets of a request, which a server may repeat in its response, as S3 does with the signed headers.
#[derive(Debug, Default)]
struct Secrets {
    headers: Vec<HeaderValue>,
    /// The signature of an Azure SAS token, in the query.
    signature: Option<String>,
}

impl Secrets {
    fn of(request: &HttpRequest) -> Self {
        let headers = ["authorization", "x-amz-security-token"].into_iter();
        let mut pairs = request.uri().query().unwrap_or_default().split('&');
        Self {
            headers: headers
                .filter_map(|name| request.headers().get(name).cloned())
                .collect(),
            signature: pairs
                .find_map(|pair| pair.strip_prefix("sig="))
                .map(str::to_owned),
        }
    }

    fn values(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let headers = self.headers.iter().filter_map(|value| value.to_str().ok());
        let headers = headers.map(|value| value.strip_prefix("Bearer ").unwrap_or(value).into());
        let encoded = self.signature.as_deref().into_iter();
        let decoded = encoded
            .clone()
            .map(|value| percent_decode_str(value).decode_utf8_lossy());
        headers.chain(encoded.map(Cow::from)).chain(decoded)
    }

    /// Removes the secrets from the text of an error.
    fn redact(&self, text: Bytes) -> Bytes {
        let is_repeated =
            |secret: &str| secret.len() > 3 && memmem::find(&text, secret.as_bytes()).is_some();
        let repeated: Vec<_> = self.values().filter(|secret| is_repeated(secret)).collect();
        if repeated.is_empty() {
            return text;
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let without = |text: String, secret: Cow<'_, str>| text.replace(&*secret, "…");
        repeated.into_iter().fold(text, without).into()
    }
}

fn redirect_within_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let from = attempt.previous().first().map(|from| from.origin());
    let is_same_origin = from == Some(attempt.url().origin());
    if is_same_origin && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.error(RedirectRefused)
    }
}

tokio::task_local! {
    /// True once a request of the current write has failed that may have been executed all the same.
    static MAY_BE_EXECUTED: Cell<bool>;
}

/// Runs a write; also returns whether one of its requests failed and may have been executed all the same.
pub(super) async fn observed<T>(write: impl Future<Output = T>) -> (T, bool) {
    let observed = async {
        let result = write.await;
        (result, MAY_BE_EXECUTED.with(Cell::get))
    };
    MAY_BE_EXECUTED.scope(Cell::new(false), observed).await
}

/// Records that a request of the current write failed and may have been executed all the same.
pub(super) fn record_unknown_outcome() {
    let _other_requests_have_no_record = MAY_BE_EXECUTED.try_with(|record| record.set(true));
}

/// Creates clients that follow redirects within an origin only, and obey `Retry-After`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connector {
    /// The longest pause that a server may request.
    pub(super) max_pause: Duration,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let built = builder(options).and_then(|builder| builder.build().map_err(Into::into));
        built
            .map(|client| {
                HttpClient::new(RetryAfterClient {
                    client,
                    max_pause: self.max_pause,
                    paused: Mutex::default(),
                })
            })
            .map_err(|source| object_store::Error::Generic {
                store: "HTTP client",
                source,
            })
    }
}

/// A client that waits before it repeats a request to a busy server, as long as the server asked for
/// (`Retry-After`), and limits the size of listings and errors. Other requests do not wait.
#[derive(Debug)]
struct RetryAfterClient<C = reqwest::Client> {
    client: C,
    max_pause: Duration,
    /// The time from which each request may be sent again.
    paused: Mutex<HashMap<String, Instant>>,
}

impl<C> RetryAfterClient<C> {
    fn paused(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        // no operation under this lock can leave the map inconsistent
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the time from which a request may be sent again.
    fn pause(&self, request: String, pause: Duration) {
        let now = Instant::now();
        let mut paused = self.paused();
        paused.retain(|_, until| *until > now); // abandoned requests
        // ignore a time that the clock cannot represent
        let until = now.checked_add(pause.min(self.max_pause));
        paused.extend(until.map(|until| (request, until)));
    }
}

#[async_trait]
impl<C: HttpService> HttpService for RetryAfterClient<C> {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let range = request.headers().get("range");
        let name = format!("{} {} {range:?}", request.method(), request.uri());
        let method = request.method().clone();
        let query = request.uri().query().unwrap_or_default();
        let is_listing = query.contains("list-type=") || query.contains("comp=list");
        let is_deletion = method == "POST" && query == "delete";
        let deletion = request.body().as_bytes().filter(|_| is_deletion).cloned();
        let until = self.paused().remove(&name);
        if let Some(until) = until {
            tokio::time::sleep_until(until.into()).await;
        }
        let secrets = Secrets::of(&request);
        let response = self.client.call(request).await.inspect_err(|_| {
            record_unknown_outcome();
        })?;
        let status = response.status();
        let is_busy = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
        if is_busy {
            record_unknown_outcome();
        }
        let retry_after = response.headers().get("retry-after").filter(|_| is_busy);
        let pause = retry_after.and_then(|value| pause(value.to_str().ok()?, Utc::now()));
        if let Some(pause) = pause {
            self.pause(name, pause);
        }
        match method.as_str() {
            "HEAD" => Ok(response),
            "GET" | "PUT" if !is_listing && status.is_success() => Ok(response),
            "PROPFIND" if status.is_success() => {
                read_bounded(response, MAX_BYTES_LISTED, &secrets, |_, _| Ok(())).await
            }
            _ => {
                let check = |status: StatusCode, body: &[u8]| match &deletion {
                    _ if is_listing => check_listing(status, body),
                    Some(deletion) if status.is_success() => check_deletion(deletion, body),
                    _ => Ok(()),
                };
                read_bounded(response, MAX_BYTES, &secrets, check).await
            }
        }
    }
}

/// Parses the header Retry-After: seconds, or a date.
fn pause(retry_after: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = retry_after.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTime::parse_from_rfc2822(text).ok()?;
    (until.with_timezone(&Utc) - now).to_std().ok()
}

type BoxError = Box<dyn Error + Send + Sync>;

/// Parses a boolean as `object_store` does, since environment variables are passed on unchanged.
fn parse_bool(value: &str) -> Result<bool, BoxError> {
    match &*value.to_ascii_lowercase() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(format!("{value:?} is neither true nor false").into()),
    }
}

type Switch = fn(ClientBuilder) -> ClientBuilder;
type SetTime = fn(ClientBuilder, Duration) -> ClientBuilder;

/// Builds a client from the options that a store's keys or the environment can set.
fn builder(options: &ClientOptions) -> Result<ClientBuilder, BoxError> {
    let text = |key: Key| options.get_config_value(&key);
    let is_on = |key: Key| text(key).map_or(Ok(false), |value| parse_bool(&value));
    let time = |key: Key| -> Result<Option<Duration>, BoxError> {
        let Some(value) = text(key) else {
            return Ok(None);
        };
        Ok(Some(humantime::parse_duration(&value)?))
    };
    let _may_be_installed = rustls::crypto::ring::default_provider().install_default();
    let mut builder = ClientBuilder::new()
        .redirect(Policy::custom(redirect_within_origin))
        .user_agent(
            text(Key::UserAgent)
                .unwrap_or_else(|| concat!("deltareplay/", env!("CARGO_PKG_VERSION")).to_owned()),
        )
        .https_only(!is_on(Key::AllowHttp)?)
        // sizes of objects are those of the bytes on the wire
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();
    if let Some(url) = text(Key::ProxyUrl) {
        if let Some(certificate) = text(Key::ProxyCaCertificate) {
            let certificate = tls::Certificate::from_pem(certificate.as_bytes())?;
            builder = builder.tls_certs_merge([certificate]);
        }
        let mut proxy = Proxy::all(url)?;
        if let Some(excluded) = text(Key::ProxyExcludes) {
            proxy = proxy.no_proxy(NoProxy::from_string(&excluded));
        }
        builder = builder.proxy(proxy);
    }
    let switches: [(Key, Switch); 5] = [
        (Key::NoSystemCertificates, |builder| {
            builder.tls_certs_only([])
        }),
        (Key::AllowInvalidCertificates, |builder| {
            builder.danger_accept_invalid_certs(true)
        }),
        (Key::Http2KeepAliveWhileIdle, |builder| {
            builder.http2_keep_alive_while_idle(true)
        }),
        (Key::Http1Only, ClientBuilder::http1_only),
        (Key::Http2Only, ClientBuilder::http2_prior_knowledge),
    ];
    for (key, switch_on) in switches {
        if is_on(key)? {
            builder = switch_on(builder);
        }
    }
    let times: [(Key, SetTime); 6] = [
        (Key::Timeout, ClientBuilder::timeout),
        (Key::ConnectTimeout, ClientBuilder::connect_timeout),
        (Key::ReadTimeout, ClientBuilder::read_timeout),
        (Key::PoolIdleTimeout, ClientBuilder::pool_idle_timeout),
        (
            Key::Http2KeepAliveInterval,
            ClientBuilder::http2_keep_alive_interval,
        ),
        (
            Key::Http2KeepAliveTimeout,
            ClientBuilder::http2_keep_alive_timeout,
        ),
    ];
    for (key, set) in times {
        if let Some(time) = time(key)? {
            builder = set(builder, time);
        }
    }
    if let Some(max) = text(Key::PoolMaxIdlePerHost) {
        builder = builder.pool_max_idle_per_host(max.parse()?);
    }
    if let Some(size) = text(Key::Http2MaxFrameSize) {
        builder = builder.http2_max_frame_size(Some(size.parse()?));
    }
    Ok(builder)
}

#[cfg(test)]
mod tests;
