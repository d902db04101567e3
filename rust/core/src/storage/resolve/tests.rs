use proptest::prelude::*;

use super::*;

/// Returns the location of a URI or of an absolute path, without a drive on Windows.
fn location(uri: &str) -> Location {
    let parsed = if cfg!(windows) && uri.starts_with('/') {
        Location::parse_uri("file", uri, uri)
    } else {
        Location::parse(uri)
    };
    parsed.unwrap()
}

fn resolver(root: &str, allowed: &[&str]) -> PathResolver {
    let parse = |uri: &&str| location(uri);
    let allowed: Vec<Location> = allowed.iter().map(parse).collect();
    PathResolver::new(&location(root), &allowed)
}

#[test]
fn resolves_paths_inside_the_table() {
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
        ("/t", "d/../d/p.parquet", "d/p.parquet"),
        ("/t", "a%2f..%2fb", "b"),
        ("/t", "/t/../t/a", "a"),
        ("/t", "file:/t/d/../a", "a"),
        ("s3://b/t", "s3://b/x/../t/a", "a"),
        ("/t", "/t/a", "a"),
        ("/t", "file:/t/a%20b", "a b"),
        ("/t", "file:///t/a", "a"),
        ("file:///x%20y", "file:/x%20y/a", "a"),
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
    if cfg!(unix) {
        let resolver = resolver("/t/u/..", &[]); // a local root may contain `..`
        assert_eq!(resolver.resolve("", "file:/t/a").unwrap(), "a");
    }
    let local = resolver("/t", &[]);
    let sidecars = "_delta_log/_sidecars";
    assert_eq!(
        local.resolve(sidecars, "a%20b.parquet").unwrap(),
        format!("{sidecars}/a b.parquet")
    );
    let absolute = format!("file:/t/{sidecars}/a.parquet");
    assert_eq!(
        local.resolve(sidecars, &absolute).unwrap(),
        format!("{sidecars}/a.parquet")
    );
}

#[test]
fn a_plain_path_is_borrowed() {
    let resolver = resolver("/t", &[]);
    assert!(matches!(
        resolver.resolve("", "p=1/part-0.parquet"),
        Ok(Cow::Borrowed(_))
    ));
}

#[test]
fn refuses_invalid_paths_and_paths_outside_the_table() {
    for (root, encoded, code) in [
        ("/t", "", "path.empty"),
        ("/t", ".", "path.escapes_root"),
        ("/t", "../x", "path.escapes_root"),
        ("/t", "a/../../b", "path.escapes_root"),
        ("/t", "a/..", "path.escapes_root"),
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
        ("/t", "_delta_log/0.json", "path.in_log"),
        ("/t", "a/%5Fdelta_log/x", "path.in_log"),
        ("/t", "/t/_DELTA_LOG/x", "path.in_log"),
        ("/t", "./_delta_log", "path.in_log"),
        ("/t", "a/../_delta_log/x", "path.in_log"),
        ("/t", "file:x/../t/a", "path.foreign"),
        ("s3://b/t", "s3://b/../b/t/a", "path.escapes_root"),
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
fn accepts_paths_below_allowed_roots() {
    let local = resolver("/t", &["/shared/data", "s3://b/x"]);
    assert_eq!(
        local.resolve("", "file:/shared/data/a%20b").unwrap(),
        "/shared/data/a b"
    );
    assert_eq!(
        local.resolve("", "/shared/data/a").unwrap(),
        "/shared/data/a"
    );
    assert_eq!(local.resolve("", "/t/a").unwrap(), "a");
    for (encoded, code) in [
        ("/shared/database/a", "path.escapes_root"),
        ("/shared/data/../x", "path.escapes_root"),
        ("s3://b/y/a", "path.foreign"),
        ("s3://b/x/a", "path.other_store"),
    ] {
        assert_eq!(
            local.resolve("", encoded).unwrap_err().code(),
            code,
            "{encoded}"
        );
    }
    let on_s3 = resolver("s3://b/t", &["s3://b/u/"]);
    assert_eq!(on_s3.resolve("", "s3a://b/u/a").unwrap(), "/u/a");
    let account = "https://acct.blob.core.windows.net/container";
    let on_azure = resolver(&format!("{account}/t"), &[&format!("{account}/u")]);
    assert_eq!(
        on_azure.resolve("", &format!("{account}/t/a")).unwrap(),
        "a"
    );
    assert_eq!(
        on_azure.resolve("", &format!("{account}/u/a")).unwrap(),
        "/u/a"
    );
}

proptest! {
    #[test]
    fn resolved_paths_stay_below_the_root(encoded in "(\\.|/|%2e|%2f|%252e|%00|:|file:|s3:|//|a|\\\\|é){0,12}") {
        for root in ["/t", "s3://b/t"] {
            if let Ok(path) = resolver(root, &[]).resolve("", &encoded) {
                prop_assert!(!path.starts_with('/') && !path.is_empty() && !path.contains('\0'));
                prop_assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
    }
}
