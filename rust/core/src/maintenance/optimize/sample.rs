//! A sample of the rows of a bin: evenly spaced rows from a few row groups of many files.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_select::concat::concat;
use arrow_select::take::take;

use super::bin::Bin;
use super::candidates::size;
use super::order::{SampledOrder, column};
use super::plan::Plan;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::ScanFile;
use crate::scan::data_file::{Extras, ReadPlan};
use crate::scan::data_files::open_with_deleted_rows;
use crate::spec::arrow::plain_bytes;
use crate::storage::pool::{ordered, threads};
use crate::write::table_layout;

/// The number of rows of a sample, and the minimum per part of the order.
const ROWS: u64 = 128 << 10;
const ROWS_OF_PART: u64 = 64;
/// The maximum size of a sample in bytes, which limits the number of rows with long text.
const BYTES: u64 = 64 << 20;
/// The maximum number of files, and of row groups in total, that are read.
const MAX_FILES: usize = 256;
/// The size of the data files per part of an order, in bytes.
const DATA_BYTES_PER_PART: u64 = 32 << 20;
const MAX_PARTS: u64 = 256;

/// Samples the order of the rows of a bin; `None` if the plan does not order rows.
pub fn sample_order(source: &Source, plan: &Plan, bin: &Bin) -> Result<Option<SampledOrder>> {
    let Some((columns, curve)) = &plan.order else {
        return Ok(None);
    };
    let files = (bin.bytes() / plan.target.max(1)).max(1);
    let parts_of_file = (bin.bytes() / files)
        .div_ceil(DATA_BYTES_PER_PART)
        .clamp(1, MAX_PARTS);
    let num_rows = ROWS.max(
        files
            .saturating_mul(parts_of_file)
            .saturating_mul(ROWS_OF_PART),
    );
    let sample = rows(source, plan, bin, columns, num_rows)?;
    let to_usize = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let order = SampledOrder::new(
        columns.clone(),
        *curve,
        &sample,
        to_usize(files),
        to_usize(parts_of_file),
    );
    order.map(Some)
}

/// Reads rows of the columns, about as many as requested.
fn rows(
    source: &Source,
    plan: &Plan,
    bin: &Bin,
    columns: &[Vec<String>],
    num_rows: u64,
) -> Result<Vec<ArrayRef>> {
    let roots: BTreeSet<&String> = columns.iter().filter_map(|path| path.first()).collect();
    let roots: Vec<String> = roots.into_iter().cloned().collect();
    let (metadata, properties) = (plan.snapshot.metadata(), plan.snapshot.properties());
    let layout = table_layout(metadata, properties)?;
    let read = ReadPlan::new(layout, Some(&roots), Extras::default())?;
    let step = bin.files.len().div_ceil(MAX_FILES).max(1);
    let files: Vec<_> = bin.files.iter().step_by(step).collect();
    let bytes: u64 = files.iter().map(|file| size(file)).sum();
    let units: Vec<(ScanFile, u64)> = files
        .iter()
        .map(|file| {
            let share = u128::from(num_rows) * u128::from(size(file)) / u128::from(bytes.max(1));
            let share = u64::try_from(share).unwrap_or(num_rows).max(1);
            (file.scan_file(), share)
        })
        .collect();
    let groups = (MAX_FILES / units.len().max(1)).max(1);
    let (source, paths, files) = (source.clone(), columns.to_vec(), units.len());
    let work = move |(file, num_rows): (ScanFile, u64)| {
        let open = Arc::new(open_with_deleted_rows(&read, &source, &file)?);
        let units = open.units();
        let step = units.len().div_ceil(groups).max(1);
        let units_read = units.iter().step_by(step).count().max(1) as u64;
        let mut columns_of_batches: Vec<Vec<ArrayRef>> = Vec::new();
        for unit in units.iter().step_by(step) {
            let rows = unit.rows.end - unit.rows.start;
            let every = (rows * units_read / num_rows.max(1)).max(1);
            let mut next = every / 2;
            let max_bytes = BYTES / (files as u64 * units_read);
            for batch in open.read(unit)? {
                let batch = batch?;
                let columns = batch.columns().iter();
                let bytes: u64 = columns.map(|column| plain_bytes(&**column)).sum();
                // at most the unit's share of the byte limit
                let all = bytes.saturating_mul(rows) / (batch.num_rows() as u64).max(1);
                let every = every.max(all / max_bytes.max(1));
                columns_of_batches.push(every_nth(&batch, &paths, every, &mut next)?);
            }
        }
        Ok(columns_of_batches)
    };
    let mut all: Vec<Vec<ArrayRef>> = Vec::new();
    for batches in ordered(units, threads() * 2, work) {
        all.append(&mut batches?);
    }
    let joined = |index: usize| {
        let parts: Vec<&dyn arrow_array::Array> = all
            .iter()
            .filter_map(|columns| columns.get(index).map(|column| &**column as _))
            .collect();
        concat(&parts).map_err(cannot_sample)
    };
    if all.is_empty() {
        let fields = columns.iter().map(|path| {
            let empty = RecordBatch::new_empty(plan.snapshot.arrow_schema());
            column(&empty, path)
        });
        return fields.collect();
    }
    (0..columns.len()).map(joined).collect()
}

/// Takes every n-th row of a batch; `next` is the index of the first, and is advanced for the next batch.
fn every_nth(
    rows: &RecordBatch,
    paths: &[Vec<String>],
    every: u64,
    next: &mut u64,
) -> Result<Vec<ArrayRef>> {
    let count = rows.num_rows() as u64;
    let mut indexes = Vec::new();
    while *next < count {
        indexes.push(*next);
        *next += every;
    }
    *next -= count;
    let indexes = UInt64Array::from(indexes);
    let columns = paths.iter().map(|path| {
        let values = column(rows, path)?;
        take(&values, &indexes, None).map_err(cannot_sample)
    });
    columns.collect()
}

fn cannot_sample(cause: arrow_schema::ArrowError) -> Error {
    Error::corrupt("data.value", "a sample of the rows cannot be taken").because(cause)
}
