//! The tail of a segment: its commits and compacted files, read side by side and decoded into a few
//! large batches.

use std::sync::Arc;

use crate::codec::commit::{ActionBatch, ActionDecoder, Wanted};
use crate::error::Result;
use crate::log::TailFile;
use crate::log::commit::{WHOLE_FILE, decode_files};
use crate::storage::Storage;
use crate::storage::pool::ordered;

/// A run of files is closed at this many bytes or files.
const RUN_BYTES: u64 = 4 << 20;
const RUN_FILES: usize = 512;

/// Decodes the tail's files, oldest first, into batches in log order.
pub fn decode_tail(
    storage: &Arc<dyn Storage>,
    tail: &[TailFile],
    wanted: &Wanted,
) -> Result<Vec<ActionBatch>> {
    let runs = runs(tail);
    let storage = Arc::clone(storage);
    let wanted = wanted.clone();
    let look_ahead = runs.len().max(1);
    let mut batches = Vec::with_capacity(runs.len());
    for decoded in ordered(runs, look_ahead, move |run: Vec<TailFile>| {
        decode_run(&*storage, &run, &wanted)
    }) {
        batches.extend(decoded?);
    }
    Ok(batches)
}

/// The same on the caller's own thread alone.
pub fn decode_one_by_one(
    storage: &dyn Storage,
    tail: &[TailFile],
    wanted: &Wanted,
) -> Result<Vec<ActionBatch>> {
    let mut batches = Vec::new();
    for run in runs(tail) {
        batches.extend(decode_run(storage, &run, wanted)?);
    }
    Ok(batches)
}

fn decode_run(
    storage: &dyn Storage,
    run: &[TailFile],
    wanted: &Wanted,
) -> Result<Vec<ActionBatch>> {
    let mut decoder = ActionDecoder::new(wanted.clone());
    let files: Vec<_> = run.iter().map(|file| (&file.file, file.end)).collect();
    let mut batches = Vec::with_capacity(1);
    // a decoder takes a run of small files, or a large one, before it is full
    for files in files.chunk_by(|_, next| next.0.size <= WHOLE_FILE) {
        decode_files(storage, files, &mut decoder)?;
        if decoder.is_full() {
            batches.push(decoder.finish()?);
        }
    }
    batches.push(decoder.finish()?);
    Ok(batches)
}

fn runs(tail: &[TailFile]) -> Vec<Vec<TailFile>> {
    let mut runs: Vec<Vec<TailFile>> = Vec::new();
    let mut bytes = RUN_BYTES;
    for file in tail {
        if bytes >= RUN_BYTES || runs.last().is_none_or(|run| run.len() >= RUN_FILES) {
            runs.push(Vec::new());
            bytes = 0;
        }
        bytes = bytes.saturating_add(file.file.size);
        if let Some(run) = runs.last_mut() {
            run.push(file.clone());
        }
    }
    runs
}
