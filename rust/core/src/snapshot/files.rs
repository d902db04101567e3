//! The live files of a snapshot, cached or only counted; and its tombstones.
//!
//! The tail is decoded into keys and columns, newest first; each row of the checkpoint is then looked up
//! once. Only the rows that the caller keeps take memory in proportion to the table.

use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;

use super::Snapshot;
use super::segment_replay::{LiveRequest, Replay, Totals, select_rows, total_size};
use crate::codec::checkpoint::FileAction;
use crate::codec::columns::{TypedColumns, filter_rows};
use crate::codec::file_actions::{FileField, REMOVE_FIELDS, schema_of};
use crate::codec::file_columns::FileColumns;
use crate::codec::version_checksum::VersionChecksum;
use crate::error::Result;
use crate::log::LogSegment;
use crate::replay::{ActiveFiles, BatchSizes, FileFilter, Source};
use crate::spec::{DomainMetadata, SetTransaction};
use crate::storage::now;
use crate::storage::pool::ordered;

/// Columns of many files.
#[derive(Clone, Debug)]
pub struct FileTable {
    /// The schema of every batch.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

impl Snapshot {
    /// Returns the live files with these columns, without those that `filter` skips. Without a filter, all
    /// of them are cached, so that further calls cost nothing.
    pub fn files(
        &self,
        source: &Source,
        columns: &FileColumns,
        filter: Option<&Arc<FileFilter>>,
    ) -> Result<FileTable> {
        let schema = columns.schema();
        let Some(filter) = filter else {
            let files = self.active_files(source, &columns.sources())?;
            let batches = files.batches();
            let batches = if files.columns() == columns {
                batches
            } else {
                with_derived_columns(batches, columns)?
            };
            return Ok(FileTable { schema, batches });
        };
        let request = LiveRequest {
            columns: columns.clone(),
            filter: Some(Arc::clone(filter)),
        };
        let batches = match self.cached_and_filtered(source, &request)? {
            Some(batches) => with_derived_columns(batches, columns)?,
            None => self.with_fallback(source, |segment| {
                let replay =
                    Replay::new(self, source, segment, &request, &[], BatchSizes::STREAMED)?;
                self.verify_state(&replay.state)?;
                let rows = replay.rows(&request, false)?;
                self.0.cache.keep_state(replay.state);
                Ok(rows.into_iter().map(|keyed| keyed.rows).collect())
            })?,
        };
        Ok(FileTable { schema, batches })
    }

    /// Returns the cached files that pass the filter; `None` if none are cached. The columns of the filter
    /// are added to the cache, so that the next filter on them decodes nothing.
    pub(super) fn cached_and_filtered(
        &self,
        source: &Source,
        request: &LiveRequest,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let Some(filter) = &request.filter else {
            return Ok(None);
        };
        if self.cached_files(&FileColumns::default()).is_none() {
            return Ok(None);
        }
        let columns = request.columns.sources().merged(filter.columns());
        let files = self.active_files(source, &columns)?;
        let filtered = |rows: &RecordBatch| select_rows(rows, filter.may_match(rows)?);
        let batches = files
            .batches()
            .iter()
            .map(filtered)
            .collect::<Result<Vec<_>>>()?;
        Ok(Some(batches))
    }

    /// Returns the cached files, if they have these columns.
    pub(super) fn cached_files(&self, columns: &FileColumns) -> Option<Arc<ActiveFiles>> {
        self.0
            .cache
            .files()
            .filter(|files| files.columns().covers(columns))
    }

    fn active_files(&self, source: &Source, columns: &FileColumns) -> Result<Arc<ActiveFiles>> {
        if let Some(cached) = self.cached_files(columns) {
            return Ok(cached);
        }
        let cached = self.0.cache.files();
        let columns = match &cached {
            Some(cached) => cached.columns().merged(columns),
            None => columns.clone(),
        };
        let extended = cached.map(|files| files.with_columns(&columns)).transpose();
        let files = match extended.map_err(|error| self.located(error))?.flatten() {
            Some(files) => files,
            None => self.with_fallback(source, |segment| {
                self.replay_files(source, segment, &columns)
            })?,
        };
        Ok(self.0.cache.keep_files(files))
    }

    fn replay_files(
        &self,
        source: &Source,
        segment: &LogSegment,
        columns: &FileColumns,
    ) -> Result<ActiveFiles> {
        let request = LiveRequest::unfiltered(columns.clone());
        let replay = Replay::new(self, source, segment, &request, &[], BatchSizes::KEPT)?;
        self.verify_state(&replay.state)?;
        let mut files = ActiveFiles::new(columns.clone());
        for keyed in replay.rows(&request, true)? {
            files.push(keyed.rows, keyed.keys)?;
        }
        self.verify_files(&files)?;
        self.0.cache.keep_state(replay.state);
        Ok(files)
    }

    pub(super) fn verify_files(&self, files: &ActiveFiles) -> Result<()> {
        let sizes = files.batches().iter().map(total_size).sum::<Option<u64>>();
        let sizes = sizes.filter(|_| files.columns().has(FileField::Size));
        self.verify_totals(files.num_rows() as u64, sizes)
            .map_err(|error| self.located(error))
    }

    /// Returns the number of live files: from the cache, from the checksum, or by replay.
    pub fn num_files(&self, source: &Source) -> Result<u64> {
        match self.known_num_files() {
            Some(known) => Ok(known),
            None => self.totals(source).map(|totals| totals.num_files),
        }
    }

    /// Returns the total size of the live files in bytes: from the cache, from the checksum, or by replay.
    pub fn size_in_bytes(&self, source: &Source) -> Result<u64> {
        if let Some(cached) = self.cached_files(&FileColumns::fields_only(&[FileField::Size])) {
            return Ok(cached.batches().iter().filter_map(total_size).sum());
        }
        match self.checksum_value(|values| values.table_size_bytes) {
            Some(known) => Ok(known),
            None => self.totals(source).map(|totals| totals.size_in_bytes),
        }
    }

    /// Returns the number of live files, if it is known without reading them.
    pub fn known_num_files(&self) -> Option<u64> {
        match self.cached_files(&FileColumns::default()) {
            Some(cached) => Some(cached.num_rows() as u64),
            None => self.checksum_value(|values| values.num_files),
        }
    }

    /// Returns the version checksum, if there is one and the log does not contradict it.
    pub fn checksum(&self) -> Option<VersionChecksum> {
        self.checksum_value(|values| Some(values.clone()))
    }

    fn checksum_value<T>(&self, value: impl Fn(&VersionChecksum) -> Option<T>) -> Option<T> {
        self.0
            .checksum
            .as_ref()
            .filter(|checksum| checksum.is_trusted && !self.0.cache.is_contradicted())
            .and_then(|checksum| value(&checksum.values))
    }

    fn totals(&self, source: &Source) -> Result<Totals> {
        if let Some(totals) = self.0.cache.totals() {
            return Ok(totals);
        }
        let columns = FileColumns::fields_only(&[FileField::Size]);
        let mut totals = Totals::default();
        for batch in self.file_batches(source, columns, None)? {
            totals.add(&batch?);
        }
        self.0.cache.keep_totals(totals);
        Ok(totals)
    }

    /// Returns the live tombstones: removed files that the retention period still protects.
    pub fn tombstones(&self, source: &Source) -> Result<FileTable> {
        let cutoff = now().saturating_sub(self.properties().deleted_file_retention);
        self.tombstones_since(source, cutoff)
    }

    /// Returns removed files with a later `deletionTimestamp` than this, if the log still has them: a
    /// checkpoint has those that the retention period protected when it was written.
    pub fn tombstones_since(&self, source: &Source, cutoff: i64) -> Result<FileTable> {
        let batches = self.with_fallback(source, |segment| {
            let fields = &REMOVE_FIELDS;
            let live = LiveRequest::default();
            let replay = Replay::new(self, source, segment, &live, fields, BatchSizes::STREAMED)?;
            let request = LiveRequest::unfiltered(FileColumns::fields_only(fields));
            let selection = replay.selection(FileAction::Remove, &request, false);
            let of_checkpoint = replay.checkpoint_rows(&selection)?.into_iter();
            let of_tail = replay.removes.iter().rev().cloned();
            let removed = of_checkpoint.map(|keyed| keyed.rows).chain(of_tail);
            let unexpired = removed.map(|rows| unexpired(&rows, cutoff));
            let mut batches = unexpired.collect::<Result<Vec<_>>>()?;
            batches.retain(|rows| rows.num_rows() > 0);
            Ok(batches)
        })?;
        Ok(FileTable {
            schema: schema_of(&REMOVE_FIELDS),
            batches,
        })
    }

    /// Returns the latest transaction of each application, without expired ones.
    pub fn transactions(&self, source: &Source) -> Result<Vec<SetTransaction>> {
        let checksummed = self.checksum_value(|values| values.set_transactions.clone());
        let all = match checksummed {
            Some(transactions) if self.0.cache.state().is_none() => transactions,
            _ => self.state(source)?.transactions.values().cloned().collect(),
        };
        let Some(retention) = self.properties().set_transaction_retention else {
            return Ok(all);
        };
        let cutoff = now().saturating_sub(retention);
        Ok(all
            .into_iter()
            .filter(|txn| txn.last_updated > Some(cutoff))
            .collect())
    }

    /// Returns the live domains.
    pub fn domain_metadata(&self, source: &Source) -> Result<Vec<DomainMetadata>> {
        match self.checksum_value(|values| values.domain_metadata.clone()) {
            Some(domains) if self.0.cache.state().is_none() => Ok(domains
                .into_iter()
                .filter(|domain| !domain.removed)
                .collect()),
            _ => Ok(self.state(source)?.domains.values().cloned().collect()),
        }
    }

    /// Returns the configuration of a live domain, or `None` if there is none of this name.
    pub fn domain_configuration(&self, source: &Source, name: &str) -> Result<Option<String>> {
        let mut domains = self.domain_metadata(source)?.into_iter();
        let domain = domains.find(|domain| domain.domain == name);
        Ok(domain.map(|domain| domain.configuration))
    }
}

/// Computes these columns from cached rows.
fn with_derived_columns(
    batches: Vec<RecordBatch>,
    columns: &FileColumns,
) -> Result<Vec<RecordBatch>> {
    let look_ahead = batches.len();
    let columns = columns.clone();
    ordered(batches, look_ahead, move |rows: RecordBatch| {
        columns.compute(&rows)
    })
    .collect()
}

/// Returns the tombstones younger than the cutoff; those without a timestamp count as expired.
pub(super) fn unexpired(rows: &RecordBatch, cutoff: i64) -> Result<RecordBatch> {
    let times: &Int64Array = rows.typed("deletionTimestamp")?;
    let mask: BooleanArray = times
        .iter()
        .map(|time| Some(time.unwrap_or(0) > cutoff))
        .collect();
    filter_rows(rows, &mask)
}
