//! How long do 1,000 deletion vectors of 100,000 rows take, from files to row selections and masks?
//!
//! `deletion-vectors TABLE [ROWS]`: TABLE is a Delta table whose files have vectors, of ROWS rows each
//! (default: 10 million). Each step runs five times on one thread, except for loading, and the minimum is
//! printed.
//!
//! `deletion-vectors` alone: compares our iteration over the bytes with the sets of the `roaring` crate, on
//! a sparse, a dense and a run vector. Code that is not 1.5 times as fast as the crate does not belong in
//! the core.

#![allow(clippy::print_stdout, reason = "the answer of a program")]

use std::error::Error;
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::StructArray;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use bytes::Bytes;
use deltareplay_core::codec::deletion_vector::{DeletionVector, Descriptors};
use deltareplay_core::codec::file_columns::FileColumns;
use deltareplay_core::replay::Source;
use deltareplay_core::scan::deletion_vectors::load;
use deltareplay_core::table::{At, Table, TableOptions};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use roaring::RoaringTreemap;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(table) = arguments.next() else {
        return compare_with_roaring();
    };
    let rows: u64 = arguments
        .next()
        .map_or(Ok(10_000_000), |text| text.parse())?;
    let source = Source::new(&table, &[], None, None)?;
    let descriptors = descriptors(&table)?;
    let read = || -> Result<Vec<Arc<DeletionVector>>, deltareplay_core::error::Error> {
        load(&source.storage, &source.resolver, &descriptors)
            .into_iter()
            .collect()
    };
    let vectors = read()?;
    let deleted: u64 = vectors.iter().map(|vector| vector.len()).sum();
    let expected: u64 = descriptors.iter().map(|vector| vector.cardinality()).sum();
    if deleted != expected || vectors.is_empty() {
        return Err("the table has no vectors, or not those of its log".into());
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
    let each =
        |work: &dyn Fn(&DeletionVector)| least(|| vectors.iter().for_each(|vector| work(vector)));
    report(
        "visit ranges",
        each(&|vector| {
            let mut count = 0_u64;
            vector.for_each_range(0..rows, |range| count += range.end - range.start);
            black_box(count);
        })?,
        millions,
        "M rows/s",
    );
    report(
        "live ranges",
        each(&|vector| drop(black_box(vector.live_ranges(0..rows))))?,
        millions,
        "M rows/s",
    );
    report(
        "row selectors",
        each(&|vector| drop(black_box(selectors(vector, rows))))?,
        millions,
        "M rows/s",
    );
    report(
        "row selection by mask",
        each(&|vector| {
            drop(black_box(RowSelection::from_boolean_buffer(
                vector.live_mask(0..rows),
            )))
        })?,
        millions,
        "M rows/s",
    );
    report(
        "masks",
        each(&|vector| drop(black_box(vector.mask(0..rows))))?,
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
        each(&|vector| drop(black_box(vector.rows())))?,
        millions,
        "M rows/s",
    );
    let first = vectors.first().ok_or("no vectors")?;
    report(
        "union with the first",
        each(&|vector| drop(black_box(vector.union(first))))?,
        millions,
        "M rows/s",
    );
    report(
        "encode",
        each(&|vector| drop(black_box(vector.encode())))?,
        millions,
        "M rows/s",
    );
    Ok(())
}

/// Rows of the file of the vectors in [`compare_with_roaring`].
const FILE_ROWS: u64 = 10_000_000;

fn compare_with_roaring() -> Result<(), Box<dyn Error>> {
    let mut state = 0x5EED_u64;
    let mut below = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let sparse: Vec<u64> = (0..FILE_ROWS).filter(|_| below(100) == 0).collect();
    let dense: Vec<u64> = (0..FILE_ROWS).filter(|_| below(3) == 0).collect();
    let runs: Vec<u64> = (0..FILE_ROWS).filter(|row| row % 10_000 < 1000).collect();
    println!("| vector | step | walk | `roaring` | times |\n|---|---|---:|---:|---:|");
    for (name, rows) in [("sparse", sparse), ("dense", dense), ("runs", runs)] {
        let vector = DeletionVector::from_rows(rows.iter().copied())?;
        let bytes = Bytes::from(vector.encode()?);
        let portable = bytes.slice(4..);
        let read = || RoaringTreemap::deserialize_from(&*portable);
        let set = read()?;
        let looked_up: Vec<u64> = (0..10_000).map(|_| below(FILE_ROWS)).collect();
        let walk = || DeletionVector::decode_shared(bytes.clone(), None);
        let report = |step: &str, walk: Duration, roaring: Duration| {
            let (walk, roaring) = (walk.as_secs_f64() * 1e6, roaring.as_secs_f64() * 1e6);
            let times = roaring / walk;
            println!("| {name} | {step} | {walk:.0} us | {roaring:.0} us | {times:.1} |");
        };
        report(
            "check and decode",
            least(|| drop(black_box(walk())))?,
            least(|| drop(black_box(read())))?,
        );
        report(
            "ranges",
            least(|| {
                vector.for_each_range(0..FILE_ROWS, |range| {
                    black_box(range);
                })
            })?,
            least(|| {
                ranges(&set, |range| {
                    black_box(range);
                })
            })?,
        );
        report(
            "live ranges",
            least(|| drop(black_box(vector.live_ranges(0..FILE_ROWS))))?,
            least(|| drop(black_box(live_ranges(&set))))?,
        );
        report(
            "live mask",
            least(|| drop(black_box(vector.live_mask(0..FILE_ROWS))))?,
            least(|| drop(black_box(live_mask(&set))))?,
        );
        report(
            "from bytes to live ranges",
            least(|| {
                drop(black_box(
                    walk().map(|vector| vector.live_ranges(0..FILE_ROWS)),
                ))
            })?,
            least(|| drop(black_box(read().map(|set| live_ranges(&set)))))?,
        );
        report(
            "from bytes to live mask",
            least(|| {
                drop(black_box(
                    walk().map(|vector| vector.live_mask(0..FILE_ROWS)),
                ))
            })?,
            least(|| drop(black_box(read().map(|set| live_mask(&set)))))?,
        );
        report(
            "rows as an array",
            least(|| drop(black_box(vector.rows())))?,
            least(|| drop(black_box(set.iter().collect::<Vec<u64>>())))?,
        );
        let found = |has: &dyn Fn(u64) -> bool| looked_up.iter().filter(|row| has(**row)).count();
        report(
            "10,000 rows looked up",
            least(|| {
                black_box(found(&|row| vector.contains(row)));
            })?,
            least(|| {
                black_box(found(&|row| set.contains(row)));
            })?,
        );
        report(
            "from bytes to 10,000 rows looked up",
            least(|| {
                drop(black_box(
                    walk().map(|vector| found(&|row| vector.contains(row))),
                ))
            })?,
            least(|| drop(black_box(read().map(|set| found(&|row| set.contains(row))))))?,
        );
        // vectors are built by the crate, encoded and decoded
        for (step, took) in [
            (
                "from rows",
                least(|| drop(black_box(DeletionVector::from_rows(rows.iter().copied()))))?,
            ),
            ("encode", least(|| drop(black_box(vector.encode())))?),
            ("union", least(|| drop(black_box(vector.union(&vector))))?),
            (
                "difference",
                least(|| drop(black_box(vector.difference(&vector))))?,
            ),
        ] {
            println!("| {name} | {step} | {} us | | |", took.as_micros());
        }
    }
    Ok(())
}

fn ranges(set: &RoaringTreemap, mut emit: impl FnMut(Range<u64>)) {
    for (high, bitmap) in set.bitmaps() {
        let base = u64::from(high) << 32;
        let mut rows = bitmap.iter();
        while let Some(range) = rows.next_range() {
            emit(base + u64::from(*range.start())..base + u64::from(*range.end()) + 1);
        }
    }
}

fn live_ranges(set: &RoaringTreemap) -> Vec<Range<u64>> {
    let (mut live, mut begin) = (Vec::new(), 0);
    ranges(set, |deleted| {
        if begin < deleted.start {
            live.push(begin..deleted.start);
        }
        begin = deleted.end;
    });
    if begin < FILE_ROWS {
        live.push(begin..FILE_ROWS);
    }
    live
}

fn live_mask(set: &RoaringTreemap) -> BooleanBuffer {
    let count = |rows: Range<u64>| usize::try_from(rows.end - rows.start).unwrap_or(0);
    let mut mask = BooleanBufferBuilder::new(count(0..FILE_ROWS));
    let mut begin = 0;
    ranges(set, |deleted| {
        mask.append_n(count(begin..deleted.start), true);
        begin = deleted.end;
        mask.append_n(count(deleted), false);
    });
    mask.append_n(count(begin..FILE_ROWS), true);
    mask.finish()
}

/// Returns the row selection for the Parquet reader.
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
    let columns = FileColumns::of_names(Some(&["deletionVector".to_owned()]), &snapshot)?;
    let files = snapshot.files(table.source(), &columns, None)?;
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
