//! `bare-decode CHECKPOINT COLUMN...`: the time and memory that the Parquet crate alone needs.
//!
//! Prints the number of rows. Uses the same allocator as the wheel.

#![allow(clippy::print_stdout, reason = "the answer of a program")]

use std::path::Path;

use arrow_array::RecordBatch;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [checkpoint, columns @ ..] = arguments.as_slice() else {
        return Err("usage: bare-decode CHECKPOINT COLUMN...".into());
    };
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let batches = deltareplay_benches::decode(Path::new(checkpoint), &columns)?;
    println!(
        "{}",
        batches.iter().map(RecordBatch::num_rows).sum::<usize>()
    );
    Ok(())
}
