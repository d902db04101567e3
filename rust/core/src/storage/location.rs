//! The location of a table: its URI, parsed and normalized.
//!
//! Takes a local path or a URI; returns the kind of store, the store's name and the path within it. No I/O:
//! the location may not exist.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use object_store::ObjectStoreScheme;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use url::Url;

use super::platform;
use crate::error::{Error, Result};

/// The characters that the normalized URI encodes: those that a URI path must not contain.
pub(crate) const URI_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The supported schemes.
const SCHEMES: &str =
    "file, memory, s3, s3a, az, azure, adl, abfs, abfss, gs, hdfs, http and https";

/// The kinds of store that a URI can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreKind {
    /// A local path or `file:`.
    Local,
    /// `memory://name`: lives as long as this process, one store for each name.
    Memory,
    /// `s3://` or `s3a://`, or an `https://` address of Amazon S3 or Cloudflare R2.
    S3,
    /// `az://`, `azure://`, `adl://`, `abfs://` or `abfss://`, or an `https://` address of Azure storage or
    /// Fabric.
    Azure,
    /// `gs://`.
    Gcs,
    /// `hdfs://`, with a name node or a name service, or neither: Hadoop's default file system.
    Hdfs,
    /// Any other `http://` or `https://` server, which must support WebDAV for listings.
    Http,
}

/// A location on a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    scheme: String,
    kind: StoreKind,
    /// Bucket, container (with account), memory name or host; empty for local.
    authority: String,
    /// Decoded components joined by `/`. Local paths are absolute: empty for the file system's root, and
    /// `/C:/t` for `C:\t` on Windows.
    path: String,
    root: String,
}

impl Location {
    /// Parses the URI of a table.
    ///
    /// Without a scheme, `uri` is a local path in the form of the operating system: nothing is decoded, a
    /// leading `~` is the user's home, and a relative path is resolved against the current working
    /// directory. With a scheme, the path is percent-decoded once; URIs with a password are refused, and
    /// `http:` and `https:` URIs with a user or a query. A local directory whose name begins like a URI or
    /// with `~` must be written as `./name`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `uri.empty`, `uri.scheme` for a store that is not known, `uri.form`.
    pub fn parse(uri: &str) -> Result<Self> {
        if uri.trim().is_empty() {
            return Err(Error::invalid("uri.empty", "give the table's path or URI"));
        }
        if uri.contains('\0') {
            return Err(invalid_form(
                "a path or URI may not contain the character NUL",
                uri,
            ));
        }
        match split_scheme(uri).filter(|_| !platform::begins_with_drive(uri)) {
            Some((scheme, rest)) => {
                if matches!(scheme.as_str(), "memory" | "http" | "https") && !rest.starts_with("//")
                {
                    return Err(invalid_form(
                        "two slashes must follow the scheme of this URI; write ./path for a local path",
                        uri,
                    ));
                }
                Self::parse_uri(&scheme, rest, uri)
            }
            None => Self::local_path(&expand_home(uri)?),
        }
    }

    fn local_path(path: &str) -> Result<Self> {
        // drops `.` and double slashes, but keeps `..`, which the system resolves, links included
        let absolute = std::path::absolute(path).map_err(|cause| {
            invalid_form("the working directory is gone: give an absolute path", path)
                .because(cause)
        })?;
        let absolute = absolute
            .to_str()
            .ok_or_else(|| invalid_form("the working directory's name is not UTF-8", path))?;
        let absolute = platform::from_system(absolute)
            .ok_or_else(|| invalid_form("map the network share to a drive letter", path))?;
        Ok(Self::assemble("file", StoreKind::Local, "", &absolute))
    }

    /// Parses a URI whose scheme was split off: `rest` begins after the colon.
    pub(super) fn parse_uri(scheme: &str, rest: &str, uri: &str) -> Result<Self> {
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let kind = match scheme {
            "file" if !matches!(authority, "" | "localhost") => {
                return Err(invalid_form(
                    "a file URI must not name another host: write file:///path",
                    uri,
                ));
            }
            "file" if !path.starts_with('/') => {
                return Err(invalid_form(
                    "the path of a file URI must be absolute: write file:///path",
                    uri,
                ));
            }
            "file" => StoreKind::Local,
            "memory" => StoreKind::Memory,
            "http" | "https" => return Self::parse_http(scheme, uri),
            "s3" | "s3a" => StoreKind::S3,
            "gs" => StoreKind::Gcs,
            "hdfs" => StoreKind::Hdfs,
            "az" | "azure" | "adl" | "abfs" | "abfss" => StoreKind::Azure,
            _ => {
                let instead = match scheme {
                    "wasb" | "wasbs" => {
                        "for this container write abfss://container@account.dfs.core.windows.net/path"
                    }
                    "dbfs" => {
                        "on Databricks pass the path below /dbfs, or the path on the object store"
                    }
                    "viewfs" | "webhdfs" | "maprfs" => {
                        "write hdfs://, or mount the file system and pass the local path"
                    }
                    _ => "for a local directory of this name, write ./ in front of it",
                };
                return Err(Error::invalid(
                    "uri.scheme",
                    format!(
                        "`{scheme}:` is not a supported scheme (local paths, {SCHEMES}): {instead}"
                    ),
                ));
            }
        };
        let may_be_empty = [StoreKind::Local, StoreKind::Memory, StoreKind::Hdfs];
        if authority.is_empty() && !may_be_empty.contains(&kind) {
            return Err(invalid_form("the URI names no bucket or container", uri));
        }
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        // a slash in a password ends the authority
        let may_have_password = authority
            .split_once(':')
            .is_some_and(|(_, rest)| !is_port(rest));
        if may_have_password || authority.contains(['?', '#', '\\', ' ']) {
            return Err(invalid_form(
                "the URI's bucket, container or host is not valid: pass a user and password in storage_options",
                uri,
            ));
        }
        let authority = if kind == StoreKind::Local {
            ""
        } else {
            authority
        };
        Ok(Self::assemble(
            scheme,
            kind,
            authority,
            &normal_path(path, uri)?,
        ))
    }

    fn parse_http(scheme: &str, uri: &str) -> Result<Self> {
        let url = Url::parse(uri)
            .map_err(|cause| invalid_form("this is not a URL", uri).because(cause))?;
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(Error::invalid(
                "uri.form",
                "a table's URL must not contain credentials or a query: pass them in storage_options",
            ));
        }
        let (kind, _) = ObjectStoreScheme::parse(&url)
            .map_err(|_| invalid_form("this URL cannot be used", uri))?;
        let kind = match kind {
            ObjectStoreScheme::AmazonS3 => StoreKind::S3,
            ObjectStoreScheme::MicrosoftAzure => StoreKind::Azure,
            _ => StoreKind::Http,
        };
        let mut authority = url.host_str().unwrap_or_default().to_owned();
        if let Some(port) = url.port() {
            authority.push_str(&format!(":{port}"));
        }
        Ok(Self::assemble(
            scheme,
            kind,
            &authority,
            &normal_path(url.path(), uri)?,
        ))
    }

    fn assemble(scheme: &str, kind: StoreKind, authority: &str, path: &str) -> Self {
        let trimmed = path.trim_end_matches('/');
        let path = if kind == StoreKind::Local {
            platform::with_uppercase_drive(trimmed)
        } else {
            trimmed.trim_start_matches('/').into()
        };
        let encoded: Cow<'_, str> = utf8_percent_encode(&path, URI_PATH).into();
        let root = match kind {
            StoreKind::Local if path.is_empty() => "file:///".to_owned(),
            StoreKind::Local => format!("file://{encoded}"),
            _ if path.is_empty() => format!("{scheme}://{authority}"),
            _ => format!("{scheme}://{authority}/{encoded}"),
        };
        Self {
            scheme: scheme.to_owned(),
            kind,
            authority: authority.to_owned(),
            path: path.into_owned(),
            root,
        }
    }

    /// Returns the normalized URI: absolute, percent-encoded, without a trailing slash.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the scheme of the URI in lower case; `file` for a local path.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the kind of store.
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// Returns the bucket, the container (with its account, if the URI has it), the memory name or the
    /// host.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the decoded path within the store, without a trailing slash. Local paths are absolute (empty
    /// for `/` itself); others have no leading slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path as a key of the store: without the bucket or container that `https://` addresses
    /// have in their path.
    pub fn key(&self) -> &str {
        self.key_of(&self.path)
    }

    /// Returns the key of another path on the same store, as [`Location::key`].
    pub(super) fn key_of<'p>(&self, path: &'p str) -> &'p str {
        let host = self.authority.split(':').next().unwrap_or_default();
        let bucket_in_path = self.scheme == "https"
            && match self.kind {
                StoreKind::Azure => true,
                StoreKind::S3 => {
                    host.ends_with("r2.cloudflarestorage.com") || host.starts_with("s3.")
                }
                _ => false,
            };
        if bucket_in_path {
            path.split_once('/').map_or("", |(_bucket, key)| key)
        } else {
            path
        }
    }

    /// Converts a storage path below this location to an absolute path within the store.
    pub fn within_store(&self, path: &str) -> String {
        match (path.starts_with('/'), self.kind, self.key()) {
            (true, ..) => path.to_owned(),
            (false, StoreKind::Local, _) => format!("{}/{path}", self.path),
            (false, _, "") => format!("/{path}"),
            (false, _, key) => format!("/{key}/{path}"),
        }
    }

    /// Returns the URI of a storage path below this location, encoded as Hadoop writes it into the log.
    pub fn uri_of(&self, path: &str) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, URI_PATH).to_string();
        format!(
            "{}{}",
            self.store_uri(&encoded),
            encoded(&self.within_store(path))
        )
    }

    /// Returns the URI of a storage path without percent-encoding: the text of a Hadoop path.
    pub fn hadoop_path(&self, path: &str) -> String {
        let plain = |text: &str| text.to_owned();
        format!("{}{}", self.store_uri(&plain), self.within_store(path))
    }

    /// Returns the location itself as the text of a Hadoop path.
    pub fn hadoop_root(&self) -> String {
        self.hadoop_path("").trim_end_matches('/').to_owned()
    }

    /// Returns the URI without the path within the store.
    fn store_uri(&self, encode: &dyn Fn(&str) -> String) -> String {
        if self.kind == StoreKind::Local {
            return "file:".to_owned();
        }
        // a bucket or container in the path of an address belongs to the store
        let bucket = self.path.strip_suffix(self.key()).unwrap_or_default();
        let bucket = encode(bucket.trim_matches('/'));
        let slash = if bucket.is_empty() { "" } else { "/" };
        format!("{}://{}{slash}{bucket}", self.scheme, self.authority)
    }

    /// Returns `true` if both are on one store. `s3` and `s3a` count as one scheme, and so do Azure's;
    /// Azure containers are equal only if both URIs have the account, or neither has.
    pub fn same_store(&self, other: &Self) -> bool {
        self.kind == other.kind
            && (self.kind != StoreKind::Http || self.scheme == other.scheme)
            && self.store_name() == other.store_name()
    }

    fn store_name(&self) -> (&str, &str) {
        match (self.kind, self.authority.split_once('@')) {
            (StoreKind::Azure, Some((container, host))) => {
                (container, host.split(['.', ':']).next().unwrap_or_default())
            }
            _ => (&self.authority, ""),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)
    }
}

/// Replaces a leading `~` of a local path by the user's home.
fn expand_home(path: &str) -> Result<Cow<'_, str>> {
    let Some(rest) = path.strip_prefix('~') else {
        return Ok(path.into());
    };
    if !rest.chars().next().is_none_or(std::path::is_separator) {
        let message = "only `~`, your own home directory, is expanded: write the full path, or ./~name for a name that begins with ~";
        return Err(invalid_form(message, path));
    }
    let home = std::env::home_dir().and_then(|home| home.to_str().map(str::to_owned));
    match home.filter(|home| Path::new(home).is_absolute()) {
        Some(home) => Ok(format!("{home}{rest}").into()),
        None => Err(invalid_form(
            "there is no home directory: write the full path",
            path,
        )),
    }
}

/// Splits a URI into its scheme in lower case and the text after the colon; `None` if it has no scheme.
pub(crate) fn split_scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let valid = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then(|| (scheme.to_ascii_lowercase(), rest))
}

/// Decodes once; an invalid escape is kept as it is, as Delta's readers do.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().ok()
}

fn normal_path(encoded: &str, uri: &str) -> Result<String> {
    let decoded = decode(encoded)
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| invalid_form("the URI's path does not decode to text", uri))?;
    let mut normal = String::with_capacity(decoded.len());
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(invalid_form("a URI must not contain `..`", uri)),
            part => {
                normal.push('/');
                normal.push_str(part);
            }
        }
    }
    Ok(normal)
}

fn invalid_form(message: &str, uri: &str) -> Error {
    // the query may contain a signature
    let public = uri.split('?').next().unwrap_or_default();
    let public = public
        .rsplit_once('@')
        .map_or(public, |(_secret, rest)| rest);
    Error::invalid("uri.form", message).at_path(public.replace('\0', "\\0"))
}

#[cfg(test)]
mod tests;
