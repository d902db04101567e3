#![allow(clippy::single_range_in_vec_init)]

pub(crate) mod far;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::error::ErrorKind;
use crate::storage::{self, MAX_GAP_BYTES, interrupt};

fn open(uri: &str, options: &[(&str, &str)]) -> Arc<dyn Storage> {
    let options: Vec<_> = options
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    storage::tests::open(uri, &options).unwrap()
}

fn names(files: &[FileMeta]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn memory_stores_of_the_same_name_are_shared() {
    let first = open("memory://shared-by-name/table", &[]);
    assert!(first.put_if_absent("a/b", b"x").unwrap());
    let second = open("memory://shared-by-name/table/", &[]);
    assert_eq!(second.read("a/b").unwrap(), "x");
    assert_eq!(
        open("memory://shared-by-name", &[])
            .read("table/a/b")
            .unwrap(),
        "x"
    );
    let other = open("memory://another-name/table", &[])
        .read("a/b")
        .unwrap_err();
    assert_eq!(
        (other.code(), other.path()),
        ("storage.not_found", Some("a/b"))
    );
    assert_eq!(second.root(), "memory://shared-by-name/table");
}

#[test]
fn lists_files_from_a_name_on_in_order() {
    for root in ["memory://lists", "memory://lists/deep/table"] {
        let store = open(root, &[]);
        for name in [
            "3.json",
            "1.json",
            "2.json",
            "_last_checkpoint",
            "sub/4.json",
        ] {
            store
                .put_if_absent(&format!("log/{name}"), name.as_bytes())
                .unwrap();
        }
        store.put_if_absent("logs/1.json", b"").unwrap();
        let expected = [
            "log/1.json",
            "log/2.json",
            "log/3.json",
            "log/_last_checkpoint",
        ];
        assert_eq!(names(&store.list("log", "").unwrap()), expected);
        assert_eq!(
            names(&store.list("log/", "2.json").unwrap()),
            &expected[1..]
        );
        assert_eq!(
            names(&store.list("log", "2.jsonx").unwrap()),
            &expected[2..]
        );
        assert!(store.list("log", "zzz").unwrap().is_empty());
        assert!(store.list("absent", "").unwrap().is_empty());
        let file = &store.list("log", "_").unwrap()[0];
        assert_eq!(file.size, 16);
        assert_eq!(&store.head("log/_last_checkpoint").unwrap(), file);
        assert!(storage::now().abs_diff(file.modification_time) < 60_000);
    }
    assert_eq!(
        names(&open("memory://lists/log", &[]).list("", "3").unwrap()).len(),
        2
    );
}

#[test]
fn ranges_are_returned_in_the_requested_order() {
    let store = open("memory://ranges", &[]);
    store.put_if_absent("file", b"0123456789").unwrap();
    let ranges = store
        .read_ranges("file", &[8..10, 0..3, 5..5, 2..6])
        .unwrap();
    assert_eq!(ranges, [&b"89"[..], b"012", b"", b"2345"]);
    assert!(store.read_ranges("file", &[]).unwrap().is_empty());
}

#[test]
fn refuses_ranges_beyond_the_end_and_of_missing_files() {
    let store = open("memory://ranges-beyond", &[]);
    store.put_if_absent("file", b"0123456789").unwrap();
    #[allow(clippy::reversed_empty_ranges)]
    for (range, offset) in [(8..11, 8), (10..u64::MAX, 10), (11..12, 10), (5..4, 5)] {
        let error = store.read_ranges("file", &[0..1, range]).unwrap_err();
        assert_eq!(
            (error.code(), error.kind()),
            ("storage.truncated", ErrorKind::Corrupt)
        );
        assert_eq!((error.path(), error.offset()), (Some("file"), Some(offset)));
    }
    assert_eq!(
        store.read_ranges("no", &[0..1, 1..2]).unwrap_err().code(),
        "storage.not_found"
    );
}

#[test]
fn near_ranges_are_fetched_together() {
    let far = 10 + MAX_GAP_BYTES + 1;
    assert_eq!(merged(&[20..30, 0..10, 5..5, 5..25]), [0..30]);
    assert_eq!(merged(&[far..far + 1, 0..10]), [0..10, far..far + 1]);
    assert_eq!(
        merged(&[0..10, 10 + MAX_GAP_BYTES..u64::MAX, 3..4]),
        [0..u64::MAX]
    );
    assert!(merged(&[]).is_empty());
}

#[test]
fn read_many_returns_a_result_for_each_file_in_order() {
    let store = open("memory://many", &[]);
    for index in (0..300).filter(|index| index % 7 != 3) {
        store
            .put_if_absent(&format!("log/{index}"), index.to_string().as_bytes())
            .unwrap();
    }
    let paths: Vec<String> = (0..300).map(|index| format!("log/{index}")).collect();
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.push("../climbs");
    let mut results = store.read_many(&paths);
    assert_eq!(
        results.pop().unwrap().unwrap_err().code(),
        "path.escapes_root"
    );
    assert_eq!(results.len(), 300);
    for (index, result) in results.into_iter().enumerate() {
        match result {
            Ok(bytes) => assert_eq!(bytes, index.to_string()),
            Err(error) => {
                assert_eq!((index % 7, error.code()), (3, "storage.not_found"));
                assert_eq!(error.path(), Some(paths[index]));
            }
        }
    }
    assert!(store.read_many(&[]).is_empty());
}

#[test]
fn one_of_many_writers_creates_the_file() {
    let store = open("memory://puts", &[]);
    for version in 0..20 {
        let path = format!("{version}.json");
        let won: Vec<bool> = thread::scope(|scope| {
            let put = |bytes: u8| {
                let (store, path) = (&store, &path);
                scope.spawn(move || store.put_if_absent(path, &[bytes]).unwrap())
            };
            let threads: Vec<_> = (0..8).map(put).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let winners: Vec<u8> = (0_u8..)
            .zip(won)
            .filter_map(|(writer, won)| won.then_some(writer))
            .collect();
        assert_eq!(store.read(&path).unwrap(), winners);
    }
}

#[test]
fn lists_and_deletes_files_below_the_root() {
    let store = open("memory://deletes/table", &[]);
    for path in ["a", "_log/x", "d=1/b", "d=1/_in/c"] {
        store.put_if_absent(path, b"12").unwrap();
    }
    open("memory://deletes/other", &[]).put("z", b"1").unwrap();
    let names = |enter: &(dyn Fn(&str) -> bool + Sync)| -> Vec<String> {
        let files = store.list_below("", enter).unwrap();
        files.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(names(&|_| true), ["_log/x", "a", "d=1/_in/c", "d=1/b"]);
    let plain = |path: &str| !path.rsplit('/').next().unwrap().starts_with('_');
    assert_eq!(names(&plain), ["a", "d=1/b"]);
    let deleted = store.delete(&["a", "nothing", "d=1/b", "../other/z"]);
    let codes: Vec<_> = deleted
        .iter()
        .map(|result| result.as_ref().err().map(Error::code))
        .collect();
    assert_eq!(codes, [None, None, None, Some("path.escapes_root")]);
    assert_eq!(names(&plain), [""; 0]);
}

#[test]
fn special_characters_in_names_are_kept() {
    let store = open("memory://names/a%20b", &[]);
    for path in ["p=a%20b/x", "p=a b/#?", "ä"] {
        store.put_if_absent(path, path.as_bytes()).unwrap();
        assert_eq!(store.read(path).unwrap(), path);
        let absolute = format!("/a b/{path}");
        assert_eq!(
            open("memory://names/other", &[]).read(&absolute).unwrap(),
            path
        );
    }
    assert_eq!(
        store.read("line\nbreak").unwrap_err().code(),
        "storage.path"
    );
}

/// Starts a server for one test: it responds as `answer` says, and records the request lines.
fn server(
    answer: impl Fn(&str, &str) -> (&'static str, String) + Send + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap(), &answer, &seen);
        }
    });
    (address, requests)
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(&str, &str) -> (&'static str, String),
    seen: &Mutex<Vec<String>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap_or(0) > 2 {}
    let Some(line) = head.lines().next() else {
        return;
    };
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    seen.lock().unwrap().push(line.to_owned());
    let (status, body) = answer(line, header("range"));
    // the client may have closed the connection
    let _closed = stream.write_all(
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nlast-modified: Thu, 01 Jan 2026 00:00:00 \
             GMT\r\netag: \"e\"\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
}

fn s3(address: &str) -> Arc<dyn Storage> {
    open(
        "s3://bucket/my%20table",
        &[
            ("aws_endpoint_url", address),
            ("AWS_ALLOW_HTTP", "true"),
            ("aws_access_key_id", "visible"),
            ("aws_secret_access_key", "hunter2"),
            ("aws_region", "eu-west-1"),
            ("max_retries", "0"),
        ],
    )
}

#[test]
fn s3_lists_by_page_from_a_name_without_descending() {
    let page = |keys: &[&str], next: &str| {
        let contents: String = keys
            .iter()
            .map(|key| {
                format!(
                    "<Contents><Key>my table/log/{key}</Key><Size>7</Size>\
                     <LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                )
            })
            .collect();
        format!(
            "<ListBucketResult>{contents}<CommonPrefixes><Prefix>my table/log/sub/</Prefix>\
             </CommonPrefixes>{next}</ListBucketResult>"
        )
    };
    let (address, requests) = server(move |line, _| {
        let body = if line.contains("continuation-token=more") {
            page(&["25.json", "deeper/9.json"], "")
        } else {
            // out of order and too early, as a store that ignores start-after
            page(
                &["24.json", "1.json"],
                "<NextContinuationToken>more</NextContinuationToken>",
            )
        };
        ("200 OK", body)
    });
    let files = s3(&address).list("log", "24.json").unwrap();
    assert_eq!(names(&files), ["log/24.json", "log/25.json"]);
    assert_eq!(
        (files[0].size, files[0].modification_time),
        (7, 1_767_225_600_000)
    );
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for expected in [
        "GET /bucket?",
        "delimiter=%2F",
        "list-type=2",
        "prefix=my%20table%2Flog%2F",
        "start-after=my%20table%2Flog%2F24.jso",
    ] {
        let first = requests[0].replace('+', "%20");
        assert!(first.contains(expected), "{expected}: {first}");
    }
}

#[test]
fn s3_reads_ranges_and_its_errors_have_no_secrets() {
    let (address, requests) = server(|line, range| match line {
        _ if line.contains("/absent") => ("404 Not Found", "<Error/>".to_owned()),
        _ if line.contains("/secret") => ("403 Forbidden", "no hunter2 here".to_owned()),
        _ if line.contains("/broken") => ("500 Oops", "hunter2 again".to_owned()),
        _ if range == "bytes=2-8" => (
            "206 Partial\r\ncontent-range: bytes 2-8/10",
            "2345678".to_owned(),
        ),
        _ => ("200 OK", "0123456789".to_owned()),
    });
    let store = s3(&address);
    assert_eq!(store.read("file").unwrap(), "0123456789");
    assert_eq!(
        store.read_ranges("file", &[6..9, 2..3]).unwrap(),
        ["678", "2"]
    );
    let requested = requests.lock().unwrap().clone();
    assert_eq!(requested, ["GET /bucket/my%20table/file HTTP/1.1"; 2]);
    for (path, code) in [
        ("absent", "storage.not_found"),
        ("secret", "storage.permission"),
        ("broken", "storage.io"),
    ] {
        for error in [
            store.read(path).unwrap_err(),
            store.read_many(&[path]).remove(0).unwrap_err(),
            store.read_ranges(path, &[0..1]).unwrap_err(),
        ] {
            let text = format!("{error} {error:?} {store:?}");
            assert_eq!((error.code(), error.path()), (code, Some(path)), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

#[test]
fn s3_listings_that_are_none_are_errors() {
    let token = "<NextContinuationToken>x</NextContinuationToken>";
    let truncated = "<IsTruncated>true</IsTruncated>";
    let listing = |content: &str| format!("<ListBucketResult>{content}</ListBucketResult>");
    for (status, body, code) in [
        ("200 OK", listing(""), None),
        ("200 OK", "<html>hello</html>".into(), Some("storage.io")),
        (
            "200 OK",
            "<Error><Code>X</Code></Error>".into(),
            Some("storage.io"),
        ),
        ("200 OK", "<ListBucketResult>".into(), Some("storage.io")),
        ("200 OK", listing(truncated), Some("storage.io")),
        (
            "200 OK",
            listing(&format!("{truncated}{token}")),
            Some("storage.io"),
        ),
        ("401 No", "who?".into(), Some("storage.permission")),
        (
            "403 Forbidden",
            "hunter2?".into(),
            Some("storage.permission"),
        ),
    ] {
        let content = body.clone();
        let (address, _) = server(move |_, _| (status, content.clone()));
        for listed in [
            s3(&address).list("log", ""),
            s3(&address).list_below("", &|_| true),
        ] {
            let error = listed.err();
            assert_eq!(error.as_ref().map(Error::code), code, "{body}: {error:?}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
            if let Some(error) = error {
                assert!(error.message().contains("list this directory"), "{error}");
            }
        }
    }
}

#[test]
fn s3_errors_of_deletions_are_not_lost() {
    let key = "<Key>my table/a</Key>";
    let failed = |key: &str| {
        format!(
            "<DeleteResult><Error><Key>{key}</Key><Code>Denied</Code><Message>no</Message></Error></DeleteResult>"
        )
    };
    for (body, expected) in [
        (
            format!("<DeleteResult><Deleted>{key}</Deleted></DeleteResult>"),
            None,
        ),
        (failed("my table/a"), Some("Denied")),
        (failed("my table/z"), Some("about another object")),
        (failed("my%20table/a"), Some("Denied")),
        ("<html>hello</html>".to_owned(), Some("DeleteObjects")),
    ] {
        let content = body.clone();
        let (address, _) = server(move |_, _| ("200 OK", content.clone()));
        let error = s3(&address).delete(&["a"]).remove(0).err();
        assert_eq!(
            error.as_ref().map(Error::code),
            expected.map(|_| "storage.io")
        );
        let text = error
            .map(|error| format!("{error} {error:?}"))
            .unwrap_or_default();
        assert!(
            text.contains(expected.unwrap_or_default()),
            "{body}: {text}"
        );
    }
}

#[test]
fn a_refused_put_is_checked_with_a_head_request() {
    let (address, _) = server(|line, _| match line {
        _ if line.starts_with("PUT") && line.contains("/new") => ("200 OK", String::new()),
        _ if line.starts_with("PUT") && line.contains("/taken") => ("412 Failed", String::new()),
        _ if line.starts_with("PUT") => ("409 Conflict", String::new()),
        _ if line.contains("/taken") => ("200 OK", "x".to_owned()),
        _ => ("404 Not Found", String::new()),
    });
    let store = s3(&address);
    assert!(store.put_if_absent("new", b"x").unwrap());
    assert!(!store.put_if_absent("taken", b"x").unwrap());
    assert_eq!(
        store.put_if_absent("raced", b"x").unwrap_err().code(),
        "storage.contended"
    );
}

#[test]
fn reads_from_an_http_server() {
    let (address, requests) = server(|line, range| match line {
        _ if line.starts_with("PROPFIND") => ("404 Not Found", String::new()),
        _ if range == "bytes=1-2" => ("206 Partial\r\ncontent-range: bytes 1-2/4", "12".to_owned()),
        _ => ("200 OK", "0123".to_owned()),
    });
    let store = open(
        &format!("{address}/a%20b"),
        &[("allow_http", "true"), ("max_retries", "0")],
    );
    assert_eq!(store.read("file").unwrap(), "0123");
    assert_eq!(store.read_ranges("file", &[1..3]).unwrap(), ["12"]);
    assert_eq!(requests.lock().unwrap()[0], "GET /a%20b/file HTTP/1.1");
    let error = store.put_if_absent("file", b"x").unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        ("storage.unsupported", ErrorKind::Storage)
    );
}

#[test]
fn reads_from_azure_and_google() {
    let (address, requests) = server(|_, _| ("200 OK", "x".to_owned()));
    let azure = open(
        "abfss://container@account.dfs.core.windows.net/t",
        &[
            ("azure_storage_endpoint", &address),
            ("azure_storage_account_key", "aHVudGVyMg=="),
            ("allow_http", "true"),
        ],
    );
    assert_eq!(azure.read("a b").unwrap(), "x");
    let google = open(
        "gs://bucket/t",
        &[
            ("google_base_url", &address),
            ("google_skip_signature", "true"),
            ("allow_http", "true"),
        ],
    );
    assert_eq!(google.read("a").unwrap(), "x");
    let requests = requests.lock().unwrap().clone();
    assert_eq!(
        requests,
        [
            "GET /container/t/a%20b HTTP/1.1",
            "GET /bucket/t%2Fa HTTP/1.1"
        ]
    );
}

#[test]
fn an_interrupt_ends_a_pending_request() {
    let (address, _) = server(|_, _| {
        thread::sleep(Duration::from_secs(20));
        ("200 OK", String::new())
    });
    let store = s3(&address);
    interrupt::testing::stop_this_thread(true);
    let start = Instant::now();
    let error = store.read("file").unwrap_err();
    interrupt::testing::stop_this_thread(false);
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(10));
}
