//! Streams the live files of a snapshot without keeping them.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::Snapshot;
use super::segment_replay::{LiveRequest, Replay, total_size, without_data_change};
use crate::codec::batches::Batches;
use crate::codec::checkpoint::FileAction;
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::replay::{BatchSizes, FileFilter, KeyedRows, Source};
use crate::storage::pool::Unordered;

impl Snapshot {
    /// Returns the live files with these columns, batch by batch, without those that `filter` skips. Caches
    /// none of them; the order is not defined.
    pub fn file_batches(
        &self,
        source: &Source,
        columns: FileColumns,
        filter: Option<&Arc<FileFilter>>,
    ) -> Result<Batches> {
        let sized = columns.has(FileField::Size);
        let schema = columns.schema();
        let mut batches = FileBatches {
            derived: None,
            snapshot: self.clone(),
            ready: VecDeque::new(),
            stream: None,
            totals: filter.is_none().then_some((0, sized.then_some(0))),
        };
        let request = LiveRequest {
            columns,
            filter: filter.cloned(),
        };
        let cached = match filter {
            Some(_) => self.cached_and_filtered(source, &request)?,
            None => self
                .cached_files(&request.columns.sources())
                .map(|files| files.batches()),
        };
        if let Some(cached) = cached {
            batches.ready = cached.into();
            batches.derived = Some(request.columns);
            return Ok(Batches::new(schema, iter::from_fn(move || batches.pull())));
        }
        let (replay, inline, stream) = self.with_fallback(source, |segment| {
            let replay = Replay::new(self, source, segment, &request, &[], BatchSizes::STREAMED)?;
            self.verify_state(&replay.state)?;
            let selection = replay.selection(FileAction::Add, &request, false);
            let (inline, stream) = replay.stream_checkpoint(&selection)?;
            Ok((replay, inline, stream))
        })?;
        batches
            .ready
            .extend(replay.adds.into_iter().map(|keyed| keyed.rows));
        batches.ready.extend(
            inline
                .map(|inline| without_data_change(inline.rows))
                .transpose()?,
        );
        batches.stream = stream;
        self.0.cache.keep_state(replay.state);
        Ok(Batches::new(schema, iter::from_fn(move || batches.pull())))
    }
}

/// Live files, batch by batch.
struct FileBatches {
    /// The columns to compute from cached rows.
    derived: Option<FileColumns>,
    snapshot: Snapshot,
    ready: VecDeque<RecordBatch>,
    stream: Option<Unordered<KeyedRows>>,
    /// Number and, if known, size of all files so far; `None` if a filter skips some.
    totals: Option<(u64, Option<u64>)>,
}

impl FileBatches {
    fn pull(&mut self) -> Option<Result<RecordBatch>> {
        let streamed = self.stream.as_mut().and_then(Iterator::next);
        let next = streamed
            .map(|next| next.and_then(|(_, keyed)| without_data_change(keyed.rows)))
            .or_else(|| self.ready.pop_front().map(Ok));
        let Some(next) = next else {
            let (files, size) = self.totals?;
            let total = self.snapshot.verify_totals(files, size);
            return total.err().map(|error| Err(self.snapshot.located(error)));
        };
        Some(next.and_then(|rows| {
            if let Some((files, size)) = &mut self.totals {
                *files += rows.num_rows() as u64;
                *size = size.zip(total_size(&rows)).map(|(sum, size)| sum + size);
            }
            match &self.derived {
                Some(columns) => columns.compute(&rows),
                None => Ok(rows),
            }
        }))
    }
}
