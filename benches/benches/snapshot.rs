//! How long does a snapshot of a big log take, inside one process?
//!
//! Needs the logs that `make bench` generates; a log that is not there is left out.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench may stop, and has no callers"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use deltareplay_core::table::{At, Table, TableOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LEAN: [&str; 4] = ["path", "size", "partitionValues", "deletionVector"];

fn open(table: &Path) -> Table {
    Table::new(table.to_str().unwrap(), TableOptions::default()).unwrap()
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The number of live files that the generator wrote down.
fn expected(table: &Path) -> u64 {
    let text = std::fs::read_to_string(table.join("_expected.json")).unwrap();
    let (_, after) = text.split_once("\"live_files\":").unwrap();
    let digits: String = after
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

fn files(table: &Table, names: &[String]) -> u64 {
    let snapshot = table.snapshot(At::Latest, None).unwrap();
    let files = table.files(&snapshot, Some(names)).unwrap();
    files
        .batches
        .iter()
        .map(|batch| batch.num_rows() as u64)
        .sum()
}

fn streamed(table: &Table, names: &[String]) -> u64 {
    let snapshot = table.snapshot(At::Latest, None).unwrap();
    let batches = table.file_batches(&snapshot, Some(names)).unwrap();
    batches.map(|batch| batch.unwrap().num_rows() as u64).sum()
}

fn million(c: &mut Criterion) {
    let Some(path) = deltareplay_benches::log("million", "T2") else {
        return;
    };
    let (table, live) = (open(&path), expected(&path));
    let checkpoint = deltareplay_benches::checkpoint(&path).unwrap();
    let (lean, full) = (
        columns(&LEAN),
        columns(&[LEAN.as_slice(), &["stats"]].concat()),
    );
    assert_eq!(files(&table, &lean), live);
    assert_eq!(streamed(&table, &lean), live);

    let mut group = c.benchmark_group("a million files");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500));
    group.bench_function("open", |b| {
        b.iter(|| black_box(table.snapshot(At::Latest, None).unwrap()))
    });
    group.throughput(Throughput::Elements(live));
    group.bench_function("bare decode", |b| {
        b.iter(|| deltareplay_benches::decode(&checkpoint, &LEAN).unwrap())
    });
    group.bench_function("files", |b| b.iter(|| files(&table, &lean)));
    group.bench_function("files with stats", |b| b.iter(|| files(&table, &full)));
    group.bench_function("streamed", |b| b.iter(|| streamed(&table, &lean)));
    group.finish();
}

/// One new commit on a loaded snapshot, then the new list of files.
fn update(c: &mut Criterion) {
    let Some(path) = deltareplay_benches::log("million", "T2") else {
        return;
    };
    let copy = tempfile::tempdir().unwrap();
    let log = copy.path().join("_delta_log");
    std::fs::create_dir(&log).unwrap();
    for entry in std::fs::read_dir(path.join("_delta_log")).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), log.join(entry.file_name())).unwrap();
    }
    let table = open(copy.path());
    let lean = columns(&LEAN);
    let old = table.snapshot(At::Latest, None).unwrap();
    let before = table.files(&old, Some(&lean)).unwrap();
    assert!(!before.batches.is_empty());
    for entry in std::fs::read_dir(path.join("_next_commit")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), log.join(entry.file_name())).unwrap();
    }
    let advance = |snapshot: &_| {
        let new = table.update(snapshot).unwrap();
        (table.files(&new, Some(&lean)).unwrap(), new)
    };
    assert_eq!(advance(&old).1.version(), old.version() + 1);

    let mut group = c.benchmark_group("one new commit");
    group.bench_function("update, then files", |b| {
        b.iter_batched(|| old.clone(), |old| advance(&old), BatchSize::PerIteration);
    });
    group.finish();
}

fn commits(c: &mut Criterion) {
    let mut group = c.benchmark_group("JSON commits");
    group.sample_size(10);
    for (name, alias) in [("commits", "T4"), ("tail", "T7")] {
        let Some(path) = deltareplay_benches::log(name, alias) else {
            continue;
        };
        let (table, lean) = (open(&path), columns(&LEAN));
        let live = expected(&path);
        assert_eq!(files(&table, &lean), live);
        group.throughput(Throughput::Elements(live));
        group.bench_function(name, |b| b.iter(|| files(&table, &lean)));
    }
    group.finish();
}

criterion_group!(benches, million, update, commits);
criterion_main!(benches);
