//! A V2 checkpoint whose sidecars are written by other processes, for tables too large for one process.
//!
//! The driver replays the tail of the log and divides the checkpoint before it into pieces; the reader of a
//! piece writes its rows as sidecars and reports them; the driver writes the tail's own rows and the manifest
//! that references all sidecars. Log cleanup deletes a sidecar that no manifest references.
//!
//! Protocol: "V2 Spec", "Sidecar Files".

use std::sync::Arc;

use arrow_array::{Array, StructArray};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;

use super::rows::{
    ControlActions, columns_of_adds, convert_tombstones, encoding_failed, names_of_adds, rows_of,
    schema, sidecar_schema,
};
use super::v2::{Contents, SIDECAR_ADD, SIDECAR_REMOVE, delete_sidecars, manifest, put};
use super::{
    CODEC, WrittenCheckpoint, check_count, check_v2, describe_existing, find_existing, options,
};
use crate::codec::file_columns::FileColumns;
use crate::codec::parquet_file::codec;
use crate::error::Result;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::files::FileTable;
use crate::snapshot::pieces::{PieceOptions, ReplayPiece, ReplayTail};
use crate::spec::actions::Sidecar;
use crate::storage::{Storage, interrupt, now};

/// The size in bytes at which a sidecar is written, and another one begun: an open one is held in memory.
const MAX_BYTES: usize = 128 << 20;

/// The remaining work for a checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointPlan {
    /// The pieces that other processes write as sidecars.
    pub pieces: Vec<ReplayPiece>,
    /// The tail of the log, needed to read the pieces.
    pub tail: ReplayTail,
    /// The compression codec set by the table properties.
    pub codec: Option<String>,
    snapshot: Snapshot,
    files: FileTable,
    tombstones: FileTable,
}

/// The result of [`plan`].
#[derive(Debug)]
pub enum Planned {
    /// The version has a V2 checkpoint already.
    Existing(WrittenCheckpoint),
    /// The work to do.
    ToDo(Box<CheckpointPlan>),
}

/// A sidecar that no manifest references yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSidecar {
    /// The sidecar.
    pub sidecar: Sidecar,
    /// Its number of live files.
    pub num_files: u64,
    /// Its number of tombstones.
    pub num_removes: u64,
}

/// Plans the V2 checkpoint of a snapshot in pieces of about `target_size` bytes of the log.
///
/// # Errors
///
/// Invalid argument: `checkpoint.layout` for a table without the feature.
pub fn plan(source: &Source, snapshot: &Snapshot, target_size: u64) -> Result<Planned> {
    check_v2(snapshot)?;
    if let Some(checkpoint) = find_existing(&*source.storage, snapshot.version(), true)? {
        let control = ControlActions::of(source, snapshot)?;
        return describe_existing(source, snapshot, &control, &checkpoint).map(Planned::Existing);
    }
    let retention = snapshot.properties().deleted_file_retention;
    let options = PieceOptions {
        columns: Some(names_of_adds(snapshot)),
        filter: None,
        target_size,
        keyed: false,
        tombstones_since: Some(now().saturating_sub(retention)),
    };
    let plan = snapshot.replay_plan(source, &options)?;
    Ok(Planned::ToDo(Box::new(CheckpointPlan {
        pieces: plan.pieces,
        tail: plan.tail,
        codec: snapshot.metadata().property(CODEC).map(str::to_owned),
        snapshot: snapshot.clone(),
        files: plan.files,
        tombstones: plan.tombstones,
    })))
}

/// Writes the rows of a piece as sidecars: one, unless it would be too large. After an error, the sidecars
/// written so far are deleted, as far as possible.
pub fn write_sidecars(
    source: &Source,
    piece: &ReplayPiece,
    tail: &ReplayTail,
    codec_name: Option<&str>,
    threads: Option<usize>,
) -> Result<Vec<WrittenSidecar>> {
    let mut writer = SidecarWriter::new(source, &tail.columns()?, codec(codec_name).0);
    let work = |writer: &mut SidecarWriter<'_>| {
        for batch in piece.tombstones(source, tail, threads)? {
            writer.take(SIDECAR_REMOVE, convert_tombstones(&batch?)?)?;
        }
        for batch in piece.rows(source, tail, threads)? {
            writer.take(SIDECAR_ADD, StructArray::from(batch?))?;
        }
        writer.end()
    };
    let outcome = work(&mut writer);
    writer.finish(outcome)
}

impl CheckpointPlan {
    /// Writes the tail's rows, then the manifest that references these sidecars and those of the pieces, then
    /// the hint.
    ///
    /// # Errors
    ///
    /// Corrupt: `checkpoint.count` if the sidecars do not have as many live files as the snapshot, if that
    /// number is known without a replay.
    pub fn finish(
        &self,
        source: &Source,
        written: Vec<WrittenSidecar>,
    ) -> Result<WrittenCheckpoint> {
        let (snapshot, adds) = (&self.snapshot, columns_of_adds(&self.snapshot)?);
        let compression = codec(self.codec.as_deref()).0;
        let control = ControlActions::of(source, snapshot)?;
        let mut writer = SidecarWriter::new(source, &adds, compression);
        writer.written = written;
        let work = |writer: &mut SidecarWriter<'_>| {
            for batch in &self.tombstones.batches {
                writer.take(SIDECAR_REMOVE, convert_tombstones(batch)?)?;
            }
            for batch in &self.files.batches {
                writer.take(SIDECAR_ADD, StructArray::from(batch.clone()))?;
            }
            writer.end()?;
            let num_files = writer.written.iter().map(|sidecar| sidecar.num_files).sum();
            match snapshot.known_num_files() {
                Some(known) => check_count(snapshot, num_files, known),
                None => Ok(()),
            }
        };
        let outcome = work(&mut writer);
        let written = writer.finish(outcome)?;
        let contents = Contents {
            schema: schema(&adds, true),
            compression,
            num_files: written.iter().map(|sidecar| sidecar.num_files).sum(),
            num_removes: written.iter().map(|sidecar| sidecar.num_removes).sum(),
            sidecars: written.into_iter().map(|file| file.sidecar).collect(),
        };
        manifest(source, snapshot.version(), &control, &contents, false)
    }
}

struct SidecarWriter<'a> {
    storage: &'a dyn Storage,
    schema: SchemaRef,
    compression: Compression,
    open: Option<OpenSidecar>,
    written: Vec<WrittenSidecar>,
}

struct OpenSidecar {
    writer: ArrowWriter<Vec<u8>>,
    num_files: u64,
    num_removes: u64,
}

impl<'a> SidecarWriter<'a> {
    fn new(source: &'a Source, adds: &FileColumns, compression: Compression) -> Self {
        Self {
            storage: &*source.storage,
            schema: sidecar_schema(adds),
            compression,
            open: None,
            written: Vec::new(),
        }
    }

    fn take(&mut self, column: usize, values: StructArray) -> Result<()> {
        interrupt::check()?;
        if values.is_empty() {
            return Ok(());
        }
        let rows = values.len() as u64;
        let batch = rows_of(&self.schema, column, Arc::new(values))?;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        open.writer.write(&batch).map_err(encoding_failed)?;
        if column == SIDECAR_ADD {
            open.num_files += rows;
        } else {
            open.num_removes += rows;
        }
        let is_full = open.writer.bytes_written() + open.writer.in_progress_size() > MAX_BYTES;
        self.open = Some(open);
        if is_full { self.end() } else { Ok(()) }
    }

    fn begin(&self) -> Result<OpenSidecar> {
        let schema = Arc::clone(&self.schema);
        let options = options(self.compression);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options);
        Ok(OpenSidecar {
            writer: writer.map_err(encoding_failed)?,
            num_files: 0,
            num_removes: 0,
        })
    }

    fn end(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let bytes = open.writer.into_inner().map_err(encoding_failed)?;
        self.written.push(WrittenSidecar {
            sidecar: put(self.storage, &bytes)?,
            num_files: open.num_files,
            num_removes: open.num_removes,
        });
        Ok(())
    }

    /// Returns the sidecars that were written; deletes them after an error.
    fn finish(self, outcome: Result<()>) -> Result<Vec<WrittenSidecar>> {
        if let Err(error) = outcome {
            delete_sidecars(self.storage, self.written.iter().map(|file| &file.sidecar));
            return Err(error);
        }
        Ok(self.written)
    }
}
