//! Reads the live files or the tombstones of one piece.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Fields, SchemaRef};

use super::tail::ReplayTail;
use crate::codec::batches::Batches;
use crate::codec::checkpoint::FileAction;
use crate::codec::columns::columns_mismatch;
use crate::codec::commit::ActionSelection;
use crate::codec::file_actions::{ADD_FIELDS, REMOVE_FIELDS, schema_of};
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::log::TailFile;
use crate::replay::{
    BatchSizes, Checkpoint, CheckpointPart, FileActionKey, FileFilter, KeyedRows, Reconciler,
    Selection, Source, decode_tail_sequentially,
};
use crate::snapshot::files::unexpired;
use crate::snapshot::recover::missing_sidecar;
use crate::snapshot::segment_replay::{LiveRequest, with_key_fields, without_data_change};

/// The value of the column `version` for the rows of a checkpoint: before any commit.
const CHECKPOINT: i64 = -1;

/// Returns the live files of some parts of a checkpoint, in no defined order.
pub(super) fn of_checkpoint(
    source: &Source,
    tail: &ReplayTail,
    version: u64,
    parts: &[CheckpointPart],
    filter: Option<Arc<FileFilter>>,
    threads: Option<usize>,
) -> Result<Batches> {
    let schema = tail.schema()?;
    let selection = Selection {
        action: FileAction::Add,
        columns: tail.columns()?,
        tail_keys: tail.keys(),
        with_keys: tail.spec().keyed,
        stats_shape: tail.table_columns().stats_shape().unwrap_or_default(),
        sizes: BatchSizes::SENT,
        filter,
        threads,
    };
    let units = selected(source, tail, version, parts, &selection)?;
    let keyed_schema = Arc::clone(&schema);
    let batches = units.map(move |next| {
        let KeyedRows { rows, keys } = next?;
        let rows = without_data_change(rows)?;
        if !selection.with_keys {
            return Ok(rows);
        }
        with_keys(&keyed_schema, &keys, CHECKPOINT, file_column(&rows, None)?)
    });
    Ok(Batches::new(schema, batches))
}

/// Returns the tombstones of some parts of a checkpoint since a time, in no defined order.
pub(super) fn tombstones_of_checkpoint(
    source: &Source,
    tail: &ReplayTail,
    version: u64,
    parts: &[CheckpointPart],
    since: i64,
    threads: Option<usize>,
) -> Result<Batches> {
    let selection = Selection {
        action: FileAction::Remove,
        columns: FileColumns::fields_only(&REMOVE_FIELDS),
        tail_keys: tail.keys(),
        with_keys: false,
        stats_shape: Fields::empty(),
        sizes: BatchSizes::SENT,
        filter: None,
        threads,
    };
    let units = selected(source, tail, version, parts, &selection)?;
    let batches = units.map(move |next| unexpired(&next?.rows, since));
    Ok(Batches::new(schema_of(&REMOVE_FIELDS), batches))
}

/// Returns the files that commits add and remove, with their keys.
pub(super) fn of_commits(
    source: &Source,
    tail: &ReplayTail,
    commits: &[TailFile],
    filter: Option<Arc<FileFilter>>,
) -> Result<Batches> {
    let version = commits.first().map_or(0, |file| file.start);
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let source = tail.source(source);
    let schema = tail.schema()?;
    let request = LiveRequest {
        columns: tail.columns()?,
        filter,
    };
    let decoded = ActionSelection {
        adds: Some(with_key_fields(&request.fields_to_decode(), &ADD_FIELDS)),
        removes: Some(with_key_fields(&[], &REMOVE_FIELDS)),
        ..ActionSelection::default()
    };
    let batches =
        decode_tail_sequentially(&*source.storage, commits, &decoded).map_err(vanished)?;
    let mut reconciler = Reconciler::new(source.keys.clone());
    let mut parts = Vec::new();
    for batch in batches.iter().rev() {
        let live = reconciler.add_older(batch)?;
        if let Some(rows) = live.adds {
            let files = added_files(&request, &rows)?;
            parts.push(with_keys(&schema, &live.add_keys, version, files)?);
        }
        if let Some(rows) = live.removes {
            let keys = source.keys.of_batch(&rows)?;
            let nulls = new_null_array(file_type(&schema)?, keys.len());
            parts.push(with_keys(&schema, &keys, version, nulls)?);
        }
    }
    Ok(Batches::new(schema, parts.into_iter().map(Ok)))
}

/// Selects the rows of some parts of a checkpoint that the tail does not hide.
fn selected(
    source: &Source,
    tail: &ReplayTail,
    version: u64,
    parts: &[CheckpointPart],
    selection: &Selection,
) -> Result<impl Iterator<Item = Result<KeyedRows>> + Send + use<>> {
    let snapshot = tail.version();
    let located = move |error| vanished(missing_sidecar(error)).at_version(snapshot);
    let checkpoint = Checkpoint::of_parts(&tail.source(source), version, parts).map_err(located)?;
    let inline = checkpoint.inline_rows(selection).map_err(located)?;
    let rows = checkpoint.rows(selection).map_err(located)?;
    let rows = rows.map(|next| next.map(|(_, rows)| rows));
    let all = inline.map(Ok).into_iter().chain(rows);
    Ok(all.map(move |next| next.map_err(located)))
}

/// Returns the added files as a column; null for files that the filter skips, whose keys still hide older
/// actions.
fn added_files(request: &LiveRequest, rows: &RecordBatch) -> Result<ArrayRef> {
    let passed = match &request.filter {
        Some(filter) => Some(filter.may_match(&filter.columns().compute(rows)?)?),
        None => None,
    };
    let columns = without_data_change(request.columns.compute(rows)?)?;
    file_column(&columns, passed.map(NullBuffer::new))
}

/// Returns the rows as a struct column.
fn file_column(rows: &RecordBatch, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let fields = rows.schema_ref().fields().clone();
    let columns = rows.columns().to_vec();
    let files = StructArray::try_new_with_length(fields, columns, nulls, rows.num_rows());
    files
        .map(|files| Arc::new(files) as ArrayRef)
        .map_err(columns_mismatch)
}

fn file_type(schema: &SchemaRef) -> Result<&DataType> {
    let field = schema.field_with_name("file");
    field
        .map(|field| field.data_type())
        .map_err(columns_mismatch)
}

fn with_keys(
    schema: &SchemaRef,
    keys: &[FileActionKey],
    version: i64,
    files: ArrayRef,
) -> Result<RecordBatch> {
    let versions = Int64Array::from_value(version, keys.len());
    let keys = BinaryArray::from_iter_values(keys.iter().map(|key| key.to_bytes()));
    let columns: Vec<ArrayRef> = vec![Arc::new(keys), Arc::new(versions), files];
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(columns_mismatch)
}

/// Returns the error for a file that was deleted after the plan was made; other errors stay as they are.
fn vanished(error: Error) -> Error {
    if error.code() != "storage.not_found" {
        return error;
    }
    let message = "this file of the log existed when the replay was planned, but no longer does: the log was \
                   cleaned in the meantime; plan again";
    let mut vanished = Error::corrupt("replay.vanished", message);
    if let Some(path) = error.path() {
        vanished = vanished.at_path(path);
    }
    match error.version() {
        Some(version) => vanished.at_version(version),
        None => vanished,
    }
}
