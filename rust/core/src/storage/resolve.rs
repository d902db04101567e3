//! The one way from a path in the log to a file: nothing else may turn one into the other.
//!
//! What a log says is not to be trusted. A path is decoded once and then judged as it is; it stays
//! below the table root, or below a root that the caller allowed.
//!
//! Protocol: "Add File and Remove File" (`path`), "Sidecar File Information", "Deletion Vectors".

use std::borrow::Cow;

use super::location::{Location, StoreKind, decode, split_scheme};
use crate::error::{Error, Result};

/// Turns URI-encoded paths of one table's log into paths that its storage takes.
#[derive(Clone, Debug)]
pub struct PathResolver {
    root: Location,
    allowed: Vec<Location>,
}

impl PathResolver {
    /// For the table at `root`. Files below `allowed_roots`, on the same store, may be pointed to as
    /// well.
    pub fn new(root: &Location, allowed_roots: &[Location]) -> Self {
        Self {
            root: root.clone(),
            allowed: allowed_roots.to_vec(),
        }
    }

    /// The storage path of a file that the log names by `encoded`.
    ///
    /// A relative path counts from `directory` (empty for the table root, `_delta_log/_sidecars` for
    /// sidecars); the result is relative to the table root. An absolute path or URI must lie on the
    /// table's own store, below its root, and becomes relative to it; below an allowed root the
    /// result is absolute within that store and begins with `/`. `.` and empty parts vanish; `..` is
    /// refused even where it would stay inside.
    ///
    /// # Errors
    ///
    /// Corrupt: `path.empty`, `path.encoding` (does not decode to text, or holds NUL),
    /// `path.escapes_root`, `path.foreign` (another scheme, bucket, container or host).
    pub fn resolve<'p>(&self, directory: &str, encoded: &'p str) -> Result<Cow<'p, str>> {
        if encoded.is_empty() {
            let error = Error::corrupt("path.empty", "the log names a file by an empty path");
            return Err(if directory.is_empty() {
                error.at_path("_delta_log") // nothing else tells whose it is
            } else {
                error
            });
        }
        if encoded.starts_with("//") {
            return Err(foreign(encoded));
        }
        if encoded.starts_with('/') {
            let path = normal(encoded, encoded)?;
            return self.absolute(&self.root, &path, encoded).map(Cow::Owned);
        }
        if let Some((scheme, rest)) = split_scheme(encoded) {
            let place = Location::parse_uri(&scheme, rest, encoded).map_err(|cause| {
                let text = decode(rest).unwrap_or_default();
                if text.split('/').any(|part| part == "..") {
                    escapes(encoded)
                } else if decode(rest).is_none() || text.contains('\0') {
                    encoding(encoded)
                } else {
                    foreign(encoded)
                }
                .because(cause)
            })?;
            return self.absolute(&place, place.path(), encoded).map(Cow::Owned);
        }
        let path = normal(encoded, encoded)?;
        if path.is_empty() {
            return Err(escapes(encoded));
        }
        Ok(match directory {
            "" => path,
            directory => Cow::Owned(format!("{directory}/{path}")),
        })
    }

    fn absolute(&self, store: &Location, path: &str, encoded: &str) -> Result<String> {
        let path = path.trim_start_matches('/');
        if store.same_store(&self.root)
            && let Some(inside) = below(path, &self.root)
        {
            return Ok(inside.to_owned());
        }
        let allowed = self.allowed.iter().filter(|root| root.same_store(store));
        for root in allowed {
            if below(path, root).is_some() {
                return if store.same_store(&self.root) {
                    Ok(format!("/{}", store.key_of(path)))
                } else {
                    Err(Error::unsupported(
                        "path.other_store",
                        "the file lies on another store than the table, \
                         which this version does not open",
                    )
                    .at_path(encoded))
                };
            }
        }
        Err(if store.same_store(&self.root) {
            escapes(encoded)
        } else {
            foreign(encoded)
        })
    }
}

/// What is left of `path` below `root`; None outside, and for the root itself.
fn below<'p>(path: &'p str, root: &Location) -> Option<&'p str> {
    let root_path = match root.kind() {
        StoreKind::Local => without_climbing(root.path()),
        _ => Cow::Borrowed(root.path()),
    };
    let root_path = root_path.trim_start_matches('/');
    let rest = match root_path {
        "" => path,
        root_path => path.strip_prefix(root_path)?.strip_prefix('/')?,
    };
    (!rest.is_empty()).then_some(rest)
}

/// A local root may hold `..`, as the user wrote it; what the log points to may not.
fn without_climbing(path: &str) -> Cow<'_, str> {
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

/// Decoded once, without a slash at either end, without `.` and empty parts; borrowed where the path
/// is so already, which is nearly always.
fn normal<'p>(encoded: &'p str, shown: &str) -> Result<Cow<'p, str>> {
    let decoded = decode(encoded).ok_or_else(|| encoding(shown))?;
    if decoded.contains('\0') {
        return Err(encoding(shown));
    }
    let mut plain = true;
    for part in decoded.split('/') {
        match part {
            ".." => return Err(escapes(shown)),
            "" | "." => plain = false,
            _ => {}
        }
    }
    if plain {
        return Ok(decoded);
    }
    let parts: Vec<&str> = decoded
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    Ok(Cow::Owned(parts.join("/")))
}

fn encoding(shown: &str) -> Error {
    Error::corrupt(
        "path.encoding",
        "the log names a file by a path that does not decode to text",
    )
    .at_path(shown)
}

fn escapes(shown: &str) -> Error {
    Error::corrupt(
        "path.escapes_root",
        "the log points outside the table; if that is meant, name the place in allowed_roots",
    )
    .at_path(shown)
}

fn foreign(shown: &str) -> Error {
    Error::corrupt(
        "path.foreign",
        "the log points to another store than the table's own; \
         open the table by the same kind of URI, or name the place in allowed_roots",
    )
    .at_path(shown)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resolver(root: &str, allowed: &[&str]) -> PathResolver {
        let parse = |uri: &&str| Location::parse(uri).unwrap();
        let allowed: Vec<Location> = allowed.iter().map(parse).collect();
        PathResolver::new(&Location::parse(root).unwrap(), &allowed)
    }

    #[test]
    fn paths_inside_the_table() {
        for (root, encoded, expected) in [
            ("/t", "a.parquet", "a.parquet"),
            ("/t", "p=1/a.parquet", "p=1/a.parquet"),
            ("/t", "p=a%20b/x.parquet", "p=a b/x.parquet"),
            ("/t", "p=a%2520b/x.parquet", "p=a%20b/x.parquet"),
            ("/t", "p=a%253Ab/x", "p=a%3Ab/x"),
            ("/t", "p=%252e%252e/x", "p=%2e%2e/x"),
            ("/t", "100%/x", "100%/x"),
            ("/t", "p=a:b/x", "p=a:b/x"),
            ("/t", "a..b/..c/...", "a..b/..c/..."),
            ("/t", "./a//b/", "a/b"),
            ("/t", "%C3%A4", "ä"),
            ("/t", "/t/a", "a"),
            ("/t", "file:/t/a%20b", "a b"),
            ("/t", "file:///t/a", "a"),
            ("file:///x%20y", "file:/x%20y/a", "a"),
            ("/t/u/..", "file:/t/a", "a"),
            ("/", "/etc/a", "etc/a"),
            ("s3://b/t", "s3://b/t/a%20b", "a b"),
            ("s3://b/t", "s3a://b/t/a", "a"),
            ("s3://b", "s3://b/a", "a"),
            ("s3://b/t", "/t/a", "a"),
            (
                "abfss://c@x.dfs.core.windows.net/t",
                "abfss://c@x.dfs.core.windows.net/t/a",
                "a",
            ),
            ("memory://m/t", "memory://m/t/a", "a"),
        ] {
            let resolved = resolver(root, &[]).resolve("", encoded);
            assert_eq!(resolved.unwrap(), expected, "{root} {encoded}");
        }
        let found = resolver("/t", &[]);
        let sidecars = "_delta_log/_sidecars";
        assert_eq!(
            found.resolve(sidecars, "a%20b.parquet").unwrap(),
            format!("{sidecars}/a b.parquet")
        );
        let absolute = format!("file:/t/{sidecars}/a.parquet");
        assert_eq!(
            found.resolve(sidecars, &absolute).unwrap(),
            format!("{sidecars}/a.parquet")
        );
    }

    #[test]
    fn a_plain_path_costs_no_memory() {
        let resolver = resolver("/t", &[]);
        assert!(matches!(
            resolver.resolve("", "p=1/part-0.parquet"),
            Ok(Cow::Borrowed(_))
        ));
    }

    #[test]
    fn paths_outside_are_refused() {
        for (root, encoded, code) in [
            ("/t", "", "path.empty"),
            ("/t", ".", "path.escapes_root"),
            ("/t", "../x", "path.escapes_root"),
            ("/t", "a/../b", "path.escapes_root"),
            ("/t", "%2e%2e/x", "path.escapes_root"),
            ("/t", "a%2f..%2f..%2fx", "path.escapes_root"),
            ("/t", "/etc/passwd", "path.escapes_root"),
            ("/t", "/t", "path.escapes_root"),
            ("/t", "/tt/x", "path.escapes_root"),
            ("/t", "file:/t/../x", "path.escapes_root"),
            ("/t", "file:/t/%2e%2e/x", "path.escapes_root"),
            ("/t", "file:///etc/passwd", "path.escapes_root"),
            ("/t", "file://host/t/x", "path.foreign"),
            ("/t", "file:x", "path.foreign"),
            ("/t", "//host/t/x", "path.foreign"),
            ("/t", "s3://b/t/x", "path.foreign"),
            ("/t", "hdfs://h/t/x", "path.foreign"),
            ("/t", "javascript:alert(1)", "path.foreign"),
            (
                "/t",
                "http://169.254.169.254/latest/meta-data",
                "path.foreign",
            ),
            ("/t", "a%00b", "path.encoding"),
            ("/t", "file:/t/a%00b", "path.encoding"),
            ("/t", "%ff", "path.encoding"),
            ("s3://b/t", "s3://other/t/x", "path.foreign"),
            ("s3://b/t", "s3://b/u/x", "path.escapes_root"),
            ("s3://b/t", "file:/t/x", "path.foreign"),
            ("s3://b/t", "S3://b/t/../x", "path.escapes_root"),
            (
                "az://c/t",
                "abfss://c@evil.dfs.core.windows.net/t/x",
                "path.foreign",
            ),
        ] {
            let error = resolver(root, &[]).resolve("", encoded).unwrap_err();
            assert_eq!(error.code(), code, "{root} {encoded}");
        }
        let error = resolver("/t", &[]).resolve("", "").unwrap_err();
        assert_eq!(error.path(), Some("_delta_log"));
    }

    #[test]
    fn allowed_roots_widen() {
        let found = resolver("/t", &["/shared/data", "s3://b/x"]);
        assert_eq!(
            found.resolve("", "file:/shared/data/a%20b").unwrap(),
            "/shared/data/a b"
        );
        assert_eq!(
            found.resolve("", "/shared/data/a").unwrap(),
            "/shared/data/a"
        );
        assert_eq!(found.resolve("", "/t/a").unwrap(), "a");
        for (encoded, code) in [
            ("/shared/database/a", "path.escapes_root"),
            ("/shared/data/../x", "path.escapes_root"),
            ("s3://b/y/a", "path.foreign"),
            ("s3://b/x/a", "path.other_store"),
        ] {
            assert_eq!(
                found.resolve("", encoded).unwrap_err().code(),
                code,
                "{encoded}"
            );
        }
        let found = resolver("s3://b/t", &["s3://b/u/"]);
        assert_eq!(found.resolve("", "s3a://b/u/a").unwrap(), "/u/a");
        let account = "https://acct.blob.core.windows.net/container";
        let found = resolver(&format!("{account}/t"), &[&format!("{account}/u")]);
        assert_eq!(found.resolve("", &format!("{account}/t/a")).unwrap(), "a");
        assert_eq!(
            found.resolve("", &format!("{account}/u/a")).unwrap(),
            "/u/a"
        );
    }

    proptest! {
        #[test]
        fn no_path_ever_climbs_out(encoded in "(\\.|/|%2e|%2f|%252e|%00|:|file:|s3:|//|a|\\\\|é){0,12}") {
            for root in ["/t", "s3://b/t"] {
                if let Ok(path) = resolver(root, &[]).resolve("", &encoded) {
                    prop_assert!(!path.starts_with('/') && !path.is_empty() && !path.contains('\0'));
                    prop_assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")));
                }
            }
        }
    }
}
