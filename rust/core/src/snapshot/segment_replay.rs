//! A segment replayed for one snapshot: the tail's live rows, and the state needed for the checkpoint's
//! rows.

use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::Fields;

use super::Snapshot;
use super::columns::TableColumns;
use crate::codec::checkpoint::FileAction;
use crate::codec::columns::{TypedColumns, columns_mismatch, filter_rows, project};
use crate::codec::commit::ActionSelection;
use crate::codec::file_actions::{ADD_FIELDS, FileField, REMOVE_FIELDS};
use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::log::commit::MAX_WHOLE_FILE_BYTES;
use crate::log::{LogSegment, TailFile};
use crate::replay::{
    BatchSizes, Checkpoint, FileActionKey, FileFilter, KeySet, KeyedRows, LogState, Reconciler,
    RowsToPrefetch, Selection, Source, decode_tail, opening_ranges,
};
use crate::storage::pool::Unordered;

/// Returns the fields together with those of the key.
pub(super) fn with_key_fields(fields: &[FileField], order: &[FileField]) -> Vec<FileField> {
    let needed = |field: &FileField| {
        fields.contains(field) || matches!(field, FileField::Path | FileField::DeletionVector)
    };
    order.iter().copied().filter(needed).collect()
}

/// Sets `dataChange` of live rows to false, as in delta-spark's snapshots and checkpoints: it describes
/// the commit, not the state.
pub(super) fn without_data_change(rows: RecordBatch) -> Result<RecordBatch> {
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
    RecordBatch::try_new(rows.schema(), columns).map_err(columns_mismatch)
}

/// The requested live files, and their columns.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveRequest {
    pub(super) columns: FileColumns,
    pub(super) filter: Option<Arc<FileFilter>>,
}

impl LiveRequest {
    pub(super) fn unfiltered(columns: FileColumns) -> Self {
        Self {
            columns,
            filter: None,
        }
    }

    /// Returns the fields to decode in the tail, whose rows are filtered after decoding.
    pub(super) fn fields_to_decode(&self) -> Vec<FileField> {
        match &self.filter {
            Some(filter) => self.columns.merged(filter.columns()).fields(),
            None => self.columns.fields(),
        }
    }

    /// Returns the part of a checkpoint to read first.
    fn rows_ahead(&self, removes: &[FileField], sizes: BatchSizes) -> RowsToPrefetch {
        let (action, columns, for_filter) = match &self.filter {
            Some(filter) => (FileAction::Add, filter.columns().clone(), true),
            None if removes.is_empty() => (FileAction::Add, self.columns.clone(), false),
            None => (FileAction::Remove, FileColumns::fields_only(removes), false),
        };
        RowsToPrefetch {
            action,
            columns,
            for_filter,
            sizes,
        }
    }

    /// Selects the requested rows of the tail's live rows.
    fn select(&self, rows: &RecordBatch, keys: Vec<FileActionKey>) -> Result<KeyedRows> {
        let Some(filter) = &self.filter else {
            let rows = without_data_change(self.columns.compute(rows)?)?;
            return Ok(KeyedRows { rows, keys });
        };
        let passed = filter.may_match(&filter.columns().compute(rows)?)?;
        let keys = keys.into_iter().zip(&passed);
        let keys = keys.filter(|(_, passed)| *passed);
        let keys = keys.map(|(key, _)| key).collect();
        let columns = self.columns.compute(&select_rows(rows, passed.clone())?)?;
        let rows = without_data_change(columns)?;
        Ok(KeyedRows { rows, keys })
    }
}

/// Returns the rows whose bit is set.
pub(super) fn select_rows(rows: &RecordBatch, bits: BooleanBuffer) -> Result<RecordBatch> {
    filter_rows(rows, &BooleanArray::new(bits, None))
}

/// Starts to fetch the files of the tail, except large ones, and the ranges with which the checkpoint is opened.
pub(crate) fn prefetch(source: &Source, segment: &LogSegment) {
    let Some(cache) = source.storage.log_cache() else {
        return;
    };
    let is_small = |file: &&TailFile| file.file.size <= MAX_WHOLE_FILE_BYTES;
    let tail = segment.tail.iter().filter(is_small);
    let mut paths: Vec<_> = tail.map(|file| (file.file.path.clone(), None)).collect();
    if let Some(checkpoint) = &segment.checkpoint {
        paths.extend(opening_ranges(checkpoint));
    }
    cache.prefetch(&paths);
}

/// A replayed tail, and the checkpoint below it.
pub(super) struct Replay {
    /// Live adds of the tail, newest batch first.
    pub(super) adds: Vec<KeyedRows>,
    /// Tombstones of the tail.
    pub(super) removes: Vec<RecordBatch>,
    checkpoint: Option<Checkpoint>,
    tail_keys: Arc<KeySet>,
    pub(super) state: LogState,
    stats_shape: Fields,
}

impl Replay {
    pub(super) fn new(
        snapshot: &Snapshot,
        source: &Source,
        segment: &LogSegment,
        request: &LiveRequest,
        removes: &[FileField],
        sizes: BatchSizes,
    ) -> Result<Self> {
        prefetch(source, segment);
        let ahead = request.rows_ahead(removes, sizes);
        let checkpoint = segment
            .checkpoint
            .as_ref()
            .map(|checkpoint| Checkpoint::open(source, checkpoint, Some(ahead)))
            .transpose()?;
        Self::over_checkpoint(checkpoint, snapshot, source, segment, request, removes)
    }

    /// Replays the tail; without a checkpoint, the state is that of the tail alone.
    pub(super) fn over_checkpoint(
        checkpoint: Option<Checkpoint>,
        snapshot: &Snapshot,
        source: &Source,
        segment: &LogSegment,
        request: &LiveRequest,
        removes: &[FileField],
    ) -> Result<Self> {
        let decoded = ActionSelection {
            adds: Some(with_key_fields(&request.fields_to_decode(), &ADD_FIELDS)),
            removes: Some(with_key_fields(removes, &REMOVE_FIELDS)),
            control: true,
            ..ActionSelection::default()
        };
        let batches = decode_tail(&source.storage, &segment.tail, &decoded)?;
        let mut state = checkpoint
            .as_ref()
            .map(|checkpoint| LogState::of_checkpoint(checkpoint.control()))
            .unwrap_or_default();
        batches.iter().for_each(|batch| state.apply(batch));
        let mut reconciler = Reconciler::new(source.keys.clone());
        let mut replay = Self {
            adds: Vec::new(),
            removes: Vec::new(),
            checkpoint,
            tail_keys: Arc::default(),
            state,
            // there are no typed statistics if the schema lacks physical names
            stats_shape: TableColumns::of(snapshot).stats_shape().unwrap_or_default(),
        };
        for batch in batches.into_iter().rev() {
            let live = reconciler.add_older(&batch)?;
            if let Some(rows) = live.adds {
                replay.adds.push(request.select(&rows, live.add_keys)?);
            }
            if let Some(rows) = live.removes {
                replay.removes.push(project(&rows, removes)?);
            }
        }
        replay.tail_keys = Arc::new(reconciler.into_seen());
        Ok(replay)
    }

    /// Returns the selection of the checkpoint's rows; with `keep`, they stay in memory, with their keys, in
    /// few large batches.
    pub(super) fn selection(
        &self,
        action: FileAction,
        request: &LiveRequest,
        keep: bool,
    ) -> Selection {
        Selection {
            action,
            columns: request.columns.clone(),
            tail_keys: Arc::clone(&self.tail_keys),
            with_keys: keep,
            stats_shape: self.stats_shape.clone(),
            filter: request.filter.clone(),
            sizes: if keep {
                BatchSizes::KEPT
            } else {
                BatchSizes::STREAMED
            },
            threads: None,
        }
    }

    pub(super) fn into_tail_keys(self) -> Arc<KeySet> {
        self.tail_keys
    }

    /// Returns all requested rows: the checkpoint's in their order, then the tail's, oldest first.
    pub(super) fn rows(&self, request: &LiveRequest, keep: bool) -> Result<Vec<KeyedRows>> {
        let selection = self.selection(FileAction::Add, request, keep);
        let mut all = self.checkpoint_rows(&selection)?;
        for keyed in &mut all {
            keyed.rows = without_data_change(keyed.rows.clone())?;
        }
        all.extend(self.adds.iter().rev().cloned());
        Ok(all)
    }

    /// Returns the selected rows of the checkpoint, in their order.
    pub(super) fn checkpoint_rows(&self, selection: &Selection) -> Result<Vec<KeyedRows>> {
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(Vec::new());
        };
        let mut units = checkpoint.rows(selection)?.collect::<Result<Vec<_>>>()?;
        units.sort_by_key(|(unit, _)| *unit); // stable: rows of a unit come in order
        let rows = units.into_iter().map(|(_, rows)| rows);
        Ok(rows.chain(checkpoint.inline_rows(selection)?).collect())
    }

    /// Streams the selected rows of the checkpoint, in no defined order; those of a JSON manifest are
    /// returned separately.
    pub(super) fn stream_checkpoint(
        &self,
        selection: &Selection,
    ) -> Result<(Option<KeyedRows>, Option<Unordered<KeyedRows>>)> {
        Ok(match &self.checkpoint {
            Some(checkpoint) => (
                checkpoint.inline_rows(selection)?,
                Some(checkpoint.rows(selection)?),
            ),
            None => (None, None),
        })
    }
}

/// The number and the total size of live files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) num_files: u64,
    pub(super) size_in_bytes: u64,
}

impl Totals {
    /// Adds the files of a batch.
    pub(super) fn add(&mut self, rows: &RecordBatch) {
        let size = total_size(rows).unwrap_or_default();
        self.num_files += rows.num_rows() as u64;
        self.size_in_bytes = self.size_in_bytes.saturating_add(size);
    }
}

/// Returns the sum of a column of sizes; `None` if the column does not exist.
pub(super) fn total_size(rows: &RecordBatch) -> Option<u64> {
    let sizes: &Int64Array = rows.typed("size").ok()?;
    Some(
        sizes
            .iter()
            .flatten()
            .map(|size| u64::try_from(size).unwrap_or_default())
            .fold(0, u64::saturating_add),
    )
}
