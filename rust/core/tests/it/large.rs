//! Commits that are too large for memory.

use std::fs::File;
use std::io::{BufWriter, Write};

use deltareplay_core::table::{At, Table, TableOptions};

use crate::support::{Log, add};

/// A little more than is read at once.
const BYTES: usize = 66 << 20;

fn open(log: &Log) -> Table {
    Table::new(&log.uri(), TableOptions::default()).unwrap()
}

#[test]
fn a_large_commit_is_read_in_pieces() {
    let log = Log::new();
    log.create(&["a"]);
    let mut file = BufWriter::new(File::create(log.path("00000000000000000001.json")).unwrap());
    let padding = "x".repeat(1 << 20);
    for number in 0..BYTES >> 20 {
        writeln!(file, "{}", add(&format!("f{number}"))).unwrap();
        writeln!(file, r#"{{"commitInfo":{{"padding":"{padding}"}}}}"#).unwrap();
    }
    drop(file);
    let table = open(&log);

    let snapshot = table.snapshot(At::Latest, None).unwrap();

    assert_eq!(
        snapshot.num_files(table.source()).unwrap(),
        1 + (BYTES >> 20) as u64
    );
}

#[test]
fn an_error_in_a_large_commit_has_line_and_byte() {
    let log = Log::new();
    log.create(&["a"]);
    let mut file = BufWriter::new(File::create(log.path("00000000000000000001.json")).unwrap());
    let filler = format!(
        r#"{{"commitInfo":{{"padding":"{}"}}}}"#,
        "x".repeat(1 << 20)
    );
    let mut written = 0;
    let mut lines = 0;
    while written < BYTES {
        writeln!(file, "{filler}").unwrap();
        written += filler.len() + 1;
        lines += 1;
    }
    writeln!(file, "{{\"add\":nonsense}}").unwrap();
    drop(file);

    let error = open(&log).snapshot(At::Latest, None).unwrap_err();

    assert_eq!(error.code(), "commit.json");
    assert_eq!(error.line(), Some(lines + 1));
    assert_eq!(error.offset(), Some(written as u64 + 7));
}

#[test]
fn refuses_a_line_that_is_too_long() {
    let log = Log::new();
    log.create(&["a"]);
    let file = File::create(log.path("00000000000000000001.json")).unwrap();
    file.set_len(1 << 30).unwrap(); // sparse: a line of 1 GiB

    let error = open(&log).snapshot(At::Latest, None).unwrap_err();

    assert_eq!(error.code(), "commit.line_too_long");
    assert_eq!(error.version(), Some(1));
}
