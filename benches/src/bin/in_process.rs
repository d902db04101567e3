//! How long does a snapshot of a large log take, in a warm process?
//!
//! `in-process [WORD]` times the cases whose name contains WORD, at least five times each, and prints the
//! minimum wall time and the mean CPU time of all threads. It needs the logs that `make bench` generates;
//! cases without a log are skipped.

#![allow(clippy::print_stdout, reason = "the answer of a program")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use deltareplay_benches::{checkpoint, decode, log};
use deltareplay_core::codec::file_columns::FileColumns;
use deltareplay_core::table::{At, Table, TableOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

type Work<'a> = dyn FnMut() -> Outcome<()> + 'a;

const LEAN: [&str; 4] = ["path", "size", "partitionValues", "deletionVector"];
const FULL: [&str; 5] = ["path", "size", "partitionValues", "deletionVector", "stats"];

const FEWEST_RUNS: u32 = 5;
const MIN_TIME: Duration = Duration::from_secs(1);

fn main() -> Outcome<()> {
    let word = std::env::args().nth(1).unwrap_or_default();
    println!("| case | wall ms, least | CPU ms, mean | runs |\n|---|---:|---:|---:|");
    let time = |name: &str, work: &mut Work<'_>| {
        if name.contains(&word) {
            report(name, work)
        } else {
            Ok(())
        }
    };
    if let Some(path) = log("million", "T2") {
        let (table, live, checkpoint) = (open(&path)?, expected(&path)?, checkpoint(&path)?);
        time("1M files: open", &mut || {
            black_box(table.snapshot(At::Latest, None)?);
            Ok(())
        })?;
        time("1M files: bare decode, lean", &mut || {
            drop_all(decode(&checkpoint, &LEAN)?)
        })?;
        time("1M files: lean", &mut || files(&table, &LEAN, live))?;
        time("1M files: bare decode, with stats", &mut || {
            drop_all(decode(&checkpoint, &FULL)?)
        })?;
        time("1M files: with stats", &mut || files(&table, &FULL, live))?;
        time("1M files: streamed", &mut || streamed(&table, &LEAN, live))?;
        update(&path, &time)?;
    }
    for (name, alias, title) in [
        ("commits", "T4", "1,000 commits of 100 actions"),
        ("tail", "T7", "10,000 commits after a checkpoint"),
    ] {
        if let Some(path) = log(name, alias) {
            let (table, live) = (open(&path)?, expected(&path)?);
            time(title, &mut || files(&table, &LEAN, live))?;
        }
    }
    Ok(())
}

fn report(name: &str, work: &mut Work<'_>) -> Outcome<()> {
    work()?; // warms up; a wrong result is not timed
    let (cpu, start) = (cpu_seconds(), Instant::now());
    let (mut least, mut runs) = (Duration::MAX, 0);
    while runs < FEWEST_RUNS || start.elapsed() < MIN_TIME {
        let begin = Instant::now();
        work()?;
        least = least.min(begin.elapsed());
        runs += 1;
    }
    let spent = cpu
        .zip(cpu_seconds())
        .map(|(before, after)| (after - before) / f64::from(runs));
    let spent = spent.map_or_else(|| "-".to_owned(), |seconds| format!("{:.2}", seconds * 1e3));
    println!(
        "| {name} | {:.2} | {spent} | {runs} |",
        least.as_secs_f64() * 1e3
    );
    Ok(())
}

/// CPU seconds of all threads of this process, if the system has `/proc`.
fn cpu_seconds() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0; // fixed by the kernel's interface
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11); // to utime, the 14th field of all
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / TICKS_PER_SECOND)
}

fn open(table: &Path) -> Outcome<Table> {
    Ok(Table::new(
        &table.to_string_lossy(),
        TableOptions::default(),
    )?)
}

/// Returns the number of live files according to the generator.
fn expected(table: &Path) -> Outcome<usize> {
    let text = fs::read_to_string(table.join("_expected.json"))?;
    let (_, after) = text
        .split_once("\"live_files\":")
        .ok_or("no count of files")?;
    let digits: String = after
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Ok(digits.parse()?)
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn drop_all<T>(result: T) -> Outcome<()> {
    drop(black_box(result));
    Ok(())
}

fn check_count(result: usize, live: usize) -> Outcome<()> {
    if result == live {
        Ok(())
    } else {
        Err(format!("{result} files, not {live}").into())
    }
}

fn files(table: &Table, names: &[&str], live: usize) -> Outcome<()> {
    let snapshot = table.snapshot(At::Latest, None)?;
    let columns = FileColumns::of_names(Some(&columns(names)), &snapshot)?;
    let files = snapshot.files(table.source(), &columns, None)?;
    check_count(
        files.batches.iter().map(|batch| batch.num_rows()).sum(),
        live,
    )
}

fn streamed(table: &Table, names: &[&str], live: usize) -> Outcome<()> {
    let snapshot = table.snapshot(At::Latest, None)?;
    let mut rows = 0;
    let columns = FileColumns::of_names(Some(&columns(names)), &snapshot)?;
    for batch in snapshot.file_batches(table.source(), columns, None)? {
        rows += batch?.num_rows();
    }
    check_count(rows, live)
}

/// Adds a commit to a snapshot whose files are loaded, then lists the files again.
fn update(path: &Path, time: &dyn Fn(&str, &mut Work<'_>) -> Outcome<()>) -> Outcome<()> {
    let copy = tempfile::tempdir()?;
    let log = copy.path().join("_delta_log");
    fs::create_dir(&log)?;
    for entry in fs::read_dir(path.join("_delta_log"))? {
        let entry = entry?;
        if fs::hard_link(entry.path(), log.join(entry.file_name())).is_err() {
            fs::copy(entry.path(), log.join(entry.file_name()))?; // another file system
        }
    }
    let table = open(copy.path())?;
    let lean = columns(&LEAN);
    let before = table.snapshot(At::Latest, None)?;
    let lean = FileColumns::of_names(Some(&lean), &before)?;
    before.files(table.source(), &lean, None)?;
    for entry in fs::read_dir(path.join("_next_commit"))? {
        let entry = entry?;
        fs::copy(entry.path(), log.join(entry.file_name()))?;
    }
    time("1M files: one new commit, then the new list", &mut || {
        let after = table.update(&before)?;
        drop_all(after.files(table.source(), &lean, None)?)?;
        let one_more = after.version() == before.version() + 1;
        if one_more {
            Ok(())
        } else {
            Err("the new commit was not seen".into())
        }
    })
}
