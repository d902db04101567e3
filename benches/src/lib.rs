//! Shared by the benches: the generated logs, and the bare decode that all results are compared with.
//!
//! `benches/python/generate.py` writes the logs; `make bench` calls it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Returns the generated log `name`, or an equal one named `alias`, in `DELTAREPLAY_BENCH_LOGS` if set,
/// otherwise in `benches/data`; `None` if there is none.
pub fn log(name: &str, alias: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("DELTAREPLAY_BENCH_LOGS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("data"),
        PathBuf::from,
    );
    [name, alias]
        .iter()
        .map(|name| directory.join(name))
        .find(|path| path.join("_delta_log").is_dir())
}

/// Returns the only checkpoint of a generated log.
pub fn checkpoint(table: &Path) -> std::io::Result<PathBuf> {
    for entry in fs::read_dir(table.join("_delta_log"))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".checkpoint.parquet") {
            return Ok(path);
        }
    }
    Err(std::io::Error::other("the log has no classic checkpoint"))
}

/// Reads leaves of a checkpoint's `add` with the `parquet` crate in the simplest way, on one thread, and
/// keeps every batch: no row is dropped, no key looked up. A column is named by its first field below
/// `add`, e.g. `partitionValues`.
pub fn decode(checkpoint: &Path, columns: &[&str]) -> parquet::errors::Result<Vec<RecordBatch>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(checkpoint)?)?;
    let schema = builder.parquet_schema();
    let leaves = (0..schema.num_columns()).filter(|leaf| {
        let column = schema.column(*leaf);
        let mut parts = column.path().parts().iter().map(String::as_str);
        parts.next() == Some("add") && parts.next().is_some_and(|field| columns.contains(&field))
    });
    let mask = ProjectionMask::leaves(schema, leaves);
    let batches = builder
        .with_projection(mask)
        .with_batch_size(8 * 1024)
        .build()?;
    batches.map(|batch| Ok(batch?)).collect()
}
