//! Measures what a checkpoint or a compacted file would save readers of this log.
//!
//! Both files are built in memory and overlaid on the table, invisible to other readers; then the newest
//! version is opened and its files are listed, with and without each of them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use serde::Serialize;

use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::derived::checkpoint::{CheckpointLayout, write_checkpoint};
use crate::derived::compaction::compact_log;
use crate::error::Result;
use crate::replay::Source;
use crate::snapshot::load::load;
use crate::storage::{FileMeta, Storage, slices};
use crate::table::{At, Table};

/// Each measurement is repeated this many times; the fastest counts.
const RUNS: usize = 3;

/// Measurements of the log as it is, and with files that would make it faster to read.
#[derive(Clone, Debug, Serialize)]
pub struct LogAdvice {
    /// The newest version.
    pub version: u64,
    /// The checkpoint that it is read from.
    pub checkpoint_version: Option<u64>,
    /// Commits after that checkpoint.
    pub num_commits: u64,
    /// Log files read after the checkpoint: fewer than the commits where there are compacted files.
    pub num_tail_files: u64,
    /// Total size of these files in bytes.
    pub tail_bytes: u64,
    /// Live files.
    pub num_files: u64,
    /// Seconds to open the version and list its files.
    pub seconds: f64,
    /// The gain from a checkpoint of this version; absent if there is one already.
    pub with_checkpoint: Option<Gain>,
    /// The gain from compacting the commits after the checkpoint; absent if there are fewer than two, or if
    /// they have no actions.
    pub with_compaction: Option<Gain>,
}

/// The gain from one additional log file.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    /// Seconds to open the version and list its files.
    pub seconds: f64,
    /// Seconds to create the file.
    pub seconds_to_make: f64,
    /// Its size in bytes.
    pub size_in_bytes: u64,
}

impl Table {
    /// Measures the gain of a checkpoint or of a compacted file on this log. Writes nothing to the table.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`]; the errors of reading the log.
    pub fn optimize_log(&self) -> Result<LogAdvice> {
        let snapshot = self.snapshot(At::Latest, None)?;
        let source = self.source();
        let version = snapshot.version();
        let segment = snapshot.segment();
        let checkpoint = segment.checkpoint.as_ref();
        let checkpoint_version = checkpoint.map(|checkpoint| checkpoint.version);
        let (seconds, num_files) = measure(source, version)?;
        let mut advice = LogAdvice {
            version,
            checkpoint_version,
            num_commits: segment.commits.len() as u64,
            num_tail_files: segment.tail.len() as u64,
            tail_bytes: segment.tail.iter().map(|file| file.file.size).sum(),
            num_files,
            seconds,
            with_checkpoint: None,
            with_compaction: None,
        };
        if checkpoint_version != Some(version) {
            let layout = CheckpointLayout::of(&snapshot);
            advice.with_checkpoint = Some(gain(source, version, |source| {
                Ok(write_checkpoint(source, &snapshot, layout)?.size_in_bytes)
            })?);
        }
        if let [first, .., last] = segment.commits.as_slice() {
            let compacted = gain(source, version, |source| {
                let written = compact_log(source, Some(first.version), Some(last.version))?;
                Ok(written.size_in_bytes)
            });
            advice.with_compaction = match compacted {
                // the commits have no actions
                Err(error) if error.code() == "compaction.range" => None,
                compacted => Some(compacted?),
            };
        }
        Ok(advice)
    }
}

fn gain(source: &Source, version: u64, write: impl FnOnce(&Source) -> Result<u64>) -> Result<Gain> {
    let overlaid = source.with_storage(Arc::new(Overlay {
        base: Arc::clone(&source.storage),
        written: Mutex::default(),
    }));
    let start = Instant::now();
    let size_in_bytes = write(&overlaid)?;
    let seconds_to_make = start.elapsed().as_secs_f64();
    Ok(Gain {
        seconds: measure(&overlaid, version)?.0,
        seconds_to_make,
        size_in_bytes,
    })
}

/// Opens a version and lists its files; returns the seconds this took and the number of files.
fn measure(source: &Source, version: u64) -> Result<(f64, u64)> {
    let mut fastest: Option<(f64, u64)> = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let snapshot = load(source, Some(version), false)?;
        let columns = FileColumns::fields_only(&[FileField::Path, FileField::Size]);
        let mut files = 0;
        for rows in snapshot.file_batches(source, columns, None)? {
            files += rows?.num_rows() as u64;
        }
        let seconds = start.elapsed().as_secs_f64();
        if fastest.is_none_or(|(least, _)| seconds < least) {
            fastest = Some((seconds, files));
        }
    }
    Ok(fastest.unwrap_or_default())
}

/// A storage with additional files in memory.
#[derive(Debug)]
struct Overlay {
    base: Arc<dyn Storage>,
    written: Mutex<BTreeMap<String, Bytes>>,
}

impl Overlay {
    fn overlaid(&self, path: &str) -> Option<Bytes> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.get(path).cloned()
    }

    fn insert(&self, path: &str, bytes: &[u8]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(path.to_owned(), Bytes::copy_from_slice(bytes));
    }
}

fn meta(path: &str, bytes: &Bytes) -> FileMeta {
    FileMeta {
        path: path.to_owned(),
        size: bytes.len() as u64,
        modification_time: 0,
        tag: 0,
    }
}

impl Storage for Overlay {
    fn root(&self) -> &str {
        self.base.root()
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        let mut files = self.base.list(directory, from)?;
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, bytes) in written.iter() {
            if let Some((above, name)) = path.rsplit_once('/')
                && above == directory
                && name >= from
            {
                files.retain(|file| file.path != *path);
                files.push(meta(path, bytes));
            }
        }
        files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        Ok(files)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.overlaid(path).map_or_else(|| self.base.read(path), Ok)
    }

    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        let read = || self.base.read_at_most(path, max_bytes);
        self.overlaid(path).map_or_else(read, Ok)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.overlaid(path) {
            Some(bytes) => slices(&bytes, ranges, path),
            None => self.base.read_ranges(path, ranges),
        }
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        let missing: Vec<&str> = paths
            .iter()
            .copied()
            .filter(|path| self.overlaid(path).is_none())
            .collect();
        let mut read = self.base.read_many(&missing).into_iter();
        let file = |path: &&str| match self.overlaid(path) {
            Some(bytes) => Ok(bytes),
            None => read.next().unwrap_or_else(|| self.base.read(path)),
        };
        paths.iter().map(file).collect()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        self.overlaid(path)
            .map_or_else(|| self.base.head(path), |bytes| Ok(meta(path, &bytes)))
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.insert(path, bytes);
        Ok(true)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.insert(path, bytes);
        Ok(())
    }
}
