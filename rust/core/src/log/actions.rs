//! The raw actions of a range of commits as columns: one row per action, one struct column per kind.
//!
//! Actions are returned as in the log: nothing is reconciled, and compacted files and checkpoints are not
//! used.

use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray, UInt32Array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use serde_json::{Map, Value};

use super::commit::decode_files;
use super::history;
use super::listing::{LogListing, VersionedFile};
use super::segment::{check_contiguous, missing_table};
use crate::codec::batches::Batches;
use crate::codec::commit::{
    ActionBatch, ActionDecoder, ActionSelection, FileActions, Positioned, columns_error,
    parse_commit_info,
};
use crate::codec::control_columns::{
    boolean, domain_fields, domain_rows, long, metadata_fields, metadata_rows, protocol_fields,
    protocol_rows, strings, structure, text, text_map, transaction_fields, transaction_rows,
};
use crate::codec::file_actions::{ADD_FIELDS, CDC_FIELDS, FileField, REMOVE_FIELDS, schema_of};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Storage, interrupt};

/// The approximate maximum size of the commits in a batch in bytes, and their maximum number.
const RUN_BYTES: u64 = 4 << 20;
const RUN_COMMITS: usize = 256;

/// Returns the fields of `commitInfo` that the protocol or delta-spark defines, and `json` with all of it as
/// text.
fn commit_info_fields() -> Fields {
    vec![
        long("timestamp"),
        long("inCommitTimestamp"),
        text("operation"),
        text_map("operationParameters"),
        long("readVersion"),
        text("isolationLevel"),
        boolean("isBlindAppend"),
        text_map("operationMetrics"),
        text("userMetadata"),
        text("engineInfo"),
        text("txnId"),
        text("json"),
    ]
    .into()
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let files =
        |name: &str, fields: &[FileField]| structure(name, schema_of(fields).fields().clone());
    Arc::new(Schema::new(vec![
        Arc::new(Field::new("version", DataType::Int64, false)),
        files("add", &ADD_FIELDS),
        files("remove", &REMOVE_FIELDS),
        files("cdc", &CDC_FIELDS),
        structure("metaData", metadata_fields()),
        structure("protocol", protocol_fields()),
        structure("txn", transaction_fields()),
        structure("domainMetadata", domain_fields()),
        structure("commitInfo", commit_info_fields()),
    ]))
});

/// Returns the actions of the commits `start..=end`, oldest first; `end` defaults to the newest.
///
/// # Errors
///
/// Table not found: `table.not_found` if the log has no version. Version not found: `version.range` if the
/// range is empty, `start` is not in the log, or `end` is after its newest commit. Corrupt: `log.gap` if
/// another commit is missing. Storage errors.
pub fn actions(storage: Arc<dyn Storage>, start: u64, end: Option<u64>) -> Result<Batches> {
    let mut commits = LogListing::read(&*storage, start)?.commits;
    let first = commits.first().map(|commit| commit.version);
    let newest = commits.last().map(|commit| commit.version);
    if first != Some(start) || end.is_some_and(|end| end < start || Some(end) > newest) {
        let present = match (first, newest) {
            (Some(first), Some(newest)) => {
                format!("those from {start} on are {first} to {newest}")
            }
            _ if LogListing::read(&*storage, 0)?.latest().is_none() => {
                return Err(missing_table());
            }
            _ => format!("it has none from {start} on"),
        };
        let end = end.map_or_else(|| "the newest".to_owned(), |end| end.to_string());
        let message = format!("the log does not have all commits from {start} to {end}: {present}");
        return Err(Error::new(
            ErrorKind::VersionNotFound,
            "version.range",
            message,
        ));
    }
    let last = end.or(newest).unwrap_or(start);
    commits.retain(|commit| commit.version <= last);
    check_contiguous(&commits, start, last, true)?;
    let mut commits = commits.into_iter();
    let batches = std::iter::from_fn(move || {
        let mut run: Vec<VersionedFile> = Vec::new();
        let mut bytes = 0_u64;
        while run.len() < RUN_COMMITS && bytes < RUN_BYTES {
            let Some(commit) = commits.next() else {
                break;
            };
            bytes = bytes.saturating_add(commit.file.size);
            run.push(commit);
        }
        (!run.is_empty()).then(|| read(&*storage, &run))
    });
    Ok(Batches::new(Arc::clone(&SCHEMA), batches))
}

fn read(storage: &dyn Storage, run: &[VersionedFile]) -> Result<RecordBatch> {
    interrupt::check()?;
    let mut decoder = ActionDecoder::new(ActionSelection::everything());
    let files: Vec<_> = run
        .iter()
        .map(|commit| (&commit.file, commit.version))
        .collect();
    decode_files(storage, &files, &mut decoder)?;
    let versions: Vec<u64> = run.iter().map(|commit| commit.version).collect();
    batch(&decoder.finish()?, &versions).map_err(columns_error)
}

/// Builds one row for each action of a known kind.
fn batch(actions: &ActionBatch, versions: &[u64]) -> std::result::Result<RecordBatch, ArrowError> {
    let file_positions = |files: &Option<FileActions>| {
        let positions = files.as_ref().map(|files| files.sequence.clone());
        positions.unwrap_or_default()
    };
    fn positions<T>(list: &[Positioned<T>]) -> Vec<u32> {
        list.iter().map(|(position, _)| *position).collect()
    }
    fn action<T>((_, action): &Positioned<T>) -> &T {
        action
    }
    let positions = [
        file_positions(&actions.adds),
        file_positions(&actions.removes),
        file_positions(&actions.cdcs),
        positions(&actions.metadatas),
        positions(&actions.protocols),
        positions(&actions.transactions),
        positions(&actions.domains),
        positions(&actions.commit_infos),
    ];
    let rows = |files: &Option<FileActions>, fields: &[FileField]| -> ArrayRef {
        match files {
            Some(files) => Arc::new(StructArray::from(files.rows.clone())),
            None => new_null_array(&DataType::Struct(schema_of(fields).fields().clone()), 0),
        }
    };
    let columns = [
        rows(&actions.adds, &ADD_FIELDS),
        rows(&actions.removes, &REMOVE_FIELDS),
        rows(&actions.cdcs, &CDC_FIELDS),
        Arc::new(metadata_rows(actions.metadatas.iter().map(action))?),
        Arc::new(protocol_rows(actions.protocols.iter().map(action))?),
        Arc::new(transaction_rows(actions.transactions.iter().map(action))?),
        Arc::new(domain_rows(actions.domains.iter().map(action))?),
        commit_infos(&actions.commit_infos)?,
    ];
    // a line with two kinds becomes two rows, in the order of the columns
    let mut order: Vec<(u32, usize)> = Vec::new();
    for (kind, positions) in positions.iter().enumerate() {
        order.extend(positions.iter().map(|position| (*position, kind)));
    }
    order.sort_unstable();
    let version_of = |position: u32| {
        let file = actions
            .starts
            .partition_point(|start| *start <= position)
            .saturating_sub(1);
        versions
            .get(file)
            .and_then(|version| i64::try_from(*version).ok())
            .unwrap_or_default()
    };
    let mut out: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(
        order.iter().map(|(position, _)| version_of(*position)),
    ))];
    for (kind, column) in columns.iter().enumerate() {
        let mut next = 0_u32;
        let indices: UInt32Array = order
            .iter()
            .map(|(_, kind_of_row)| {
                (*kind_of_row == kind).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        out.push(arrow_select::take::take(column, &indices, None)?);
    }
    RecordBatch::try_new(Arc::clone(&SCHEMA), out)
}

fn commit_infos(list: &[Positioned<String>]) -> std::result::Result<ArrayRef, ArrowError> {
    let parsed: Vec<Map<String, Value>> = list
        .iter()
        .map(|(_, text)| parse_commit_info(text).unwrap_or_default())
        .collect();
    let mut columns = Vec::new();
    for field in &commit_info_fields() {
        columns.push(match field.name().as_str() {
            "json" => strings(list.iter().map(|(_, text)| Some(text))),
            name => history::column(
                field.data_type(),
                &mut parsed.iter().map(|info| info.get(name)),
            )?,
        });
    }
    Ok(Arc::new(StructArray::try_new(
        commit_info_fields(),
        columns,
        None,
    )?))
}
