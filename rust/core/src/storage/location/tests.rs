#![allow(clippy::unwrap_used)]

use super::*;

#[test]
#[cfg(unix)]
fn normalizes_local_paths() {
    for (written, path, root) in [
        ("/tmp/table", "/tmp/table", "file:///tmp/table"),
        ("/tmp//./table/", "/tmp/table", "file:///tmp/table"),
        (
            "/a b%20c#d?e",
            "/a b%20c#d?e",
            "file:///a%20b%2520c%23d%3Fe",
        ),
        ("/tmp/ä", "/tmp/ä", "file:///tmp/%C3%A4"),
        ("/", "", "file:///"),
        ("/a/../b", "/a/../b", "file:///a/../b"),
    ] {
        let location = Location::parse(written).unwrap();
        assert_eq!(location.kind(), StoreKind::Local);
        assert_eq!(
            (location.path(), location.root()),
            (path, root),
            "{written}"
        );
        if !path.contains("..") {
            assert_eq!(
                Location::parse(location.root()).unwrap(),
                location,
                "{written}"
            );
        }
    }
}

#[test]
fn normalizes_uris() {
    for (uri, kind, authority, path, root) in [
        // Hadoop's default file system
        ("hdfs:/a b", StoreKind::Hdfs, "", "a b", "hdfs:///a%20b"),
        (
            "file:/tmp/table",
            StoreKind::Local,
            "",
            "/tmp/table",
            "file:///tmp/table",
        ),
        (
            "file:///tmp/table/",
            StoreKind::Local,
            "",
            "/tmp/table",
            "file:///tmp/table",
        ),
        (
            "FILE://localhost/tmp",
            StoreKind::Local,
            "",
            "/tmp",
            "file:///tmp",
        ),
        (
            "file:///a%20b%2520c",
            StoreKind::Local,
            "",
            "/a b%20c",
            "file:///a%20b%2520c",
        ),
        (
            "file:///a b/100%",
            StoreKind::Local,
            "",
            "/a b/100%",
            "file:///a%20b/100%25",
        ),
        (
            "memory://name",
            StoreKind::Memory,
            "name",
            "",
            "memory://name",
        ),
        (
            "memory:///path/",
            StoreKind::Memory,
            "",
            "path",
            "memory:///path",
        ),
        ("s3://bucket", StoreKind::S3, "bucket", "", "s3://bucket"),
        (
            "s3a://my_bucket/a//b/",
            StoreKind::S3,
            "my_bucket",
            "a/b",
            "s3a://my_bucket/a/b",
        ),
        (
            "gs://bucket/a%20b",
            StoreKind::Gcs,
            "bucket",
            "a b",
            "gs://bucket/a%20b",
        ),
        (
            "az://container/t",
            StoreKind::Azure,
            "container",
            "t",
            "az://container/t",
        ),
        (
            "abfss://c@acct.dfs.core.windows.net/t",
            StoreKind::Azure,
            "c@acct.dfs.core.windows.net",
            "t",
            "abfss://c@acct.dfs.core.windows.net/t",
        ),
        (
            "http://Example.com:8080/t%20x/",
            StoreKind::Http,
            "example.com:8080",
            "t x",
            "http://example.com:8080/t%20x",
        ),
    ] {
        let location = Location::parse(uri).unwrap();
        let result = (
            location.kind(),
            location.authority(),
            location.path(),
            location.root(),
        );
        assert_eq!(result, (kind, authority, path, root), "{uri}");
        let again = Location::parse(location.root()).unwrap();
        assert_eq!(
            again, location,
            "the normalized URI is of the same location"
        );
    }
}

#[test]
fn a_relative_path_is_resolved_against_the_working_directory() {
    let here = std::env::current_dir().unwrap();
    let here = platform::from_system(here.to_str().unwrap()).unwrap();
    assert_eq!(
        Location::parse("some/table").unwrap().path(),
        format!("{here}/some/table")
    );
    assert_eq!(Location::parse(".").unwrap().path(), here);
    let names = ["./~/table", "a/~"];
    let with_colon = ["2026-01-01T10:00/t", "a/odd:name", "./odd:name/t"];
    let with_colon = with_colon.into_iter().filter(|_| cfg!(unix));
    for name in names.into_iter().chain(with_colon) {
        let plain = name.trim_start_matches("./");
        assert_eq!(
            Location::parse(name).unwrap().path(),
            format!("{here}/{plain}")
        );
    }
}

#[test]
fn a_leading_tilde_is_the_home_directory() {
    let home = std::env::home_dir().unwrap();
    let home = platform::from_system(home.to_str().unwrap()).unwrap();
    assert_eq!(Location::parse("~").unwrap().path(), home);
    assert_eq!(Location::parse("~/").unwrap().path(), home);
    assert_eq!(
        Location::parse("~/a b/t").unwrap().path(),
        format!("{home}/a b/t")
    );
    assert_eq!(Location::parse("file:///~/t").unwrap().path(), "/~/t");
}

#[test]
fn refuses_unknown_schemes_with_advice() {
    for (uri, advice) in [
        ("dbfs:/ux/t", "/dbfs"),
        ("wasb://c@a.blob.core.windows.net/t", "abfss://"),
        ("viewfs://host/table", "hdfs://"),
        ("webhdfs://host:9870/table", "hdfs://"),
        ("odd:name/t", "./"),
        ("oss://bucket/t", "./"),
    ] {
        let error = Location::parse(uri).unwrap_err();
        assert_eq!(error.code(), "uri.scheme", "{uri}");
        for text in [SCHEMES, advice] {
            assert!(error.message().contains(text), "{error}");
        }
    }
    if cfg!(unix) {
        assert_eq!(Location::parse("C:\\t").unwrap_err().code(), "uri.scheme");
    }
    for scheme in SCHEMES.split(", ").flat_map(|part| part.split(" and ")) {
        let known = Location::parse(&format!("{scheme}://localhost/t"));
        assert!(known.is_ok(), "{scheme} is listed as supported");
    }
}

#[test]
fn recognizes_https_addresses_of_object_stores() {
    for (uri, kind, key) in [
        (
            "https://acct.blob.core.windows.net/container/a/b",
            StoreKind::Azure,
            "a/b",
        ),
        (
            "https://acct.dfs.core.windows.net/container",
            StoreKind::Azure,
            "",
        ),
        (
            "https://s3.eu-west-1.amazonaws.com/bucket/a",
            StoreKind::S3,
            "a",
        ),
        (
            "https://bucket.s3.eu-west-1.amazonaws.com/a/b",
            StoreKind::S3,
            "a/b",
        ),
        (
            "https://acct.r2.cloudflarestorage.com/bucket/a",
            StoreKind::S3,
            "a",
        ),
        ("https://example.com/a/b", StoreKind::Http, "a/b"),
    ] {
        let location = Location::parse(uri).unwrap();
        assert_eq!((location.kind(), location.key()), (kind, key), "{uri}");
        let (_, path) = ObjectStoreScheme::parse(&Url::parse(uri).unwrap()).unwrap();
        assert_eq!(path.as_ref(), key, "as object_store has it");
    }
    // only `s3.` is Amazon's own host, as in `AmazonS3Builder::with_url`
    let location = Location::parse("https://s3-logs.s3.eu-west-1.amazonaws.com/a/b").unwrap();
    assert_eq!((location.kind(), location.key()), (StoreKind::S3, "a/b"));
}

#[test]
fn refuses_invalid_uris() {
    for (uri, code) in [
        ("", "uri.empty"),
        ("  ", "uri.empty"),
        ("/tmp/\0", "uri.form"),
        ("file://host/tmp", "uri.form"),
        ("file:relative", "uri.form"),
        ("file:///a/%2e%2e/b", "uri.form"),
        ("file:///a%00b", "uri.form"),
        ("s3://bucket/%ff", "uri.form"),
        ("s3://", "uri.form"),
        ("s3:///key", "uri.form"),
        ("s3://bucket/a/../b", "uri.form"),
        ("gs://buck et/a", "uri.form"),
        ("http://", "uri.form"),
        ("memory:name", "uri.form"),
        ("http:host/t", "uri.form"),
        ("s3:bucket/t", "uri.form"),
        ("~user/t", "uri.form"),
        ("https://user:hunter2@example.com/t", "uri.form"),
        ("s3://user:hunter2@bucket/t", "uri.form"),
        ("s3://user:pass/hunter2@bucket/t", "uri.form"),
        ("gs://user:pass/hunter2@bucket/t", "uri.form"),
        ("hdfs://user:pass/hunter2@host:8020/t", "uri.form"),
        (
            "abfss://user:pass/hunter2@acct.dfs.core.windows.net/t",
            "uri.form",
        ),
        (
            "https://acct.blob.core.windows.net/c/t?sig=hunter2",
            "uri.form",
        ),
    ] {
        let error = Location::parse(uri).unwrap_err();
        assert_eq!(error.code(), code, "{uri}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn compares_the_stores_of_locations() {
    for (first, other, same) in [
        ("s3://b/x", "s3a://b/y", true),
        ("s3://b/x", "s3://c/x", false),
        ("s3://b/x", "gs://b/x", false),
        ("/x", "file:/y", true),
        ("az://c/x", "abfs://c/x", true),
        ("abfss://c@a.dfs.core.windows.net/x", "az://c@a/y", true),
        (
            "abfss://c@a.dfs.core.windows.net/x",
            "abfss://c@b.dfs.core.windows.net/x",
            false,
        ),
        ("abfss://c@a.dfs.core.windows.net/x", "az://c/x", false),
        ("http://h/x", "https://h/x", false),
        ("http://h:1/x", "http://h:2/x", false),
    ] {
        let (first, other) = (
            Location::parse(first).unwrap(),
            Location::parse(other).unwrap(),
        );
        assert_eq!(first.same_store(&other), same, "{first} {other}");
    }
}

#[test]
fn files_have_uris_as_hadoop_writes_them() {
    for (root, path, within, uri) in [
        (
            "file:/tmp/a b%",
            "p=x%20y/ä.parquet",
            "/tmp/a b%/p=x%20y/ä.parquet",
            "file:/tmp/a%20b%25/p=x%2520y/%C3%A4.parquet",
        ),
        ("file:/tmp/t", "/else/x", "/else/x", "file:/else/x"),
        (
            "s3://bucket/a b",
            "x.parquet",
            "/a b/x.parquet",
            "s3://bucket/a%20b/x.parquet",
        ),
        (
            "s3a://bucket",
            "x.parquet",
            "/x.parquet",
            "s3a://bucket/x.parquet",
        ),
        (
            "s3://bucket/t",
            "/other/x",
            "/other/x",
            "s3://bucket/other/x",
        ),
        (
            "abfss://container@account.dfs.core.windows.net/t",
            "x",
            "/t/x",
            "abfss://container@account.dfs.core.windows.net/t/x",
        ),
        (
            "https://account.blob.core.windows.net/container/t",
            "x",
            "/t/x",
            "https://account.blob.core.windows.net/container/t/x",
        ),
        ("hdfs://lake/t", "x", "/t/x", "hdfs://lake/t/x"),
    ] {
        let location = Location::parse(root).unwrap();
        assert_eq!(location.within_store(path), within, "{root}");
        assert_eq!(location.uri_of(path), uri, "{root}");
        let decoded = percent_decode_str(uri).decode_utf8().unwrap();
        assert_eq!(location.hadoop_path(path), decoded, "{root}");
    }
}
