//! A checkpoint of one version, and the hint that references it: a single Parquet file (V1, classic name), or
//! a manifest with sidecars (V2).
//!
//! Live files are streamed from the log into row groups. In memory are the rows being encoded, and the
//! encoded bytes of the single file or of a few sidecars. Before a checkpoint is published, its live files
//! are counted: sidecars are written first, and no reader sees them before the manifest exists.
//!
//! Protocol: "Checkpoints", "Checkpoint Schema", "Last Checkpoint File".

use std::sync::Arc;

use arrow_array::{Array, StructArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::EnabledStatistics;
use parquet::schema::types::ColumnPath;
use serde::Deserialize;

use crate::codec::parquet_file::{codec, writer_options};
use crate::error::{Error, Result};
use crate::log::path::{CheckpointName, LOG_DIRECTORY};
use crate::log::{CheckpointInstance, LogListing};
use crate::replay::{Checkpoint, Source};
use crate::snapshot::{Snapshot, prefetch};
use crate::spec::variant_name::variant_named;
use crate::storage::{Storage, interrupt};

pub mod distributed;
mod hint;
mod rows;
mod v2;

use rows::{
    ADD, ControlActions, REMOVE, columns_of_adds, encoding_failed, rows_of, schema, tombstones,
};

/// The property that names the codec.
const CODEC: &str = "delta.parquet.compression.codec";

/// The number of files per row group.
const ROW_GROUP: usize = 50_000;

/// The layout of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointLayout {
    /// One Parquet file under the classic name.
    Classic,
    /// A manifest in Parquet and sidecars.
    V2,
    /// A manifest in JSON and sidecars.
    V2Json,
}

impl CheckpointLayout {
    /// Returns the layout set by the table properties.
    pub fn of(snapshot: &Snapshot) -> Self {
        let policy = snapshot.metadata().property("delta.checkpointPolicy");
        let v2 = policy.unwrap_or_default().eq_ignore_ascii_case("v2");
        if v2 && snapshot.protocol().is_supported("v2Checkpoint") {
            Self::V2
        } else {
            Self::Classic
        }
    }

    /// Parses the name of a layout: `classic`, `v2` or `v2-json`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `checkpoint.layout`.
    pub fn parse(name: &str) -> Result<Self> {
        variant_named(name).ok_or_else(|| {
            let message =
                format!("there is no checkpoint layout {name:?}: pass classic, v2 or v2-json");
            Error::invalid("checkpoint.layout", message)
        })
    }
}

/// A checkpoint that was written or already existed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCheckpoint {
    /// Its version.
    pub version: u64,
    /// The path of its (first) file, relative to the table root.
    pub path: String,
    /// Number of all its actions.
    pub num_actions: u64,
    /// Number of live files among them.
    pub num_files: u64,
    /// Total size in bytes, including sidecars.
    pub size_in_bytes: u64,
    /// Number of sidecars.
    pub num_sidecars: u64,
}

/// Writes the checkpoint of a snapshot, then the hint. A complete checkpoint of the same version is kept if
/// both are classic or both are V2.
///
/// # Errors
///
/// Invalid argument: `checkpoint.layout` for V2 on a table without the feature. Corrupt: `checkpoint.count`
/// if the log does not return all live files.
pub fn write_checkpoint(
    source: &Source,
    snapshot: &Snapshot,
    layout: CheckpointLayout,
) -> Result<WrittenCheckpoint> {
    let v2 = layout != CheckpointLayout::Classic;
    if v2 {
        check_v2(snapshot)?;
    }
    let version = snapshot.version();
    let segment = snapshot.segment();
    let opened = segment.checkpoint.as_ref().map(|opened| opened.version);
    // on a remote store, the listing that opened the snapshot decides; a checkpoint written since stays, too
    let is_absent = source.storage.log_cache().is_some() && opened != Some(version);
    let control = ControlActions::of(source, snapshot)?;
    prefetch(source, &segment);
    if !is_absent && let Some(checkpoint) = find_existing(&*source.storage, version, v2)? {
        return describe_existing(source, snapshot, &control, &checkpoint);
    }
    if v2 {
        let json = layout == CheckpointLayout::V2Json;
        return v2::write(source, snapshot, &control, json);
    }
    let encoded = encode(source, snapshot, &control)?;
    let path = format!("{LOG_DIRECTORY}/{version:020}.checkpoint.parquet");
    let hint = hint::read(source);
    let created = source.storage.put_if_absent(&path, &encoded.bytes)?;
    let size_in_bytes = if created {
        encoded.bytes.len() as u64
    } else {
        source.storage.head(&path)?.size
    };
    let written = WrittenCheckpoint {
        version,
        path,
        num_actions: encoded.num_actions,
        num_files: encoded.num_files,
        size_in_bytes,
        num_sidecars: 0,
    };
    hint::write(source, hint, &written, None)?;
    Ok(written)
}

fn check_v2(snapshot: &Snapshot) -> Result<()> {
    if snapshot.protocol().is_supported("v2Checkpoint") {
        return Ok(());
    }
    let message =
        "a V2 checkpoint requires the feature v2Checkpoint: set delta.checkpointPolicy to v2 first";
    Err(Error::invalid("checkpoint.layout", message).at_version(snapshot.version()))
}

/// Returns `true` if a complete checkpoint of a version exists.
pub fn has_checkpoint(source: &Source, version: u64) -> Result<bool> {
    let listing = LogListing::read(&*source.storage, version)?;
    Ok(listing
        .checkpoints
        .iter()
        .any(|checkpoint| checkpoint.version == version))
}

fn find_existing(
    storage: &dyn Storage,
    version: u64,
    v2: bool,
) -> Result<Option<CheckpointInstance>> {
    let listing = LogListing::read(storage, version)?;
    let same = |checkpoint: &CheckpointInstance| {
        let is_v2 = matches!(checkpoint.name, CheckpointName::Uuid { .. });
        checkpoint.version == version && is_v2 == v2
    };
    Ok(listing.checkpoints.into_iter().rev().find(same))
}

/// Describes an existing checkpoint; only its control actions are read, since its content is that of the
/// snapshot.
fn describe_existing(
    source: &Source,
    snapshot: &Snapshot,
    control: &ControlActions,
    checkpoint: &CheckpointInstance,
) -> Result<WrittenCheckpoint> {
    let sidecars = Checkpoint::read_control(source, checkpoint)?.sidecars;
    let sizes = checkpoint.files.iter().map(|file| file.size);
    let sidecar_sizes = sidecars
        .iter()
        .map(|sidecar| u64::try_from(sidecar.size_in_bytes).unwrap_or_default());
    let tombstones = snapshot.tombstones(source)?.batches;
    let tombstones: usize = tombstones.iter().map(|batch| batch.num_rows()).sum();
    let num_files = snapshot.num_files(source)?;
    // a V2 checkpoint may have a classic name
    let is_v2 = matches!(checkpoint.name, CheckpointName::Uuid { .. }) || !sidecars.is_empty();
    let manifest_actions = if is_v2 { 1 + sidecars.len() as u64 } else { 0 };
    Ok(WrittenCheckpoint {
        version: checkpoint.version,
        path: checkpoint.path().to_owned(),
        num_actions: control.count() + manifest_actions + num_files + tombstones as u64,
        num_files,
        size_in_bytes: sizes.chain(sidecar_sizes).sum(),
        num_sidecars: sidecars.len() as u64,
    })
}

/// Refuses to publish a checkpoint with another number of files than the snapshot.
fn check_count(snapshot: &Snapshot, num_files: u64, known: u64) -> Result<()> {
    if num_files == known {
        return Ok(());
    }
    let message = format!(
        "the log returned {num_files} live files instead of {known}: the checkpoint was not written"
    );
    Err(Error::corrupt("checkpoint.count", message).at_version(snapshot.version()))
}

fn compression(snapshot: &Snapshot) -> Compression {
    codec(snapshot.metadata().property(CODEC)).0
}

/// Returns the writer options for the files of a checkpoint. Paths are unique and statistics nearly so, and
/// no reader searches for values of either: dictionaries and page bounds would not help. The null count of
/// the path per row group tells readers which row groups have no file actions.
fn options(compression: Compression) -> ArrowWriterOptions {
    writer_options(compression, |builder| {
        let builder = builder.set_max_row_group_row_count(Some(ROW_GROUP));
        [
            ("path", EnabledStatistics::Chunk),
            ("stats", EnabledStatistics::None),
        ]
        .into_iter()
        .fold(builder, |builder, (name, statistics)| {
            let column = ColumnPath::new(vec!["add".to_owned(), name.to_owned()]);
            builder
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_statistics_enabled(column, statistics)
        })
    })
}

struct Encoded {
    bytes: Vec<u8>,
    num_actions: u64,
    num_files: u64,
}

/// Encodes all actions into one file.
fn encode(source: &Source, snapshot: &Snapshot, control: &ControlActions) -> Result<Encoded> {
    let adds = columns_of_adds(snapshot)?;
    let schema = schema(&adds, false);
    let options = options(compression(snapshot));
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options)
        .map_err(encoding_failed)?;
    let mut num_actions = 0;
    let mut write = |writer: &mut ArrowWriter<Vec<u8>>, column: usize, values: StructArray| {
        num_actions += values.len() as u64;
        let batch = rows_of(&schema, column, Arc::new(values))?;
        writer.write(&batch).map_err(encoding_failed)
    };
    for (column, values) in control.rows()? {
        write(&mut writer, column, values)?;
    }
    for values in tombstones(source, snapshot)? {
        write(&mut writer, REMOVE, values)?;
    }
    writer.flush().map_err(encoding_failed)?; // row groups of files have no other actions
    let mut num_files = 0;
    for batch in snapshot.file_batches(source, adds, None)? {
        interrupt::check()?;
        let values = StructArray::from(batch?);
        num_files += values.len() as u64;
        write(&mut writer, ADD, values)?;
    }
    check_count(snapshot, num_files, snapshot.num_files(source)?)?;
    Ok(Encoded {
        bytes: writer.into_inner().map_err(encoding_failed)?,
        num_actions,
        num_files,
    })
}

#[cfg(test)]
mod tests;
