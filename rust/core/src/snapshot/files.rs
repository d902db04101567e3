//! The live files of a snapshot: kept, streamed, or only counted; and its tombstones.
//!
//! The tail is decoded into keys and columns, newest first; the checkpoint's rows then need one look
//! each. Nothing here is as large as the table but the rows that the caller asked to keep.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;

use super::columns::FileColumns;
use super::{Snapshot, lock};
use crate::codec::checkpoint::FileAction;
use crate::codec::commit::Wanted;
use crate::codec::file_actions::{ADD_FIELDS, FileField, REMOVE_FIELDS, schema_of};
use crate::error::{Error, Result};
use crate::log::LogSegment;
use crate::replay::scatter::Scatter;
use crate::replay::{
    ActiveFiles, Checkpoint, FileActionKey, Grain, KeyedRows, LogState, Reconciler, Selection,
    Source, decode_tail,
};
use crate::spec::actions::{DomainMetadata, SetTransaction};

/// Columns of many files.
#[derive(Clone, Debug)]
pub struct FileTable {
    /// The schema of every batch.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

/// Fields with what a key needs.
pub(super) fn keyed(fields: &[FileField], order: &[FileField]) -> Vec<FileField> {
    let needed = |field: &FileField| {
        fields.contains(field) || matches!(field, FileField::Path | FileField::DeletionVector)
    };
    order.iter().copied().filter(needed).collect()
}

pub(super) fn project(rows: &RecordBatch, fields: &[FileField]) -> Result<RecordBatch> {
    let index = |field: &FileField| rows.schema().index_of(field.name());
    let columns = fields.iter().map(index).collect::<Result<Vec<_>, _>>();
    columns
        .and_then(|columns| rows.project(&columns))
        .map_err(|cause| {
            Error::corrupt("log.columns", "a file action lacks a column").because(cause)
        })
}

/// Live rows as a snapshot has them: that an `add` changed data is news of its commit, not of the
/// state, so `dataChange` is false throughout, as in the reference's snapshots and checkpoints.
pub(super) fn settled(rows: RecordBatch) -> Result<RecordBatch> {
    let Ok(column) = rows.schema_ref().index_of(FileField::DataChange.name()) else {
        return Ok(rows);
    };
    let mut columns = rows.columns().to_vec();
    if let Some(column) = columns.get_mut(column) {
        *column = Arc::new(BooleanArray::new(
            BooleanBuffer::new_unset(rows.num_rows()),
            None,
        ));
    }
    RecordBatch::try_new(rows.schema(), columns).map_err(|cause| {
        Error::corrupt("log.columns", "a file action lacks a column").because(cause)
    })
}

/// A segment replayed down to its checkpoint, whose rows are still to come.
struct Replay {
    /// Live adds of the tail, newest batch first.
    adds: Vec<(RecordBatch, Vec<FileActionKey>)>,
    /// Tombstones of the tail.
    removes: Vec<RecordBatch>,
    checkpoint: Option<Checkpoint>,
    hidden: Arc<crate::replay::KeySet>,
    state: LogState,
}

impl Replay {
    fn new(
        source: &Source,
        segment: &LogSegment,
        adds: &[FileField],
        removes: &[FileField],
    ) -> Result<Self> {
        let checkpoint = segment
            .checkpoint
            .as_ref()
            .map(|checkpoint| Checkpoint::open(source, checkpoint))
            .transpose()?;
        let wanted = Wanted {
            adds: Some(keyed(adds, &ADD_FIELDS)),
            removes: Some(keyed(removes, &REMOVE_FIELDS)),
            control: true,
            ..Wanted::default()
        };
        let batches = decode_tail(&source.storage, &segment.tail, &wanted)?;
        let mut state = checkpoint
            .as_ref()
            .map(|checkpoint| LogState::of_checkpoint(checkpoint.control()))
            .unwrap_or_default();
        batches.iter().for_each(|batch| state.newer(batch));
        let mut reconciler = Reconciler::new(source.keys.clone());
        let mut replay = Self {
            adds: Vec::new(),
            removes: Vec::new(),
            checkpoint,
            hidden: Arc::default(),
            state,
        };
        for batch in batches.into_iter().rev() {
            let live = reconciler.older(&batch)?;
            if let Some(rows) = live.adds {
                replay
                    .adds
                    .push((settled(project(&rows, adds)?)?, live.add_keys));
            }
            if let Some(rows) = live.removes {
                replay.removes.push(project(&rows, removes)?);
            }
        }
        replay.hidden = Arc::new(reconciler.into_seen());
        Ok(replay)
    }

    /// `kept`: the rows stay in memory, with their keys, in few large batches.
    fn selection(&self, action: FileAction, fields: &[FileField], kept: bool) -> Selection {
        Selection {
            action,
            fields: fields.to_vec(),
            hidden: Arc::clone(&self.hidden),
            with_keys: kept,
            grain: if kept { Grain::KEPT } else { Grain::STREAMED },
        }
    }
}

/// The sum of a column of sizes; `None` when the column is not there.
fn total_size(rows: &RecordBatch) -> Option<u64> {
    let sizes = rows
        .column_by_name("size")?
        .as_primitive_opt::<Int64Type>()?;
    Some(
        sizes
            .iter()
            .flatten()
            .map(|size| u64::try_from(size).unwrap_or_default())
            .sum(),
    )
}

impl Snapshot {
    /// The live files with these columns; kept, so that asking again costs nothing.
    pub fn files(&self, source: &Source, columns: &FileColumns) -> Result<FileTable> {
        let files = self.active_files(source, &columns.fields())?;
        if columns.are(files.fields()) {
            return Ok(FileTable {
                schema: columns.schema(),
                batches: files.batches(),
            });
        }
        let batches = files
            .batches()
            .iter()
            .map(|rows| columns.of(rows))
            .collect::<Result<Vec<_>>>()?;
        Ok(FileTable {
            schema: columns.schema(),
            batches,
        })
    }

    /// The kept files, if they have these fields.
    fn kept_files(&self, fields: &[FileField]) -> Option<Arc<ActiveFiles>> {
        let kept = lock(&self.0.files).clone()?;
        fields
            .iter()
            .all(|field| kept.fields().contains(field))
            .then_some(kept)
    }

    fn active_files(&self, source: &Source, fields: &[FileField]) -> Result<Arc<ActiveFiles>> {
        if let Some(kept) = self.kept_files(fields) {
            return Ok(kept);
        }
        let before = lock(&self.0.files).clone();
        let before = before
            .as_ref()
            .map(|kept| kept.fields())
            .unwrap_or_default();
        let fields: Vec<FileField> = ADD_FIELDS
            .into_iter()
            .filter(|field| fields.contains(field) || before.contains(field))
            .collect();
        let files = Arc::new(self.recovering(source, |segment| {
            self.replay_files(source, segment, &fields)
        })?);
        *lock(&self.0.files) = Some(Arc::clone(&files));
        Ok(files)
    }

    fn replay_files(
        &self,
        source: &Source,
        segment: &LogSegment,
        fields: &[FileField],
    ) -> Result<ActiveFiles> {
        let mut replay = Replay::new(source, segment, fields, &[])?;
        self.verify_state(&replay.state)?;
        let mut files = ActiveFiles::new(fields.to_vec());
        if let Some(checkpoint) = &replay.checkpoint {
            let selection = replay.selection(FileAction::Add, fields, true);
            let mut chunks = checkpoint.rows(&selection)?.collect::<Result<Vec<_>>>()?;
            chunks.sort_by_key(|(unit, _)| *unit); // stable: rows of a unit come in order
            for (_, KeyedRows { rows, keys }) in chunks {
                files.push(settled(rows)?, keys)?;
            }
            if let Some(KeyedRows { rows, keys }) = checkpoint.inline_rows(&selection)? {
                files.push(settled(rows)?, keys)?;
            }
        }
        for (rows, keys) in std::mem::take(&mut replay.adds).into_iter().rev() {
            files.push(rows, keys)?;
        }
        self.verify_files(&files)?;
        lock(&self.0.state).get_or_insert_with(|| Arc::new(replay.state));
        Ok(files)
    }

    pub(super) fn verify_files(&self, files: &ActiveFiles) -> Result<()> {
        let sizes = files.batches().iter().map(total_size).sum::<Option<u64>>();
        let sizes = sizes.filter(|_| files.fields().contains(&FileField::Size));
        self.verify_totals(files.num_rows() as u64, sizes)
            .map_err(|error| self.located(error))
    }

    /// The live files with these columns, batch by batch, nothing kept. The order is not defined.
    pub fn file_batches(&self, source: &Source, columns: FileColumns) -> Result<FileBatches> {
        let fields = columns.fields();
        let mut batches = FileBatches {
            schema: columns.schema(),
            columns,
            snapshot: self.clone(),
            ready: VecDeque::new(),
            stream: None,
            num_files: 0,
            size_in_bytes: fields.contains(&FileField::Size).then_some(0),
            done: false,
        };
        if let Some(kept) = self.kept_files(&fields) {
            batches.ready = kept.batches().into();
            return Ok(batches);
        }
        let (replay, inline, stream) = self.recovering(source, |segment| {
            let replay = Replay::new(source, segment, &fields, &[])?;
            self.verify_state(&replay.state)?;
            let selection = replay.selection(FileAction::Add, &fields, false);
            let inline = replay
                .checkpoint
                .as_ref()
                .map(|checkpoint| checkpoint.inline_rows(&selection))
                .transpose()?;
            let stream = replay
                .checkpoint
                .as_ref()
                .map(|checkpoint| checkpoint.rows(&selection))
                .transpose()?;
            Ok((replay, inline.flatten(), stream))
        })?;
        batches
            .ready
            .extend(replay.adds.into_iter().map(|(rows, _)| rows));
        batches
            .ready
            .extend(inline.map(|inline| settled(inline.rows)).transpose()?);
        batches.stream = stream;
        lock(&self.0.state).get_or_insert_with(|| Arc::new(replay.state));
        Ok(batches)
    }

    /// The number of live files: from the checksum, from what is kept, or by replay.
    pub fn num_files(&self, source: &Source) -> Result<u64> {
        if let Some(kept) = self.kept_files(&[]) {
            return Ok(kept.num_rows() as u64);
        }
        match self.checksum_answers(|values| values.num_files) {
            Some(known) => Ok(known),
            None => self.totals(source).map(|(files, _)| files),
        }
    }

    /// The total size of the live files in bytes, likewise.
    pub fn size_in_bytes(&self, source: &Source) -> Result<u64> {
        if let Some(kept) = self.kept_files(&[FileField::Size]) {
            return Ok(kept.batches().iter().filter_map(total_size).sum());
        }
        match self.checksum_answers(|values| values.table_size_bytes) {
            Some(known) => Ok(known),
            None => self.totals(source).map(|(_, size)| size),
        }
    }

    fn checksum_answers<T>(
        &self,
        value: impl Fn(&crate::codec::version_checksum::VersionChecksum) -> Option<T>,
    ) -> Option<T> {
        self.0
            .checksum
            .as_ref()
            .filter(|checksum| checksum.answers)
            .and_then(|checksum| value(&checksum.values))
    }

    fn totals(&self, source: &Source) -> Result<(u64, u64)> {
        let columns = FileColumns::fields_only(&[FileField::Size]);
        let mut totals = (0, 0);
        for batch in self.file_batches(source, columns)? {
            let batch = batch?;
            totals.0 += batch.num_rows() as u64;
            totals.1 += total_size(&batch).unwrap_or_default();
        }
        Ok(totals)
    }

    /// The live tombstones: removed files that the retention period still protects.
    pub fn tombstones(&self, source: &Source) -> Result<FileTable> {
        let cutoff = now().saturating_sub(self.properties().deleted_file_retention);
        let batches = self.recovering(source, |segment| {
            let replay = Replay::new(source, segment, &[], &REMOVE_FIELDS)?;
            let mut batches = Vec::new();
            if let Some(checkpoint) = &replay.checkpoint {
                let selection = replay.selection(FileAction::Remove, &REMOVE_FIELDS, false);
                let mut chunks = checkpoint.rows(&selection)?.collect::<Result<Vec<_>>>()?;
                chunks.sort_by_key(|(unit, _)| *unit);
                batches.extend(chunks.into_iter().map(|(_, chunk)| chunk.rows));
                batches.extend(
                    checkpoint
                        .inline_rows(&selection)?
                        .map(|inline| inline.rows),
                );
            }
            batches.extend(replay.removes.iter().rev().cloned());
            let kept = batches
                .iter()
                .map(|rows| unexpired(rows, cutoff))
                .collect::<Result<Vec<_>>>()?;
            Ok(kept
                .into_iter()
                .filter(|rows| rows.num_rows() > 0)
                .collect())
        })?;
        Ok(FileTable {
            schema: schema_of(&REMOVE_FIELDS),
            batches,
        })
    }

    /// The latest transaction of each application, without those that have expired.
    pub fn transactions(&self, source: &Source) -> Result<Vec<SetTransaction>> {
        let known = self.checksum_answers(|values| values.set_transactions.clone());
        let all = match known {
            Some(known) if lock(&self.0.state).is_none() => known,
            _ => self.state(source)?.transactions.values().cloned().collect(),
        };
        let Some(retention) = self.properties().set_transaction_retention else {
            return Ok(all);
        };
        let cutoff = now().saturating_sub(retention);
        Ok(all
            .into_iter()
            .filter(|txn| txn.last_updated.is_some_and(|updated| updated > cutoff))
            .collect())
    }

    /// The live domains.
    pub fn domain_metadata(&self, source: &Source) -> Result<Vec<DomainMetadata>> {
        match self.checksum_answers(|values| values.domain_metadata.clone()) {
            Some(known) if lock(&self.0.state).is_none() => {
                Ok(known.into_iter().filter(|domain| !domain.removed).collect())
            }
            _ => Ok(self.state(source)?.domains.values().cloned().collect()),
        }
    }

    fn state(&self, source: &Source) -> Result<Arc<LogState>> {
        if let Some(state) = lock(&self.0.state).as_ref() {
            return Ok(Arc::clone(state));
        }
        let state = self.recovering(source, |segment| super::load::read_state(source, segment))?;
        self.verify_state(&state)
            .map_err(|error| self.located(error))?;
        let state = Arc::new(state);
        *lock(&self.0.state) = Some(Arc::clone(&state));
        Ok(state)
    }
}

fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Tombstones younger than the cutoff; one without a time counts as expired.
fn unexpired(rows: &RecordBatch, cutoff: i64) -> Result<RecordBatch> {
    let lacks = || Error::corrupt("log.columns", "tombstones lack their deletionTimestamp");
    let times = rows
        .column_by_name("deletionTimestamp")
        .and_then(|times| times.as_primitive_opt::<Int64Type>());
    let times = times.ok_or_else(lacks)?;
    let mask: BooleanArray = times
        .iter()
        .map(|time| Some(time.unwrap_or(0) > cutoff))
        .collect();
    arrow_select::filter::filter_record_batch(rows, &mask).map_err(|cause| {
        Error::corrupt("log.columns", "the tombstones cannot be filtered").because(cause)
    })
}

/// Live files, batch by batch.
pub struct FileBatches {
    schema: SchemaRef,
    columns: FileColumns,
    snapshot: Snapshot,
    ready: VecDeque<RecordBatch>,
    stream: Option<Scatter<KeyedRows>>,
    num_files: u64,
    size_in_bytes: Option<u64>,
    done: bool,
}

impl FileBatches {
    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn pull(&mut self) -> Option<Result<RecordBatch>> {
        let streamed = self.stream.as_mut().and_then(Iterator::next);
        let next = streamed
            .map(|next| next.and_then(|(_, keyed)| settled(keyed.rows)))
            .or_else(|| self.ready.pop_front().map(Ok));
        let Some(next) = next else {
            let total = self
                .snapshot
                .verify_totals(self.num_files, self.size_in_bytes);
            return total.err().map(|error| Err(self.snapshot.located(error)));
        };
        Some(next.and_then(|rows| {
            self.num_files += rows.num_rows() as u64;
            self.size_in_bytes = self
                .size_in_bytes
                .zip(total_size(&rows))
                .map(|(sum, size)| sum + size);
            self.columns.of(&rows)
        }))
    }
}

impl Iterator for FileBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.pull();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
