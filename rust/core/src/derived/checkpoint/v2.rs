//! A V2 checkpoint: sidecars first, in parallel, then the manifest that references them.
//!
//! Protocol: "V2 Spec", "Sidecar Files", "UUID-named checkpoint".

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, StructArray};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use serde_json::{Value, json};

use super::hint::{self, V2Details};
use super::rows::{
    CHECKPOINT_METADATA, ControlActions, SIDECAR, checkpoint_metadata_rows, columns_of_adds,
    encoding_failed, rows_of, schema, sidecar_rows, sidecar_schema, tombstones,
};
use super::{ROW_GROUP, WrittenCheckpoint, check_count, compression, options};
use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::log::path::{LOG_DIRECTORY, SIDECAR_DIRECTORY};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::spec::actions::Sidecar;
use crate::storage::Storage;
use crate::storage::pool::{self, ordered};
use crate::write::random::new_id;

/// The maximum number of sidecars encoded at once: each holds its rows in memory.
const MAX_AT_ONCE: usize = 8;

/// The column indexes of `add` and `remove` in a sidecar.
pub(super) const SIDECAR_ADD: usize = 0;
pub(super) const SIDECAR_REMOVE: usize = 1;

/// The rows of one sidecar, with their column index: at most [`ROW_GROUP`] rows.
type SidecarRows = Vec<(usize, StructArray)>;

pub(super) fn write(
    source: &Source,
    snapshot: &Snapshot,
    control: &ControlActions,
    json: bool,
) -> Result<WrittenCheckpoint> {
    let mut sidecars = Sidecars::new(source, snapshot)?;
    let filled = sidecars
        .fill(snapshot)
        .and_then(|()| snapshot.num_files(source))
        .and_then(|known| check_count(snapshot, sidecars.num_files, known));
    if let Err(error) = filled {
        delete_sidecars(&*source.storage, &sidecars.written);
        return Err(error);
    }
    // from here on a manifest may reference them, even if its writer gets no confirmation
    let contents = Contents {
        schema: schema(&sidecars.adds, true),
        compression: sidecars.compression,
        sidecars: sidecars.written,
        num_files: sidecars.num_files,
        num_removes: sidecars.num_removes,
    };
    manifest(source, snapshot.version(), control, &contents, json)
}

/// Deletes sidecars that no manifest references. Log cleanup deletes those that cannot be deleted now.
pub(super) fn delete_sidecars<'a>(
    storage: &dyn Storage,
    sidecars: impl IntoIterator<Item = &'a Sidecar>,
) {
    let paths: Vec<String> = sidecars.into_iter().map(storage_path).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let _best_effort = storage.delete(&paths);
}

fn storage_path(sidecar: &Sidecar) -> String {
    format!("{SIDECAR_DIRECTORY}/{}", sidecar.path)
}

/// The content of a manifest.
pub(super) struct Contents {
    pub(super) schema: SchemaRef,
    pub(super) compression: Compression,
    pub(super) sidecars: Vec<Sidecar>,
    pub(super) num_files: u64,
    pub(super) num_removes: u64,
}

struct Sidecars {
    source: Source,
    adds: FileColumns,
    schema: SchemaRef,
    compression: Compression,
    written: Vec<Sidecar>,
    waiting: Vec<SidecarRows>,
    num_files: u64,
    num_removes: u64,
}

impl Sidecars {
    fn new(source: &Source, snapshot: &Snapshot) -> Result<Self> {
        let adds = columns_of_adds(snapshot)?;
        Ok(Self {
            source: source.clone(),
            schema: sidecar_schema(&adds),
            adds,
            compression: compression(snapshot),
            written: Vec::new(),
            waiting: Vec::new(),
            num_files: 0,
            num_removes: 0,
        })
    }

    fn fill(&mut self, snapshot: &Snapshot) -> Result<()> {
        let mut pending = PendingSidecar::default();
        for values in tombstones(&self.source, snapshot)? {
            self.num_removes += values.len() as u64;
            self.take(&mut pending, SIDECAR_REMOVE, &values)?;
        }
        for batch in snapshot.file_batches(&self.source, self.adds.clone(), None)? {
            let values = StructArray::from(batch?);
            self.num_files += values.len() as u64;
            self.take(&mut pending, SIDECAR_ADD, &values)?;
        }
        self.waiting.extend(pending.finish());
        self.flush()
    }

    fn take(
        &mut self,
        pending: &mut PendingSidecar,
        column: usize,
        values: &StructArray,
    ) -> Result<()> {
        let mut begin = 0;
        while begin < values.len() {
            let rows = (values.len() - begin).min(ROW_GROUP - pending.rows);
            pending.push(column, values.slice(begin, rows));
            begin += rows;
            if pending.rows == ROW_GROUP {
                self.waiting.extend(pending.finish());
                if self.waiting.len() >= pool::threads().min(MAX_AT_ONCE) {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Encodes and writes the waiting sidecars.
    fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let (storage, schema) = (Arc::clone(&self.source.storage), Arc::clone(&self.schema));
        let compression = self.compression;
        let look_ahead = waiting.len();
        let work = move |rows: SidecarRows| -> Result<Sidecar> {
            let bytes = encode(&schema, compression, rows)?;
            put(&*storage, &bytes)
        };
        let mut failure = None;
        for sidecar in ordered(waiting, look_ahead, work) {
            match sidecar {
                Ok(sidecar) => self.written.push(sidecar),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Writes a sidecar that no manifest references yet.
pub(super) fn put(storage: &dyn Storage, bytes: &[u8]) -> Result<Sidecar> {
    let mut sidecar = Sidecar {
        path: format!("{}.parquet", new_id()),
        size_in_bytes: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        modification_time: 0,
    };
    let path = storage_path(&sidecar);
    storage.put_if_absent(&path, bytes)?;
    sidecar.modification_time = storage.head(&path)?.modification_time;
    Ok(sidecar)
}

#[derive(Default)]
struct PendingSidecar {
    parts: SidecarRows,
    rows: usize,
}

impl PendingSidecar {
    fn push(&mut self, column: usize, values: StructArray) {
        self.rows += values.len();
        self.parts.push((column, values));
    }

    fn finish(&mut self) -> Option<SidecarRows> {
        self.rows = 0;
        let parts = std::mem::take(&mut self.parts);
        Some(parts).filter(|parts| !parts.is_empty())
    }
}

fn encode(
    schema: &SchemaRef,
    compression: Compression,
    rows: Vec<(usize, StructArray)>,
) -> Result<Vec<u8>> {
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(schema), options(compression))
            .map_err(encoding_failed)?;
    for (column, values) in rows {
        let batch = rows_of(schema, column, Arc::new(values))?;
        writer.write(&batch).map_err(encoding_failed)?;
    }
    writer.into_inner().map_err(encoding_failed)
}

pub(super) fn manifest(
    source: &Source,
    version: u64,
    control: &ControlActions,
    contents: &Contents,
    json: bool,
) -> Result<WrittenCheckpoint> {
    let sidecars = contents.sidecars.iter();
    let sidecar_bytes: i64 = sidecars.map(|sidecar| sidecar.size_in_bytes).sum();
    let in_sidecars = contents.num_files + contents.num_removes;
    let tags: BTreeMap<String, String> = [
        ("sidecarNumActions", in_sidecars.to_string()),
        ("sidecarSizeInBytes", sidecar_bytes.to_string()),
        ("numOfAddFiles", contents.num_files.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let actions = actions(version, &tags, control);
    let sidecars = contents.sidecars.iter();
    let sidecars: Vec<Value> = sidecars.map(|sidecar| json!(sidecar)).collect();
    let bytes = if json {
        let wrapped = sidecars.iter().map(|sidecar| json!({ "sidecar": sidecar }));
        let lines = actions.iter().cloned().chain(wrapped);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        text.into_bytes()
    } else {
        let mut rows = vec![(
            CHECKPOINT_METADATA,
            checkpoint_metadata_rows(version, &tags)?,
        )];
        rows.extend(control.rows()?);
        if !contents.sidecars.is_empty() {
            rows.push((SIDECAR, sidecar_rows(&contents.sidecars)?));
        }
        encode(&contents.schema, contents.compression, rows)?
    };
    let name = format!(
        "{version:020}.checkpoint.{}.{}",
        new_id(),
        if json { "json" } else { "parquet" }
    );
    let path = format!("{LOG_DIRECTORY}/{name}");
    let hint = hint::read(source);
    source.storage.put_if_absent(&path, &bytes)?;
    let written = WrittenCheckpoint {
        version,
        num_actions: 1 + control.count() + sidecars.len() as u64 + in_sidecars,
        num_files: contents.num_files,
        size_in_bytes: bytes.len() as u64 + u64::try_from(sidecar_bytes).unwrap_or_default(),
        num_sidecars: sidecars.len() as u64,
        path,
    };
    let details = V2Details {
        path: name,
        size_in_bytes: bytes.len() as u64,
        modification_time: source.storage.head(&written.path)?.modification_time,
        non_file_actions: actions,
        sidecar_files: sidecars,
    };
    hint::write(source, hint, &written, Some(details))?;
    Ok(written)
}

/// Returns the actions of the manifest without sidecars.
fn actions(version: u64, tags: &BTreeMap<String, String>, control: &ControlActions) -> Vec<Value> {
    let mut actions = vec![
        json!({"checkpointMetadata": {"version": version, "tags": tags}}),
        json!({"protocol": control.protocol}),
        json!({"metaData": control.metadata}),
    ];
    let transactions = control.transactions.iter();
    actions.extend(transactions.map(|body| json!({ "txn": body })));
    let domains = control.domains.iter();
    actions.extend(domains.map(|body| json!({ "domainMetadata": body })));
    actions
}
