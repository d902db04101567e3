//! How long do 1,000 deletion vectors of 100,000 rows take, from files to row selections and masks?
//!
//! `deletion-vectors TABLE [ROWS]`: TABLE is a Delta table whose files have vectors, of ROWS rows each
//! (10 million unless told). Each step is timed five times, and the least is printed, on one thread but
//! for the load.

#![allow(clippy::print_stdout, reason = "the answer of a program")]

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::StructArray;
use deltareplay_core::codec::deletion_vector::{DeletionVector, Descriptors};
use deltareplay_core::replay::Source;
use deltareplay_core::scan::deletion_vectors::load;
use deltareplay_core::table::{At, Table, TableOptions};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let table = arguments
        .next()
        .ok_or("usage: deletion-vectors TABLE [ROWS]")?;
    let rows: u64 = arguments
        .next()
        .map_or(Ok(10_000_000), |text| text.parse())?;
    let source = Source::new(&table, &[], None)?;
    let descriptors = descriptors(&table)?;
    let read = || -> Result<Vec<Arc<DeletionVector>>, deltareplay_core::error::Error> {
        load(&*source.storage, &source.resolver, &descriptors)
            .into_iter()
            .collect()
    };
    let vectors = read()?;
    let deleted: u64 = vectors.iter().map(|one| one.len()).sum();
    let promised: u64 = descriptors.iter().map(|one| one.cardinality()).sum();
    if deleted != promised || vectors.is_empty() {
        return Err("the table has no vectors, or other ones than its log says".into());
    }
    let name = Path::new(&table).file_name().unwrap_or_default();
    println!(
        "{name:?}: {} vectors, {deleted} rows deleted",
        vectors.len()
    );
    let report = |step: &str, took: Duration, units: f64, unit: &str| {
        let seconds = took.as_secs_f64();
        println!(
            "| {step} | {:.1} ms | {:.2} {unit} |",
            seconds * 1e3,
            units / seconds
        );
    };
    println!("| step | least time | rate |\n|---|---:|---:|");
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    let (millions, files, bytes) = (
        deleted as f64 / 1e6,
        vectors.len() as f64,
        (vectors.len() as u64 * rows) as f64 / 8e9,
    );
    report(
        "read and check",
        least(|| drop(black_box(read())))?,
        files,
        "vectors/s",
    );
    let each = |work: &dyn Fn(&DeletionVector)| least(|| vectors.iter().for_each(|one| work(one)));
    report(
        "visit ranges",
        each(&|one| {
            let mut count = 0_u64;
            one.for_each_range(0..rows, |range| count += range.end - range.start);
            black_box(count);
        })?,
        millions,
        "M rows/s",
    );
    report(
        "iterate ranges",
        each(&|one| {
            for range in one.ranges() {
                black_box(range);
            }
        })?,
        millions,
        "M rows/s",
    );
    report(
        "live ranges",
        each(&|one| drop(black_box(one.live_ranges(0..rows))))?,
        millions,
        "M rows/s",
    );
    report(
        "row selectors",
        each(&|one| drop(black_box(selectors(one, rows))))?,
        millions,
        "M rows/s",
    );
    report(
        "row selection by mask",
        each(&|one| {
            drop(black_box(RowSelection::from_boolean_buffer(
                one.live_mask(0..rows),
            )))
        })?,
        millions,
        "M rows/s",
    );
    report(
        "masks",
        each(&|one| drop(black_box(one.mask(0..rows))))?,
        bytes,
        "GB/s of bits",
    );
    report(
        "a memset of as many bytes",
        each(&|_| {
            drop(black_box(vec![
                0xFF_u8;
                usize::try_from(rows / 8).unwrap_or(0)
            ]))
        })?,
        bytes,
        "GB/s",
    );
    report(
        "rows as an array",
        each(&|one| drop(black_box(one.rows())))?,
        millions,
        "M rows/s",
    );
    let first = vectors.first().ok_or("no vectors")?;
    report(
        "union with the first",
        each(&|one| drop(black_box(one.union(first))))?,
        millions,
        "M rows/s",
    );
    report(
        "encode",
        each(&|one| drop(black_box(one.encode())))?,
        millions,
        "M rows/s",
    );
    Ok(())
}

/// What the Parquet reader takes.
fn selectors(vector: &DeletionVector, rows: u64) -> RowSelection {
    let size = |range: std::ops::Range<u64>| usize::try_from(range.end - range.start).unwrap_or(0);
    let mut selectors = Vec::new();
    let mut begin = 0;
    vector.for_each_range(0..rows, |deleted| {
        if begin < deleted.start {
            selectors.push(RowSelector::select(size(begin..deleted.start)));
        }
        begin = deleted.end;
        selectors.push(RowSelector::skip(size(deleted)));
    });
    if begin < rows {
        selectors.push(RowSelector::select(size(begin..rows)));
    }
    RowSelection::from(selectors)
}

fn descriptors(
    table: &str,
) -> Result<Vec<deltareplay_core::spec::DeletionVectorDescriptor>, Box<dyn Error>> {
    let table = Table::new(table, TableOptions::default())?;
    let snapshot = table.snapshot(At::Latest, None)?;
    let files = table.files(&snapshot, Some(&["deletionVector".to_owned()]), None)?;
    let mut found = Vec::new();
    for batch in &files.batches {
        let column = batch.column(0).as_any().downcast_ref::<StructArray>();
        let column = Descriptors::new(column.ok_or("no vectors")?)?;
        for row in 0..batch.num_rows() {
            found.extend(column.get(row)?);
        }
    }
    Ok(found)
}

fn least(mut work: impl FnMut()) -> Result<Duration, Box<dyn Error>> {
    let runs = (0..RUNS).map(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    });
    runs.min().ok_or_else(|| "nothing was timed".into())
}
