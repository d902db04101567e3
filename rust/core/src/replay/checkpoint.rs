//! A checkpoint as one value: classic, multi-part, V2 manifests and their sidecars.
//!
//! Opening reads footers and the few control actions. File actions are read later, from all files in
//! parallel, without the rows that the tail hides: a checkpoint is reconciled, so each row needs only
//! one lookup in the keys of the tail.
//!
//! Protocol: "Checkpoints", "V2 Spec", "Sidecar Files".

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::Fields;
use bytes::Bytes;

use super::file_filter::FileFilter;
use super::key::{FileActionKey, KeySet, Keys};
use super::source::Source;
use crate::codec::checkpoint::{CheckpointFile, Control, FileAction, FileRows, Unit};
use crate::codec::columns::filter_rows;
use crate::codec::commit::{ActionDecoder, ActionSelection, Positioned};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::codec::filter_concat::SelectedRows;
use crate::error::{Error, Result};
use crate::log::CheckpointInstance;
use crate::log::path::{CheckpointName, SIDECAR_DIRECTORY};
use crate::spec::actions::Sidecar;
use crate::storage::pool::{self, Unordered, ordered, unordered};
use crate::storage::{Storage, check_complete, fetch, read_footer};

mod parts;
mod prefetch;

pub use parts::CheckpointPart;
pub use prefetch::{BatchSizes, RowsToPrefetch, opening_ranges};

/// The number of batches that wait to be taken while others are decoded.
const WAITING_BATCHES: usize = 2;

/// The number of units of a remote checkpoint that are fetched ahead, the one to decode included, as far as
/// the cache of the log has room.
const UNITS_AHEAD: usize = 8;

/// The minimum number of threads that filter the units of a remote checkpoint: most of them wait for bytes.
const FILTERS_AT_ONCE: usize = 8;

/// An opened checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    source: Source,
    version: u64,
    files: Arc<Vec<OpenFile>>,
    manifest: Option<(String, Bytes)>,
    control: Control,
}

#[derive(Debug)]
struct OpenFile {
    path: String,
    file: CheckpointFile,
    /// The byte range in which units to read begin; `None` for all.
    bytes: Option<Range<u64>>,
}

/// Some live rows and their keys.
#[derive(Clone, Debug)]
pub struct KeyedRows {
    /// The rows, with the requested fields.
    pub rows: RecordBatch,
    /// The key of each row; possibly empty if keys were not requested.
    pub keys: Vec<FileActionKey>,
}

/// The file actions of a checkpoint to read and to skip.
#[derive(Clone, Debug)]
pub struct Selection {
    /// `add` or `remove`.
    pub action: FileAction,
    /// The columns of each row.
    pub columns: FileColumns,
    /// The keys of the tail: rows with one of them are skipped.
    pub tail_keys: Arc<KeySet>,
    /// True to return the keys of the rows.
    pub with_keys: bool,
    /// The type of `stats_parsed`, for statistics that must be converted to text.
    pub stats_shape: Fields,
    /// The size of batches and units.
    pub sizes: BatchSizes,
    /// A filter that may skip rows by their statistics and partition values.
    pub filter: Option<Arc<FileFilter>>,
    /// The number of threads; `None` for the size of the pool. Raised for a remote checkpoint with a filter.
    pub threads: Option<usize>,
}

impl Checkpoint {
    /// Opens all files of the checkpoint, including sidecars, and reads the control actions; fetches the bytes
    /// of `rows` together with them.
    ///
    /// # Errors
    ///
    /// An error about a file that is missing or does not decode has its path; `path.*` if a sidecar's path
    /// leads out of the table.
    pub fn open(
        source: &Source,
        instance: &CheckpointInstance,
        rows: Option<RowsToPrefetch>,
    ) -> Result<Self> {
        let open = || {
            let mut files = Vec::new();
            let (control, manifest) =
                open_own_files(source, instance, rows.clone(), &mut |file| files.push(file))?;
            let sidecars = sidecar_paths(source, &control.sidecars, instance.path())?;
            for opened in open_files(source, sidecars, false, rows) {
                files.push(opened?.0);
            }
            Ok(Self {
                source: source.clone(),
                version: instance.version,
                files: Arc::new(files),
                manifest,
                control,
            })
        };
        open().map_err(|error: Error| error.at_version(instance.version))
    }

    /// Reads only the control actions: no sidecar is opened, and no footer is kept.
    pub fn read_control(source: &Source, instance: &CheckpointInstance) -> Result<Control> {
        let located = |error: Error| error.at_version(instance.version);
        open_own_files(source, instance, None, &mut |_| ())
            .map(|(control, _)| control)
            .map_err(located)
    }

    /// Returns the control actions.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Returns the selected file actions of a JSON manifest; `None` for a checkpoint in Parquet.
    pub fn inline_rows(&self, selection: &Selection) -> Result<Option<KeyedRows>> {
        let Some((path, bytes)) = &self.manifest else {
            return Ok(None);
        };
        let located = |error: Error| error.at_path(path.clone()).at_version(self.version);
        let key = FileColumns::fields_only(&[FileField::Path, FileField::DeletionVector]);
        let mut columns = selection.columns.merged(&key);
        if let Some(filter) = &selection.filter {
            columns = columns.merged(filter.columns());
        }
        let fields = columns.fields();
        let mut fields_of_action = ActionSelection::default();
        match selection.action {
            FileAction::Add => fields_of_action.adds = Some(fields),
            FileAction::Remove => fields_of_action.removes = Some(fields),
        }
        let mut decoder = ActionDecoder::new(fields_of_action);
        decoder.decode(bytes).map_err(located)?;
        let batch = decoder.finish().map_err(located)?;
        let Some(actions) = batch.adds.or(batch.removes) else {
            return Ok(None);
        };
        let mut keys = self.source.keys.of_batch(&actions.rows)?;
        let mut live: Vec<bool> = keys
            .iter()
            .map(|key| !selection.tail_keys.contains(key))
            .collect();
        if let Some(filter) = &selection.filter {
            let parsed = filter.columns().compute(&actions.rows).map_err(located)?;
            let passed = filter.may_match(&parsed).map_err(located)?;
            live.iter_mut()
                .zip(&passed)
                .for_each(|(live, passed)| *live &= passed);
        }
        let mut chosen = live.iter();
        keys.retain(|_| chosen.next() == Some(&true));
        let rows = filter_rows(&actions.rows, &live.into())?;
        let rows = selection.columns.compute(&rows).map_err(located)?;
        Ok(Some(KeyedRows { rows, keys }))
    }

    /// Streams the file actions of all Parquet files, in no defined order; each result has the index of its
    /// unit, which ascends with files and rows.
    pub fn rows(&self, selection: &Selection) -> Result<Unordered<KeyedRows>> {
        let mut units: Vec<(usize, Unit)> = Vec::new();
        for (number, open) in self.files.iter().enumerate() {
            units.extend(open.units(selection).into_iter().map(|unit| (number, unit)));
        }
        let files = Arc::clone(&self.files);
        let source = self.source.clone();
        let mut threads = selection.threads;
        if selection.filter.is_some() && source.storage.is_remote() {
            // the filter's columns of a unit decide which bytes of its other columns are fetched
            threads = Some(threads.unwrap_or_else(pool::threads).max(FILTERS_AT_ONCE));
        }
        let selection = selection.clone();
        let version = self.version;
        let units = Arc::new(units);
        unordered(
            (0..units.len()).collect(),
            threads,
            WAITING_BATCHES,
            move |at: &usize, emit| {
                let Some((number, unit)) = units.get(*at) else {
                    return Ok(());
                };
                let Some(open) = files.get(*number) else {
                    return Ok(());
                };
                if let Some(cache) = source.storage.log_cache() {
                    let next = units
                        .get(*at..)
                        .unwrap_or_default()
                        .iter()
                        .take(UNITS_AHEAD);
                    let ranges = next.filter_map(|(number, unit)| {
                        Some(files.get(*number)?.first_ranges(unit, &selection))
                    });
                    cache.prefetch(&ranges.flatten().collect::<Vec<_>>());
                }
                let located = |error: Error| error.at_path(open.path.clone()).at_version(version);
                let Some(reader) = open
                    .read(&*source.storage, unit, &selection)
                    .map_err(located)?
                else {
                    return Ok(());
                };
                let mut pending = PendingBatch::default();
                for rows in reader {
                    pending
                        .push(rows.map_err(located)?, &selection, &source.keys)
                        .map_err(located)?;
                    if pending.rows >= selection.sizes.batch_rows {
                        emit(pending.finish(&selection).map_err(located)?)?;
                    }
                }
                if pending.rows > 0 {
                    emit(pending.finish(&selection).map_err(located)?)?;
                }
                Ok(())
            },
        )
    }
}

impl OpenFile {
    fn units(&self, selection: &Selection) -> Vec<Unit> {
        let unit_bytes = selection.sizes.unit_bytes;
        let mut units = self
            .file
            .units(selection.action, &selection.columns, unit_bytes);
        if let Some(bytes) = &self.bytes {
            units.retain(|unit| bytes.contains(&self.file.approximate_offset(unit)));
        }
        units
    }

    /// Returns the ranges that a unit needs first: those of its filter, if there is one.
    fn first_ranges(
        &self,
        unit: &Unit,
        selection: &Selection,
    ) -> impl Iterator<Item = (String, Option<Range<u64>>)> + use<'_> {
        let request = match &selection.filter {
            Some(filter) => self.file.request_parsed(unit, filter.columns()),
            None => self
                .file
                .request(unit, selection.action, &selection.columns, None),
        };
        let ranges = request.missing(&self.file.unfetched()).into_iter();
        ranges.map(|range| (self.path.clone(), Some(range)))
    }

    /// Starts to decode the rows of a unit that may pass the filter; `None` if there are none. Bytes
    /// fetched for the filter are not fetched again.
    fn read(
        &self,
        storage: &dyn Storage,
        unit: &Unit,
        selection: &Selection,
    ) -> Result<Option<impl Iterator<Item = Result<FileRows>> + use<>>> {
        let mut fetched = self.file.unfetched();
        let mut passed = None;
        if let Some(filter) = &selection.filter {
            let request = self.file.request_parsed(unit, filter.columns());
            fetch(storage, &self.path, &request, &mut fetched)?;
            let mut bits = BooleanBufferBuilder::new(unit.num_rows());
            let parsed = self
                .file
                .read_parsed(unit, filter.columns(), request, &fetched)?;
            for rows in parsed {
                bits.append_buffer(&filter.may_match(&rows?)?);
            }
            let bits = bits.finish();
            if bits.count_set_bits() == 0 {
                return Ok(None);
            }
            passed = Some(bits);
        }
        let action = selection.action;
        let request = self
            .file
            .request(unit, action, &selection.columns, passed.as_ref());
        fetch(storage, &self.path, &request, &mut fetched)?;
        self.file.read(unit, action, request, &fetched).map(Some)
    }
}

/// Decoded rows that do not fill a batch yet.
#[derive(Default)]
struct PendingBatch {
    parts: Vec<(FileRows, SelectedRows)>,
    keys: Vec<FileActionKey>,
    rows: usize,
}

impl PendingBatch {
    /// Adds rows, without those of other actions and those that the tail hides.
    fn push(&mut self, rows: FileRows, selection: &Selection, keys: &Keys) -> Result<()> {
        let present = rows.present();
        let live = if selection.tail_keys.is_empty() && !selection.with_keys {
            present
        } else {
            let mut live = BooleanBufferBuilder::new(present.len());
            live.append_buffer(&present);
            keys.visit(rows.path(), rows.vector(), &mut |row, key| {
                if selection.tail_keys.contains(&key) {
                    live.set_bit(row, false);
                } else if selection.with_keys {
                    self.keys.push(key);
                }
            })?;
            live.finish()
        };
        let keep = SelectedRows::new(live);
        self.rows += keep.num_rows();
        if keep.num_rows() > 0 {
            self.parts.push((rows, keep));
        }
        Ok(())
    }

    fn finish(&mut self, selection: &Selection) -> Result<KeyedRows> {
        self.rows = 0;
        let parts = std::mem::take(&mut self.parts);
        Ok(KeyedRows {
            rows: FileRows::take(&parts, &selection.columns, &selection.stats_shape)?,
            keys: std::mem::take(&mut self.keys),
        })
    }
}

/// Reads the control actions of the checkpoint's own files, without sidecars, and passes each opened Parquet
/// file to `opened`; a JSON manifest is returned as its path and its bytes.
fn open_own_files(
    source: &Source,
    instance: &CheckpointInstance,
    rows: Option<RowsToPrefetch>,
    opened: &mut dyn FnMut(OpenFile),
) -> Result<(Control, Option<(String, Bytes)>)> {
    if instance.name == (CheckpointName::Uuid { json: true }) {
        let path = instance.path().to_owned();
        let bytes = read_manifest(&*source.storage, &path)?;
        let size = instance.files.first().map_or(0, |file| file.size);
        check_complete(&path, bytes.len(), size)?;
        let control = manifest_control(&bytes).map_err(|error| error.at_path(path.clone()))?;
        return Ok((control, Some((path, bytes))));
    }
    let mut control = Control::default();
    let parts = instance
        .files
        .iter()
        .map(|file| (file.path.clone(), Some(file.size)))
        .collect();
    for file in open_files(source, parts, true, rows) {
        let (file, part) = file?;
        opened(file);
        merge(&mut control, part);
    }
    Ok((control, None))
}

/// The maximum size of a JSON manifest: larger checkpoints have sidecars, or are in Parquet.
const MAX_MANIFEST_BYTES: u64 = 512 << 20;

fn read_manifest(storage: &dyn Storage, path: &str) -> Result<Bytes> {
    storage.read_at_most(path, MAX_MANIFEST_BYTES)
}

fn manifest_control(bytes: &[u8]) -> Result<Control> {
    let mut decoder = ActionDecoder::new(ActionSelection {
        control: true,
        ..ActionSelection::default()
    });
    decoder.decode(bytes)?;
    let mut batch = decoder.finish()?;
    Ok(Control {
        protocol: batch.protocols.pop().map(action),
        metadata: batch.metadatas.pop().map(action),
        transactions: batch.transactions.into_iter().map(action).collect(),
        domains: batch.domains.into_iter().map(action).collect(),
        sidecars: batch.sidecars,
    })
}

fn action<T>((_, action): Positioned<T>) -> T {
    action
}

fn merge(control: &mut Control, part: Control) {
    control.protocol = part.protocol.or(control.protocol.take());
    control.metadata = part.metadata.or(control.metadata.take());
    control.transactions.extend(part.transactions);
    control.domains.extend(part.domains);
    control.sidecars.extend(part.sidecars);
}

/// Returns the paths of the sidecars and the sizes in the manifest; each file once.
fn sidecar_paths(
    source: &Source,
    sidecars: &[Sidecar],
    manifest: &str,
) -> Result<Vec<(String, Option<u64>)>> {
    let mut paths: Vec<(String, Option<u64>)> = Vec::with_capacity(sidecars.len());
    let mut seen = HashSet::with_capacity(sidecars.len());
    for sidecar in sidecars {
        let path = source
            .resolver
            .resolve(SIDECAR_DIRECTORY, &sidecar.path)
            .map_err(|error| error.at_path(manifest))?;
        let size = u64::try_from(sidecar.size_in_bytes).ok();
        let path = path.into_owned();
        if seen.insert(path.clone()) {
            paths.push((path, size.filter(|size| *size > 0)));
        }
    }
    Ok(paths)
}

fn open_files(
    source: &Source,
    files: Vec<(String, Option<u64>)>,
    with_control: bool,
    rows: Option<RowsToPrefetch>,
) -> impl Iterator<Item = Result<(OpenFile, Control)>> {
    let storage = Arc::clone(&source.storage);
    let look_ahead = files.len().clamp(1, 64);
    ordered(
        files,
        look_ahead,
        move |(path, size): (String, Option<u64>)| {
            open_file(&*storage, &path, size, with_control, rows.as_ref())
                .map_err(|error| error.at_path(path.clone()))
        },
    )
}

fn open_file(
    storage: &dyn Storage,
    path: &str,
    size: Option<u64>,
    with_control: bool,
    rows: Option<&RowsToPrefetch>,
) -> Result<(OpenFile, Control)> {
    let open = |length| {
        let footer = read_footer(storage, path, length, CheckpointFile::FOOTER)?;
        CheckpointFile::new(footer.metadata, length)
    };
    let file = match size.map(open) {
        Some(Ok(file)) => file,
        // the size in the manifest may be wrong: query the storage before giving up
        Some(Err(error)) => match storage.head(path)?.size {
            actual if Some(actual) == size => return Err(error),
            actual => open(actual)?,
        },
        None => open(storage.head(path)?.size)?,
    };
    let mut control = Control::default();
    let requests = if with_control {
        file.request_control()
    } else {
        Vec::new()
    };
    if let (Some(rows), Some(cache)) = (rows, storage.log_cache()) {
        let unfetched = file.unfetched();
        let control_ranges = requests
            .iter()
            .flat_map(|(_, request)| request.missing(&unfetched));
        let ranges = control_ranges.chain(rows.ranges(&file));
        let ranges: Vec<_> = ranges.map(|range| (path.to_owned(), Some(range))).collect();
        cache.prefetch(&ranges);
    }
    for (unit, request) in requests {
        let mut fetched = file.unfetched();
        fetch(storage, path, &request, &mut fetched)?;
        file.read_control(&unit, request, &fetched, &mut control)?;
    }
    Ok((
        OpenFile {
            path: path.to_owned(),
            file,
            bytes: None,
        },
        control,
    ))
}
