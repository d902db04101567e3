//! The options of a store: known keys, defaults from the environment, redaction of secrets, and clients
//! with these options.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::env;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3CopyIfNotExists};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use tokio::sync::Semaphore;
use url::Url;

use super::super::{Location, StoreKind};
use super::Client;
use super::connector::Connector;
use super::hdfs::Hdfs;
use crate::error::{Error, Result};

/// Options of other Delta libraries that have no effect here. Commits use conditional requests, not locks
/// or renames.
const IGNORED_KEYS: [&str; 14] = [
    "allow_unsafe_rename",
    "aws_access_key_id_dynamodb",
    "aws_endpoint_url_dynamodb",
    "aws_force_credential_load",
    "aws_region_dynamodb",
    "aws_s3_allow_unsafe_rename",
    "aws_s3_get_internal_server_error_retries",
    "aws_s3_locking_provider",
    "aws_s3_pool_idle_timeout_seconds",
    "aws_secret_access_key_dynamodb",
    "aws_sts_pool_idle_timeout_seconds",
    "delta_dynamo_table_name",
    "mount_allow_unsafe_rename",
    "object_store_concurrency_limit",
];

/// Words in the name of an option whose value is secret.
const SECRET: [&str; 7] = [
    "key",
    "secret",
    "token",
    "password",
    "sas",
    "credential",
    "service_account", // a path, or by mistake the content of the file
];

/// The requirement on values: the client builds headers from them.
const NO_CONTROLS: &str = "without control characters, such as tabs and line breaks";

/// The key of the number of times that the HDFS client tries the next name node. The client waits after
/// each round, longer each time.
const HDFS_ATTEMPTS: &str = "dfs.client.failover.max.attempts";

/// The default maximum number of pending requests for bytes, and the largest that can be set.
const DEFAULT_REQUESTS: usize = 64;
const MAX_REQUESTS: usize = 4096;

/// The maximum number of name nodes in addition to the first one.
const OTHER_NAME_NODES: usize = 2;

/// The default timeout of HDFS for a response.
const HDFS_TIMEOUT: Duration = Duration::from_secs(60);

/// The validated options of a store.
pub(super) struct Settings {
    options: Vec<(String, String)>,
    /// Values of options and of the environment that must not be displayed; the longest first, since one
    /// may contain another.
    secrets: Vec<String>,
    retries: RetryConfig,
    max_requests: usize,
    /// The timeout of HDFS; other clients have it in their options.
    hdfs_timeout: Duration,
}

impl Settings {
    /// Validates options; keys are case-insensitive, except Hadoop's, and must be known to the store.
    pub(super) fn new(kind: StoreKind, pairs: &[(String, String)]) -> Result<Self> {
        let mut options = Vec::with_capacity(pairs.len());
        let mut retries = RetryConfig::default();
        let mut max_requests = DEFAULT_REQUESTS;
        let mut hdfs_timeout = HDFS_TIMEOUT;
        for (key, value) in pairs {
            let name = key.trim().to_ascii_lowercase();
            // the key of a service account is multi-line JSON
            if value.contains(char::is_control) && !name.contains("service_account") {
                return Err(bad_value(&displayed_key(key.trim()), NO_CONTROLS));
            }
            let invalid = |expected: &str| bad_value(&format!("`{key}`"), expected);
            let duration =
                || parse_duration(value).ok_or_else(|| invalid("a duration such as 30s or 500ms"));
            match name.as_str() {
                "max_retries" => {
                    retries.max_retries = value
                        .trim()
                        .parse()
                        .map_err(|_| invalid("an integer of at least 0"))?;
                    if kind == StoreKind::Hdfs {
                        // the first name node may be a standby; Hadoop's own keys come later and take
                        // precedence
                        let attempts = retries.max_retries.max(OTHER_NAME_NODES).to_string();
                        options.insert(0, (HDFS_ATTEMPTS.to_owned(), attempts));
                    }
                }
                "retry_timeout" => retries.retry_timeout = duration()?,
                "timeout" if kind == StoreKind::Hdfs => hdfs_timeout = duration()?,
                "max_concurrent_requests" => {
                    let count: Option<usize> = value.trim().parse().ok();
                    max_requests = count
                        .filter(|count| (1..=MAX_REQUESTS).contains(count))
                        .ok_or_else(|| invalid(&format!("an integer from 1 to {MAX_REQUESTS}")))?;
                }
                ignored if IGNORED_KEYS.contains(&ignored) => {}
                // Hadoop's keys contain names of services, which may have capitals
                known if kind == StoreKind::Hdfs && is_known(kind, known) => {
                    options.push((key.trim().to_owned(), value.clone()));
                }
                known if is_known(kind, known) => options.push((name, value.clone())),
                _ => {
                    return Err(Error::invalid(
                        "options.unknown",
                        format!(
                            "storage_options: {} is not an option of {}; the keys are those of \
                             {}, such as {}",
                            displayed_key(key.trim()),
                            store_name(kind),
                            if kind == StoreKind::Hdfs {
                                "Hadoop"
                            } else {
                                "object_store"
                            },
                            examples(kind)
                        ),
                    ));
                }
            }
        }
        let environment = env::vars_os().filter_map(|(name, value)| {
            let name = name.to_str()?.to_ascii_lowercase();
            Some((name, value.into_string().ok()?))
        });
        let environment = environment.filter(|(name, _)| is_known(kind, name));
        let named = options.iter().cloned().chain(environment);
        let mut secrets: Vec<String> = named
            .filter(|(name, value)| {
                value.len() > 3 && SECRET.iter().any(|word| name.contains(word))
            })
            .map(|(_, value)| value)
            .collect();
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        Ok(Self {
            secrets,
            options,
            retries,
            max_requests,
            hdfs_timeout,
        })
    }

    pub(super) fn max_requests(&self) -> usize {
        self.max_requests
    }

    /// Creates the client of a store, with a permit for each request that may be pending.
    pub(super) fn client(
        &self,
        store: Arc<dyn ObjectStore>,
        pages: Option<Arc<dyn PaginatedListStore>>,
    ) -> Client {
        Client {
            store,
            pages,
            permits: Arc::new(Semaphore::new(self.max_requests)),
        }
    }

    fn paged<S>(&self, store: S) -> Client
    where
        S: ObjectStore + PaginatedListStore,
    {
        let store = Arc::new(store);
        self.client(Arc::clone(&store) as _, Some(store))
    }

    fn without_pages(&self, store: impl ObjectStore) -> Client {
        self.client(Arc::new(store), None)
    }

    /// Builds the client for a location. Reads the environment, and the credential files that it refers to.
    pub(super) fn build(&self, location: &Location) -> Result<Client> {
        let url = location.root();
        let retries = self.retries.clone();
        let connector = Connector {
            max_pause: retries.retry_timeout,
        };
        let client = match location.kind() {
            StoreKind::S3 => {
                let builder = AmazonS3Builder::from_env()
                    .with_url(url)
                    .with_http_connector(connector)
                    .with_retry(retries);
                let builder = self.apply(builder, AmazonS3Builder::with_config);
                let builder = self.with_own_endpoint(builder);
                check_s3_settings(&builder)?;
                with_conditional_copy(builder, location)
                    .build()
                    .map(|store| self.paged(store))
            }
            StoreKind::Azure => {
                let builder = MicrosoftAzureBuilder::from_env()
                    .with_url(url)
                    .with_http_connector(connector)
                    .with_retry(retries);
                let builder = self.apply(builder, MicrosoftAzureBuilder::with_config);
                let addresses = [
                    AzureConfigKey::Endpoint,
                    AzureConfigKey::MsiEndpoint,
                    AzureConfigKey::AuthorityHost,
                    AzureConfigKey::FabricTokenServiceUrl,
                ];
                check_addresses(&addresses, |key| builder.get_config_value(key))?;
                builder.build().map(|store| self.paged(store))
            }
            StoreKind::Gcs => {
                let builder = GoogleCloudStorageBuilder::from_env()
                    .with_url(url)
                    .with_http_connector(connector)
                    .with_retry(retries);
                let builder = self.apply(builder, GoogleCloudStorageBuilder::with_config);
                check_addresses(&[GoogleConfigKey::BaseUrl], |key| {
                    builder.get_config_value(key)
                })?;
                builder.build().map(|store| self.paged(store))
            }
            StoreKind::Hdfs => {
                Hdfs::new(location, self.options.clone(), retries, self.hdfs_timeout)?
                    .map(|store| self.without_pages(store))
            }
            _ => {
                let host = format!("{}://{}", location.scheme(), location.authority());
                let builder = HttpBuilder::new()
                    .with_url(host)
                    .with_http_connector(connector)
                    .with_retry(retries);
                let store = self.apply(builder, HttpBuilder::with_config).build();
                store.map(|store| self.without_pages(store))
            }
        };
        client.map_err(|cause| {
            let cause = self.redact(&cause.to_string()).into_owned();
            Error::invalid(
                "options.value",
                format!(
                    "{} cannot be opened with these storage_options and environment variables",
                    store_name(location.kind())
                ),
            )
            .because(cause)
        })
    }

    fn apply<B, K: FromStr>(&self, builder: B, with: impl Fn(B, K, String) -> B) -> B {
        self.options
            .iter()
            .fold(builder, |builder, (key, value)| match key.parse() {
                Ok(key) => with(builder, key, value.clone()),
                Err(_) => builder, // impossible: `new` refuses unknown keys
            })
    }

    /// Makes the endpoint of the options take precedence over `AWS_ENDPOINT_URL_S3` of the environment, which
    /// the client would prefer.
    fn with_own_endpoint(&self, builder: AmazonS3Builder) -> AmazonS3Builder {
        let option = |key: AmazonS3ConfigKey| {
            let mut options = self.options.iter().rev();
            options.find(|(name, _)| AmazonS3ConfigKey::from_str(name).is_ok_and(|it| it == key))
        };
        match option(AmazonS3ConfigKey::Endpoint) {
            Some((_, endpoint)) if option(AmazonS3ConfigKey::S3Endpoint).is_none() => {
                builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint)
            }
            _ => builder,
        }
    }

    /// Redacts secret values in a text, and users, passwords and queries of URLs, which may be signed.
    pub(super) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), "…"));
            }
        }
        if !text.contains("://") {
            return text;
        }
        Cow::Owned(redact_urls(&text))
    }
}

/// Refuses values from which no request can be built, even those of the environment: the client would
/// panic.
fn check_s3_settings(builder: &AmazonS3Builder) -> Result<()> {
    for (name, key) in [
        ("`aws_access_key_id`", AmazonS3ConfigKey::AccessKeyId),
        ("`aws_session_token`", AmazonS3ConfigKey::Token),
        ("`aws_region`", AmazonS3ConfigKey::Region),
    ] {
        let value = builder.get_config_value(&key).unwrap_or_default();
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(bad_setting(name, &format!("ASCII {NO_CONTROLS}")));
        }
    }
    let addresses = [
        AmazonS3ConfigKey::Endpoint,
        AmazonS3ConfigKey::S3Endpoint,
        AmazonS3ConfigKey::MetadataEndpoint,
        AmazonS3ConfigKey::StsEndpoint,
        AmazonS3ConfigKey::ContainerCredentialsFullUri,
    ];
    check_addresses(&addresses, |key| builder.get_config_value(key))
}

/// Refuses settings that must be addresses and are not, even those of the environment.
fn check_addresses<K: AsRef<str>>(keys: &[K], value: impl Fn(&K) -> Option<String>) -> Result<()> {
    for key in keys {
        if let Some(address) = value(key)
            && !is_address(&address)
        {
            let name = format!("`{}`", key.as_ref());
            return Err(bad_setting(&name, "an address, such as https://host:9000"));
        }
    }
    Ok(())
}

fn is_address(text: &str) -> bool {
    // RFC 3986, Appendix A: the client does not escape other bytes everywhere
    let is_valid =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.starts_with('/') && host.bytes().all(is_valid) => {
            Url::parse(text).is_ok_and(|url| url.has_host())
        }
        _ => false,
    }
}

/// Configures conditional copies: objects in Amazon's buckets are copied in parts, and the last request has
/// the condition that the target does not exist. Users of other stores set `aws_copy_if_not_exists`.
fn with_conditional_copy(builder: AmazonS3Builder, location: &Location) -> AmazonS3Builder {
    let is_set = |key| builder.get_config_value(&key).is_some();
    let is_configured = is_set(AmazonS3ConfigKey::CopyIfNotExists);
    let is_other_store = is_set(AmazonS3ConfigKey::Endpoint)
        || is_set(AmazonS3ConfigKey::S3Endpoint)
        || location.scheme() == "https";
    if is_configured || is_other_store {
        return builder;
    }
    builder.with_copy_if_not_exists(S3CopyIfNotExists::Multipart)
}

/// Redacts user, password and query of each URL in a text.
fn redact_urls(mut text: &str) -> String {
    let ends_query = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>');
    // not ], which may follow an IPv6 address
    let ends_path = |c: char| ends_query(c) || matches!(c, '\'' | ')' | ',' | ';' | '?');
    let mut redacted = String::with_capacity(text.len());
    while let Some((before, rest)) = text.split_once("://") {
        let (address, after) = rest.split_at(rest.find(ends_path).unwrap_or(rest.len()));
        let (authority, path) = address.split_at(address.find(['/', '#']).unwrap_or(address.len()));
        // Azure's container is in the position of a user, without a password
        let is_container = before.ends_with("abfs") || before.ends_with("abfss");
        let authority = match authority.rsplit_once('@') {
            Some((user, host)) if !is_container || user.contains(':') => format!("…@{host}"),
            _ => authority.to_owned(),
        };
        redacted.push_str(&format!("{before}://{authority}{path}"));
        text = after;
        if let Some(query) = after.strip_prefix('?') {
            redacted.push_str("?…");
            (_, text) = query.split_at(query.find(ends_query).unwrap_or(query.len()));
        }
    }
    redacted + text
}

/// Formats a key for a message, unless it does not look like a key: it may be a misplaced secret.
fn displayed_key(key: &str) -> String {
    let is_word = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let lowercase = word.bytes().filter(u8::is_ascii_lowercase).count();
        let uppercase = word.bytes().filter(u8::is_ascii_uppercase).count();
        word.len() <= 24 && digits <= 2 && lowercase.max(uppercase) + digits == word.len()
    };
    if key.len() <= 64 && key.split(['_', '.', '-']).all(is_word) {
        return format!("`{key}`");
    }
    let characters = key.chars().count();
    format!("a key of {characters} characters, not shown because it may be a secret,")
}

fn is_known(kind: StoreKind, key: &str) -> bool {
    match kind {
        StoreKind::S3 => AmazonS3ConfigKey::from_str(key).is_ok(),
        StoreKind::Azure => AzureConfigKey::from_str(key).is_ok(),
        StoreKind::Gcs => GoogleConfigKey::from_str(key).is_ok(),
        StoreKind::Http => ClientConfigKey::from_str(key).is_ok(),
        // no effect: one set of options may be used for many tables
        StoreKind::Local | StoreKind::Memory => true,
        StoreKind::Hdfs => {
            key.starts_with("dfs.") || key.starts_with("hadoop.") || key.starts_with("fs.")
        }
    }
}

fn store_name(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::Local => "the local file system",
        StoreKind::Memory => "memory",
        StoreKind::S3 => "S3",
        StoreKind::Azure => "Azure storage",
        StoreKind::Gcs => "Google Cloud Storage",
        StoreKind::Hdfs => "HDFS",
        StoreKind::Http => "an HTTP server",
    }
}

fn examples(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::S3 => {
            "aws_access_key_id, aws_secret_access_key, aws_region, aws_endpoint_url, \
             aws_session_token, allow_http, timeout"
        }
        StoreKind::Azure => {
            "account_name, account_key, sas_key, client_id, client_secret, tenant_id, use_emulator, \
             timeout"
        }
        StoreKind::Gcs => "service_account, service_account_key, application_credentials, timeout",
        StoreKind::Hdfs => {
            "dfs.nameservices, dfs.ha.namenodes.<service>, hadoop.security.authentication, timeout"
        }
        _ => "timeout, connect_timeout, allow_http, proxy_url, user_agent",
    }
}

fn bad_value(key: &str, expected: &str) -> Error {
    Error::invalid(
        "options.value",
        format!("storage_options: {key} must be {expected}"),
    )
}

/// Returns the error for an option or a variable of the environment.
fn bad_setting(key: &str, expected: &str) -> Error {
    Error::invalid(
        "options.value",
        format!("storage_options or environment: {key} must be {expected}"),
    )
}

/// Parses seconds, or a number with its unit: ms, s, m.
fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "" | "s" | "sec" | "secs" => Some(Duration::from_secs(number)),
        "m" | "min" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
