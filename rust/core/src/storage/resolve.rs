//! The only conversion from a path in the log to a file.
//!
//! The content of a log is not trusted. A path is decoded once and then validated; it must be below the
//! table root, or below a root that the caller allowed.
//!
//! Protocol: "Add File and Remove File" (`path`), "Sidecar File Information", "Deletion Vectors".

use std::borrow::Cow;
use std::sync::OnceLock;

use super::confined::real_location;
use super::location::{Location, StoreKind, decode, split_scheme};
use crate::error::{Error, Result};

/// Converts URI-encoded paths of one table's log to paths for its storage.
#[derive(Clone, Debug)]
pub struct PathResolver {
    root: Location,
    allowed: Vec<Location>,
    /// The directory that a local root is linked to, once it was needed.
    real_root: OnceLock<Option<Location>>,
}

impl PathResolver {
    /// Creates the resolver of the table at `root`. Files below `allowed_roots` on the same store are
    /// accepted, too.
    pub fn new(root: &Location, allowed_roots: &[Location]) -> Self {
        Self {
            root: root.clone(),
            allowed: allowed_roots.to_vec(),
            real_root: OnceLock::new(),
        }
    }

    /// Returns the storage path of a file that the log calls `encoded`.
    ///
    /// A relative path is relative to `directory` (empty for the table root, `_delta_log/_sidecars` for
    /// sidecars); the result is relative to the table root. An absolute path or URI must be on the table's
    /// own store and below its root, and becomes relative to it; below an allowed root, the result is
    /// absolute within that store and begins with `/`. `.` and empty components are dropped, and `..`
    /// removes the component before it, even if that is a link: other engines compare paths in this way,
    /// too. Data files are outside of logs: without a `directory`, no component may be `_delta_log`.
    ///
    /// # Errors
    ///
    /// Corrupt: `path.empty`, `path.encoding` (does not decode to text, or holds NUL),
    /// `path.escapes_root`, `path.foreign` (another scheme, bucket, container or host), `path.in_log`.
    /// Unsupported: `path.other_store`, below an allowed root on another store.
    pub fn resolve<'p>(&self, directory: &str, encoded: &'p str) -> Result<Cow<'p, str>> {
        let path = self.resolve_anywhere(directory, encoded)?;
        if directory.is_empty() && path.split('/').any(is_log) {
            let message = "the log refers to a file of a table's log as a data file";
            return Err(Error::corrupt("path.in_log", message).at_path(encoded));
        }
        Ok(path)
    }

    fn resolve_anywhere<'p>(&self, directory: &str, encoded: &'p str) -> Result<Cow<'p, str>> {
        if encoded.is_empty() {
            let error = Error::corrupt("path.empty", "the log has an empty path for a file");
            return Err(if directory.is_empty() {
                error.at_path("_delta_log") // nothing else identifies the table
            } else {
                error
            });
        }
        if encoded.starts_with("//") {
            return Err(on_another_store(encoded));
        }
        if encoded.starts_with('/') {
            let path = decode_and_normalize(encoded)?;
            return self.absolute(&self.root, &path, encoded).map(Cow::Owned);
        }
        if let Some((scheme, rest)) = split_scheme(encoded) {
            let resolved = resolve_parents(rest).ok_or_else(|| escapes_root(encoded))?;
            let rest = &*resolved;
            let location = Location::parse_uri(&scheme, rest, encoded).map_err(|cause| {
                let text = decode(rest).unwrap_or_default();
                if text.split('/').any(|part| part == "..") {
                    escapes_root(encoded)
                } else if decode(rest).is_none() || text.contains('\0') {
                    undecodable(encoded)
                } else {
                    on_another_store(encoded)
                }
                .because(cause)
            })?;
            return self
                .absolute(&location, location.path(), encoded)
                .map(Cow::Owned);
        }
        let path = decode_and_normalize(encoded)?;
        if path.is_empty() {
            return Err(escapes_root(encoded));
        }
        Ok(match directory {
            "" => path,
            directory => Cow::Owned(format!("{directory}/{path}")),
        })
    }

    /// Returns the location of the table.
    pub fn root(&self) -> &Location {
        &self.root
    }

    /// Returns the directory that the root of a local table is linked to: the same files have absolute paths below
    /// it, too.
    fn real_root(&self) -> Option<&Location> {
        let resolve = || match self.root.kind() {
            StoreKind::Local => real_location(&self.root),
            _ => None,
        };
        self.real_root.get_or_init(resolve).as_ref()
    }

    fn absolute(&self, store: &Location, path: &str, encoded: &str) -> Result<String> {
        let path = path.trim_start_matches('/');
        if store.same_store(&self.root) {
            let inside = below(path, &self.root);
            let inside = inside.or_else(|| below(path, self.real_root()?));
            if let Some(inside) = inside {
                return Ok(inside.to_owned());
            }
        }
        let contains = |root: &Location| root.same_store(store) && below(path, root).is_some();
        let is_allowed = self.allowed.iter().any(contains);
        match (store.same_store(&self.root), is_allowed) {
            (true, true) => Ok(format!("/{}", store.key_of(path))),
            (true, false) => Err(escapes_root(encoded)),
            (false, true) => {
                let message = "the file is on a different store than the table, which this version does not open";
                Err(Error::unsupported("path.other_store", message).at_path(encoded))
            }
            (false, false) => Err(on_another_store(encoded)),
        }
    }
}

/// Returns `true` for the name of a log directory; some file systems are case-insensitive.
fn is_log(name: &str) -> bool {
    name.eq_ignore_ascii_case("_delta_log")
}

/// Returns the part of `path` below `root`; `None` outside, and for the root itself.
fn below<'p>(path: &'p str, root: &Location) -> Option<&'p str> {
    let root_path = match root.kind() {
        StoreKind::Local => without_parents(root.path()),
        _ => Cow::Borrowed(root.path()),
    };
    let root_path = root_path.trim_start_matches('/');
    let rest = match root_path {
        "" => path,
        root_path => path.strip_prefix(root_path)?.strip_prefix('/')?,
    };
    Some(rest).filter(|rest| !rest.is_empty())
}

/// Returns a local root with each `..` resolved.
fn without_parents(path: &str) -> Cow<'_, str> {
    if !path.contains("..") {
        return Cow::Borrowed(path);
    }
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    Cow::Owned(parts.join("/"))
}

/// Returns the part of a URI after its scheme, with each `..` resolved; `None` above its root.
fn resolve_parents(rest: &str) -> Option<Cow<'_, str>> {
    if !rest.contains("..") {
        return Some(Cow::Borrowed(rest));
    }
    let authority = match rest.strip_prefix("//") {
        Some(after) => "//".len() + after.find('/').unwrap_or(after.len()),
        None => 0,
    };
    let (authority, path) = rest.split_at(authority);
    let slash = if path.starts_with('/') { "/" } else { "" };
    Some(Cow::Owned(format!(
        "{authority}{slash}{}",
        normalized(path)?
    )))
}

/// Drops empty components and `.`, and each `..` with the component before it; `None` if there is none
/// before it.
fn normalized(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Decodes once and normalizes: no slash at either end, no `.`, `..` and empty components; borrowed if
/// nothing changes, which is usual.
fn decode_and_normalize(encoded: &str) -> Result<Cow<'_, str>> {
    let decoded = decode(encoded).ok_or_else(|| undecodable(encoded))?;
    if decoded.contains('\0') {
        return Err(undecodable(encoded));
    }
    if !decoded
        .split('/')
        .any(|part| matches!(part, "" | "." | ".."))
    {
        return Ok(decoded);
    }
    let path = normalized(&decoded).ok_or_else(|| escapes_root(encoded))?;
    Ok(Cow::Owned(path))
}

fn undecodable(encoded: &str) -> Error {
    Error::corrupt(
        "path.encoding",
        "the log has a path for a file that does not decode to text",
    )
    .at_path(encoded)
}

fn escapes_root(encoded: &str) -> Error {
    Error::corrupt(
        "path.escapes_root",
        "the log points outside the table; if that is intended, add its location to allowed_roots",
    )
    .at_path(encoded)
}

fn on_another_store(encoded: &str) -> Error {
    Error::corrupt(
        "path.foreign",
        "the log points to a different store than the table's own; \
         open the table by the same kind of URI, or add the location to allowed_roots",
    )
    .at_path(encoded)
}

#[cfg(test)]
mod tests;
