//! The tail of a segment: its commits and compacted files, read in parallel and decoded into a few large
//! batches.

use std::sync::Arc;

use crate::codec::commit::{ActionBatch, ActionDecoder, ActionSelection};
use crate::error::Result;
use crate::log::TailFile;
use crate::log::commit::decode_files;
use crate::spec::file_size::group_by_size;
use crate::storage::Storage;
use crate::storage::pool::ordered;

/// The maximum size of a run of several files in bytes; a file counts as at least [`MIN_BYTES`].
const RUN_BYTES: u64 = 4 << 20;
const MIN_BYTES: u64 = RUN_BYTES / 512;

/// Decodes the tail's files, oldest first, into batches in log order.
pub fn decode_tail(
    storage: &Arc<dyn Storage>,
    tail: &[TailFile],
    selection: &ActionSelection,
) -> Result<Vec<ActionBatch>> {
    let runs = runs_of(tail);
    let storage = Arc::clone(storage);
    let selection = selection.clone();
    let look_ahead = runs.len().max(1);
    let batches = ordered(runs, look_ahead, move |run: Vec<TailFile>| {
        decode_run(&*storage, &run, &selection)
    });
    batches.collect()
}

/// Decodes the same batches as [`decode_tail`], in the calling thread.
pub fn decode_tail_sequentially(
    storage: &dyn Storage,
    tail: &[TailFile],
    selection: &ActionSelection,
) -> Result<Vec<ActionBatch>> {
    let runs = runs_of(tail).into_iter();
    runs.map(|run| decode_run(storage, &run, selection))
        .collect()
}

fn decode_run(
    storage: &dyn Storage,
    run: &[TailFile],
    selection: &ActionSelection,
) -> Result<ActionBatch> {
    let mut decoder = ActionDecoder::new(selection.clone());
    let files: Vec<_> = run.iter().map(|file| (&file.file, file.end)).collect();
    decode_files(storage, &files, &mut decoder)?;
    decoder.finish()
}

/// Groups the files into runs; a file larger than [`RUN_BYTES`] is a run of its own.
fn runs_of(tail: &[TailFile]) -> Vec<Vec<TailFile>> {
    let size = |file: &TailFile| file.file.size.max(MIN_BYTES);
    group_by_size(tail.iter().cloned(), RUN_BYTES, size)
}
