#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use tempfile::TempDir;

use super::*;
use crate::error::ErrorKind;
use crate::storage::Location;

#[cfg(unix)]
mod unix;

fn table() -> (TempDir, LocalStorage) {
    let directory = TempDir::new().unwrap();
    let location = Location::parse(directory.path().to_str().unwrap()).unwrap();
    let storage = LocalStorage::new(location.root(), location.path());
    (directory, storage)
}

fn write(directory: &TempDir, path: &str, bytes: &[u8]) {
    let path = directory.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn names(files: &[FileMeta]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn lists_files_from_a_name_on_in_order() {
    let (directory, storage) = table();
    for name in [
        "3.json",
        "1.json",
        "2.json",
        "_last_checkpoint",
        "sub/4.json",
    ] {
        write(&directory, &format!("log/{name}"), name.as_bytes());
    }
    #[cfg(unix)]
    for (to, from) in [("1.json", "5.json"), ("nowhere", "6.json"), ("sub", "7")] {
        std::os::unix::fs::symlink(to, directory.path().join("log").join(from)).unwrap();
    }
    #[cfg(not(unix))]
    write(&directory, "log/5.json", b"1.json");

    let all = storage.list("log", "").unwrap();
    let expected = [
        "log/1.json",
        "log/2.json",
        "log/3.json",
        "log/5.json",
        "log/_last_checkpoint",
    ];
    assert_eq!(names(&all), expected);
    assert_eq!(
        all.iter().map(|file| file.size).collect::<Vec<_>>(),
        [6, 6, 6, 6, 16]
    );
    assert_eq!(
        names(&storage.list("log/", "2.json").unwrap()),
        &expected[1..]
    );
    assert_eq!(
        names(&storage.list("log", "2.jsonx").unwrap()),
        &expected[2..]
    );
    assert!(storage.list("log", "zzz").unwrap().is_empty());
}

#[test]
fn a_listing_has_the_modification_time_in_milliseconds() {
    let (directory, storage) = table();
    write(&directory, "log/1.json", b"{}");
    let file = File::options()
        .write(true)
        .open(directory.path().join("log/1.json"))
        .unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_micros(1_234_567_890_999);
    file.set_modified(time).unwrap();
    let expected = FileMeta {
        path: "log/1.json".into(),
        size: 2,
        modification_time: 1_234_567_890,
        tag: 0,
    };
    assert_eq!(
        storage.list("log", "").unwrap(),
        std::slice::from_ref(&expected)
    );
    assert_eq!(storage.head("log/1.json").unwrap(), expected);
}

#[test]
fn missing_directories_are_empty_and_missing_files_not_found() {
    let (directory, storage) = table();
    write(&directory, "file", b"x");
    for missing in ["absent", "file/below"] {
        assert!(storage.list(missing, "").unwrap().is_empty(), "{missing}");
        for error in [
            storage.read(missing).unwrap_err(),
            storage.head(missing).unwrap_err(),
            storage.read_ranges(missing, &[]).unwrap_err(),
            storage.read_many(&[missing]).remove(0).unwrap_err(),
        ] {
            assert_eq!(error.code(), "storage.not_found");
            assert_eq!(error.kind(), ErrorKind::Storage);
            assert_eq!(error.path(), Some(missing));
        }
    }
    assert!(storage.list("file", "").unwrap().is_empty());
}

#[test]
fn refuses_directories_and_pipes_without_blocking() {
    let (directory, storage) = table();
    fs::create_dir(directory.path().join("directory")).unwrap();
    let mut paths = vec!["directory"];
    if cfg!(unix) {
        let pipe = directory.path().join("pipe");
        let created = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(created.unwrap().success());
        paths.push("pipe");
    }
    for path in paths {
        assert_eq!(storage.read(path).unwrap_err().code(), "storage.not_a_file");
        assert_eq!(storage.head(path).unwrap_err().code(), "storage.not_a_file");
        assert_eq!(
            storage.read_ranges(path, &[0..1, 0..1]).unwrap_err().code(),
            "storage.not_a_file"
        );
    }
}

#[test]
fn reads_files_of_every_size() {
    let (directory, storage) = table();
    for size in [0, 1, 4095, 4096, 8192, 8193, 1_000_003] {
        let bytes: Vec<u8> = (0..size).map(|index: usize| (index % 251) as u8).collect();
        write(&directory, "file", &bytes);
        assert_eq!(storage.read("file").unwrap(), bytes);
    }
}

#[test]
fn ranges_are_returned_in_the_requested_order() {
    let (directory, storage) = table();
    write(&directory, "file", b"0123456789");
    let ranges = storage
        .read_ranges("file", &[8..10, 0..3, 5..5, 2..6])
        .unwrap();
    assert_eq!(ranges, [&b"89"[..], b"012", b"", b"2345"]);
}

#[test]
fn a_range_beyond_the_end_is_refused_before_allocation() {
    let (directory, storage) = table();
    write(&directory, "file", b"0123456789");
    #[allow(clippy::reversed_empty_ranges)]
    for (range, offset) in [(8..11, 8), (10..u64::MAX, 10), (11..12, 10), (5..4, 5)] {
        let error = storage.read_ranges("file", &[0..1, range]).unwrap_err();
        assert_eq!(
            (error.code(), error.kind()),
            ("storage.truncated", ErrorKind::Corrupt)
        );
        assert_eq!((error.path(), error.offset()), (Some("file"), Some(offset)));
    }
}

#[test]
fn a_buffer_larger_than_memory_is_an_error() {
    let error = reserve(usize::MAX, "huge").unwrap_err();
    assert_eq!(
        (error.code(), error.path()),
        ("storage.too_large", Some("huge"))
    );
}

#[test]
fn read_many_returns_a_result_for_each_file_in_order() {
    let (directory, storage) = table();
    for index in 0..500 {
        if index % 7 != 3 {
            write(
                &directory,
                &format!("log/{index}"),
                format!("number {index}").as_bytes(),
            );
        }
    }
    for count in [0, 1, FEW_FILES, FEW_FILES + 1, 500] {
        let paths: Vec<String> = (0..count).map(|index| format!("log/{index}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let results = storage.read_many(&paths);
        assert_eq!(results.len(), count);
        for (index, result) in results.into_iter().enumerate() {
            match result {
                Ok(bytes) => assert_eq!(bytes, format!("number {index}")),
                Err(error) => {
                    assert_eq!((index % 7, error.code()), (3, "storage.not_found"));
                    assert_eq!(error.path(), Some(paths[index]));
                }
            }
        }
    }
}

#[test]
fn read_many_returns_a_result_for_every_path_after_an_interrupt() {
    let (directory, storage) = table();
    write(&directory, "file", b"x");
    for count in [2, 10 * FEW_FILES] {
        interrupt::testing::stop_this_thread(true);
        let results = storage.read_many(&vec!["file"; count]);
        interrupt::testing::stop_this_thread(false);
        assert_eq!(results.len(), count);
        let error = results[0].as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
}

#[test]
fn refuses_parent_directories_and_nul_in_paths() {
    let (_directory, storage) = table();
    for path in ["../x", "a/../../x", "..", "/etc/../etc/passwd"] {
        assert_eq!(storage.read(path).unwrap_err().code(), "path.escapes_root");
        assert_eq!(
            storage.list(path, "").unwrap_err().code(),
            "path.escapes_root"
        );
        assert_eq!(
            storage.put_if_absent(path, b"").unwrap_err().code(),
            "path.escapes_root"
        );
    }
    assert_eq!(storage.read("nul\0byte").unwrap_err().code(), "storage.io");
}

#[test]
fn put_if_absent_creates_once_and_leaves_no_other_file() {
    let (directory, storage) = table();
    assert!(storage.put_if_absent("log/new/1.json", b"first").unwrap());
    assert!(!storage.put_if_absent("log/new/1.json", b"second").unwrap());
    assert_eq!(storage.read("log/new/1.json").unwrap(), "first");
    let left: Vec<_> = fs::read_dir(directory.path().join("log/new"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn lists_and_deletes_files_below_the_root() {
    let (directory, storage) = table();
    for path in ["a", "_log/x", "d=1/b", "d=1/_in/c"] {
        write(&directory, path, b"12");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(directory.path(), directory.path().join("circle")).unwrap();
    let plain = |path: &str| !path.rsplit('/').next().unwrap().starts_with('_');
    let all = |enter: &(dyn Fn(&str) -> bool + Sync)| storage.list_below("", enter).unwrap();
    assert_eq!(
        names(&all(&|_| true)),
        ["_log/x", "a", "d=1/_in/c", "d=1/b"]
    );
    assert_eq!(names(&all(&plain)), ["a", "d=1/b"]);
    assert_eq!(all(&plain)[0].size, 2);
    let deleted = storage.delete(&["a", "nothing", "d=1", "../x"]);
    let codes: Vec<_> = deleted
        .iter()
        .map(|result| result.as_ref().err().map(Error::code))
        .collect();
    assert_eq!(codes[..2], [None, None]);
    assert!(codes[2].is_some(), "a directory is not a file");
    assert_eq!(codes[3], Some("path.escapes_root"));
    assert_eq!(names(&all(&plain)), ["d=1/b"]);
}

#[test]
fn one_of_many_writers_creates_the_file() {
    let (_directory, storage) = table();
    for version in 0..20 {
        let path = format!("{version}.json");
        let won: Vec<bool> = std::thread::scope(|scope| {
            let put = |bytes: u8| {
                let (storage, path) = (&storage, &path);
                scope.spawn(move || storage.put_if_absent(path, &[bytes]).unwrap())
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
        assert_eq!(storage.read(&path).unwrap(), winners, "version {version}");
    }
}

#[test]
fn a_path_below_a_file_is_not_found() {
    let error = failed("read", "file", IoKind::NotADirectory.into());
    assert_eq!(error.code(), "storage.not_found");
}
