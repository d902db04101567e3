//! Parquet files of checkpoints, decoded completely.

use std::ops::Range;

use arrow_array::Array;
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use deltareplay_core::codec::checkpoint::{CheckpointFile, Control, FileAction, FileRows};
use deltareplay_core::codec::file_actions::REMOVE_FIELDS;
use deltareplay_core::codec::file_columns::{FileColumn, FileColumns};
use deltareplay_core::codec::filter_concat::SelectedRows;
use deltareplay_core::codec::parquet_file::{FetchedBytes, FooterDecoder, RowGroupRequest};
use deltareplay_core::codec::statistics::stats_schema;
use deltareplay_core::error::Result;

use super::tables::{Files, assert_names, slice};
use super::{Target, feature};

pub const CHECKPOINTS: Target = Target {
    name: "checkpoints",
    words: &[],
    memory: |bytes| (16 << 20) + bytes * 20_000,
    run: run_checkpoints,
};

fn run_checkpoints(input: &[u8]) -> u64 {
    let decoded = decode(&Bytes::copy_from_slice(input));
    let name = format!("{:020}.checkpoint.parquet", 1);
    let files = Files::default().with_commits(1..3).with(&name, input);
    let replayed = files.replayed();
    // an input whose first part decodes may have sidecars, which do not exist; an empty one is not a
    // checkpoint
    let is_about_other_files =
        |code: &str| code == "checkpoint.sidecar_missing" || code.starts_with("path.");
    if !input.is_empty() && !matches!(&replayed, Err(error) if is_about_other_files(error.code())) {
        assert_names(&replayed, &name);
    }
    assert!(
        replayed.is_err() || decoded.is_ok(),
        "a table is read by a checkpoint that does not decode: {decoded:?}"
    );
    feature(&replayed.map(|(rows, warnings)| {
        rows.min(63) << 16 | warnings.min(7) << 13 | decoded.unwrap_or_default().min(0x1FFF)
    }))
}

fn decode(bytes: &Bytes) -> Result<u64> {
    let slices = |ranges: &[Range<u64>]| -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| slice(bytes, range)).collect()
    };
    let length = bytes.len() as u64;
    let mut footer = FooterDecoder::new(length, CheckpointFile::FOOTER)?;
    let footer = loop {
        if let Some(footer) = footer.push(slices(footer.missing())?)? {
            break footer;
        }
    };
    let file = CheckpointFile::new(footer, length)?;
    let fetched = |request: &RowGroupRequest| -> Result<FetchedBytes> {
        let mut fetched = file.unfetched();
        let missing = request.missing(&fetched);
        fetched.add(&missing, slices(&missing)?);
        Ok(fetched)
    };
    let mut control = Control::default();
    for (unit, request) in file.request_control() {
        let fetched = fetched(&request)?;
        file.read_control(&unit, request, &fetched, &mut control)?;
    }
    let shape = Fields::from(vec![Field::new("id", DataType::Int64, true)]);
    let shape = stats_schema(&shape);
    let mut kept = control.transactions.len() + control.domains.len() + control.sidecars.len();
    let derived = vec![
        FileColumn::NumRecords,
        FileColumn::StatsParsed(shape.clone()),
    ];
    for (action, columns) in [
        (FileAction::Add, FileColumns::all()),
        (FileAction::Add, FileColumns::new(derived)),
        (FileAction::Remove, FileColumns::fields_only(&REMOVE_FIELDS)),
    ] {
        for unit in file.units(action, &columns, 1 << 10) {
            let mut decoded = 0;
            let request = file.request(&unit, action, &columns, None);
            let fetched = fetched(&request)?;
            for rows in file.read(&unit, action, request, &fetched)? {
                let rows = rows?;
                decoded += rows.path().len();
                let keep = SelectedRows::new(rows.present());
                kept += keep.num_rows();
                let batch = FileRows::take(&[(rows, keep.clone())], &columns, &shape)?;
                assert_eq!(batch.num_rows(), keep.num_rows());
            }
            assert_eq!(decoded, unit.num_rows());
        }
    }
    Ok(kept as u64)
}
