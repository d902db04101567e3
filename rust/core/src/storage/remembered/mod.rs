//! An object store with a cache of the table's log: commits, checksums and checkpoints that this process
//! read or wrote are not requested again while listings show the same files, and can be fetched ahead.
//!
//! Data files are not cached, nor are log files that change: the hint is read each time.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::failures::{check_size, slices};
use super::file_bytes::joined;
use super::object::ahead::PendingRange;
use super::{FileMeta, Location, ObjectStorage, OnEnd, Request, Storage, now};
use crate::error::Result;

mod memory;

use memory::ranges::Ranges;
use memory::{CachedRange, Listed, Piece, Promise, TableKey, memory};

const LOG: &str = "_delta_log";
const SIDECARS: &str = "_delta_log/_sidecars";

/// Files of at most this many bytes are always fetched as a whole.
const WHOLE: u64 = 1 << 20;

/// Stores return pages of a thousand files; some files may have been added since.
const PAGE: usize = 950;

/// An object store with a cache.
pub struct Remembered {
    files: Arc<ObjectStorage>,
    table: Arc<TableKey>,
}

impl fmt::Debug for Remembered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(formatter)
    }
}

impl Remembered {
    /// Creates the store at `location`, as [`ObjectStorage::new`].
    pub(super) fn new(location: &Location, options: &[(String, String)]) -> Result<Self> {
        memory::read_budget();
        Ok(Self {
            files: Arc::new(ObjectStorage::new(location, options)?),
            table: Arc::new(TableKey::new(location.root(), options)),
        })
    }

    /// Starts to fetch log files that will be read, or ranges of them: readers share the response. Skips
    /// files that no listing has shown, and bytes that would not be cached.
    pub fn prefetch(&self, ranges: &[(String, Option<Range<u64>>)]) {
        self.prefetch_after(ranges, None);
    }

    /// Starts to fetch the same if a range was requested before a listing showed its file.
    pub fn prefetch_after(
        &self,
        ranges: &[(String, Option<Range<u64>>)],
        early: Option<&PendingRange>,
    ) {
        let lasting = ranges.iter().filter(|(path, _)| is_lasting(path));
        let mut lasting: Vec<_> = lasting.cloned().collect();
        lasting.sort_by(|(left, _), (right, _)| left.cmp(right)); // all of a file together
        let promises = match memory() {
            Some(mut memory) if !lasting.is_empty() => memory.promise(&self.table, &lasting),
            _ => return,
        };
        if promises.is_empty() {
            return;
        }
        let requests = promises.into_iter().map(|promise| {
            let (path, range) = (promise.path().to_owned(), promise.range());
            let early = early.and_then(|early| early.bytes(&path));
            (promise, path, range, early)
        });
        let keep = |promise: Promise, bytes, tag| promise.keep(bytes, tag);
        // what cannot be started now is requested when it is read
        let _unbegun = self.files.fetch_ahead(requests.collect(), keep);
    }

    /// Starts to fetch a range of a log file that no listing has shown yet, and that may not exist.
    /// Dropping the result cancels the request, unless [`Remembered::prefetch_after`] took it.
    pub fn fetch_early(&self, path: &str, range: Range<u64>) -> Option<PendingRange> {
        if !is_lasting(path) || !self.files.has_tags() || self.listed(path).is_some() {
            return None;
        }
        self.files.fetch_early(path, range).ok()
    }

    /// Returns the version at which the last listing for the newest version began, if this process has read
    /// the table.
    pub fn begin(&self) -> Option<u64> {
        memory()?.begin(&self.table)
    }

    /// Sets that version.
    pub fn set_begin(&self, version: u64) {
        if let Some(mut memory) = memory() {
            memory.set_begin(&self.table, version);
        }
    }

    /// Returns the known files of `_delta_log` from a name on, from listings and writes.
    pub fn files(&self, from: &str) -> Vec<FileMeta> {
        memory().map_or_else(Vec::new, |mut memory| {
            memory.files(&self.table, (LOG, from))
        })
    }

    /// Returns `true` if a whole file is cached.
    pub fn has(&self, path: &str) -> bool {
        let Some(listed) = self.listed(path) else {
            return false;
        };
        let known =
            memory().map(|mut memory| memory.find(&self.table, path, listed, &(0..listed.size)));
        matches!(known, Some(CachedRange::Here(_)))
    }

    /// Returns a file that never changes, as in the last listing.
    fn listed(&self, path: &str) -> Option<Listed> {
        if !is_lasting(path) {
            return None;
        }
        memory()?.file(&self.table, path)
    }

    /// Returns the known part of a range.
    fn look(&self, path: &str, listed: Listed, range: &Range<u64>) -> CachedRange {
        match memory() {
            Some(mut memory) => memory.find(&self.table, path, listed, range),
            None => CachedRange::Unknown,
        }
    }

    /// Returns the bytes of a range that is cached or pending.
    fn known(&self, path: &str, listed: Listed, range: &Range<u64>) -> Result<Option<Bytes>> {
        arrived(self.look(path, listed, range))
    }

    /// Reads whole files, and caches those that a listing has shown; other threads share the response.
    fn read_and_keep(&self, files: &[(&str, Option<Listed>)]) -> Vec<Result<Bytes>> {
        if files.is_empty() {
            return Vec::new();
        }
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        let listed = files.iter().filter(|(_, listed)| listed.is_some());
        let mut promises = self.promise(listed.map(|(path, _)| *path));
        let read = self.files.read_many(&paths);
        for ((path, listed), bytes) in files.iter().zip(&read) {
            if let (Some(listed), Ok(bytes)) = (listed, bytes) {
                self.keep(path, *listed, promises.remove(*path), bytes);
            }
        }
        read
    }

    /// Creates promises for whole files, by path.
    fn promise<'a>(&self, paths: impl Iterator<Item = &'a str>) -> HashMap<String, Promise> {
        let files: Vec<_> = paths.map(|path| (path.to_owned(), None)).collect();
        let promises = memory().map(|mut memory| memory.promise(&self.table, &files));
        let promises = promises.into_iter().flatten();
        promises
            .map(|promise| (promise.path().to_owned(), promise))
            .collect()
    }

    /// Caches a whole file.
    fn keep(&self, path: &str, listed: Listed, promise: Option<Promise>, bytes: &Bytes) {
        match promise {
            Some(promise) => promise.keep(bytes.clone(), listed.tag),
            None => self.keep_range(path, listed, &(0..listed.size), bytes),
        }
    }

    fn keep_range(&self, path: &str, listed: Listed, range: &Range<u64>, bytes: &Bytes) {
        if bytes.len() as u64 == range.end - range.start
            && let Some(mut memory) = memory()
        {
            memory.keep(&self.table, path, listed, range, bytes);
        }
    }

    /// Reads ranges of a file, fetching and caching the missing parts; `None` if a pending request failed.
    fn read_known(
        &self,
        path: &str,
        listed: Listed,
        ranges: &[Range<u64>],
    ) -> Result<Option<Vec<Bytes>>> {
        let Some(mut memory_of) = memory() else {
            return Ok(None);
        };
        let Ranges { pieces, missing } = memory_of.ranges(&self.table, path, listed, ranges);
        let promise =
            |range: &Range<u64>| memory_of.promise_range(&self.table, path, listed, range.clone());
        let promises: Vec<Promise> = missing.iter().map(promise).collect();
        drop(memory_of);
        let fetched = match missing.is_empty() {
            true => Vec::new(),
            false => self.files.read_apart(path, &missing)?,
        };
        let mut parts: Vec<(u64, Bytes)> = Vec::with_capacity(pieces.len() + fetched.len());
        for ((range, bytes), promise) in missing.iter().zip(fetched).zip(promises) {
            promise.keep(bytes.clone(), listed.tag);
            parts.push((range.start, bytes));
        }
        for (range, piece) in pieces {
            let bytes = match piece {
                Piece::Here(bytes) => Some(bytes),
                Piece::PendingBytes(coming) => coming.wait()?,
            };
            match bytes {
                Some(bytes) => parts.push((range.start, bytes)),
                None => return Ok(None),
            }
        }
        parts.sort_by_key(|(start, _)| *start);
        let parts = ranges.iter().map(|range| joined(&parts, range, path));
        Ok(parts.collect::<Result<_>>().ok())
    }

    fn forget(&self, path: &str) {
        if let Some(mut memory) = memory() {
            memory.forget(&self.table, path);
        }
    }

    /// Returns file names at which to divide a listing, so that each part is about one page.
    fn page_ends(&self, directory: &str, from: &str) -> Vec<String> {
        if directory != LOG {
            return Vec::new();
        }
        let known = memory().map(|mut memory| memory.files(&self.table, (LOG, from)));
        let known = known.unwrap_or_default();
        if known.len() <= PAGE {
            return Vec::new();
        }
        let names = known.iter().filter_map(|file| file.path.strip_prefix(LOG));
        let mut names: Vec<&str> = names.map(|name| name.trim_start_matches('/')).collect();
        names.sort_unstable();
        let ends = names.chunks_exact(PAGE).filter_map(<[&str]>::last);
        ends.map(|name| (*name).to_owned()).collect()
    }

    /// Creates a file unless it exists, and caches it.
    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let bytes = Bytes::copy_from_slice(bytes);
        let created = self.files.create(path, bytes.clone())?;
        let Some(tag) = created else {
            return Ok(false);
        };
        if tag != 0
            && is_lasting(path)
            && let Some(mut memory) = memory()
        {
            let size = bytes.len() as u64;
            let modification_time = now();
            let listed = Listed {
                tag,
                size,
                modification_time,
            };
            memory.keep_created(&self.table, path, listed, &bytes);
        }
        Ok(true)
    }
}

/// Waits for the bytes; `None` if the caller has to request them.
fn arrived(known: CachedRange) -> Result<Option<Bytes>> {
    match known {
        CachedRange::Here(bytes) => Ok(Some(bytes)),
        CachedRange::PendingBytes(coming, part) => {
            let bytes = coming.wait()?;
            Ok(bytes
                .filter(|bytes| part.end <= bytes.len())
                .map(|bytes| bytes.slice(part)))
        }
        CachedRange::Unknown => Ok(None),
    }
}

/// Returns `true` for the path of a file that never changes: a version of the log, or a sidecar.
fn is_lasting(path: &str) -> bool {
    let Some(name) = path
        .strip_prefix(LOG)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return false;
    };
    name.starts_with(|first: char| first.is_ascii_digit()) || path.starts_with(SIDECARS)
}

impl Storage for Remembered {
    fn root(&self) -> &str {
        self.files.root()
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        let directory = directory.trim_end_matches('/');
        let ends = self.page_ends(directory, from);
        let files = self.files.list_divided(directory, from, &ends)?;
        if (directory == LOG || directory == SIDECARS)
            && let Some(mut memory) = memory()
        {
            memory.listed(&self.table, (directory, from), &files);
        }
        Ok(files)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_at_most(path, u64::MAX)
    }

    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        let listed = self.listed(path);
        if let Some(listed) = listed
            && let Some(bytes) = self.known(path, listed, &(0..listed.size))?
        {
            check_size(path, listed.size, max_bytes)?;
            return Ok(bytes);
        }
        let mut promises = self.promise(listed.map(|_| path).into_iter());
        let bytes = self.files.read_at_most(path, max_bytes)?;
        if let Some(listed) = listed {
            self.keep(path, listed, promises.remove(path), &bytes);
        }
        Ok(bytes)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Some(listed) = self.listed(path) else {
            return self.files.read_ranges(path, ranges);
        };
        if ranges
            .iter()
            .any(|range| range.start > range.end || range.end > listed.size)
        {
            return self.files.read_ranges(path, ranges);
        }
        if listed.size <= WHOLE.min(memory::budget() as u64 / 4) {
            let bytes = self.read(path)?;
            return slices(&bytes, ranges, path).or_else(|_| self.files.read_ranges(path, ranges));
        }
        match self.read_known(path, listed, ranges)? {
            Some(parts) => Ok(parts),
            None => self.files.read_ranges(path, ranges),
        }
    }

    fn max_requests(&self) -> Option<usize> {
        self.files.max_requests()
    }

    fn begin_read(&self, path: &str, ranges: &[Range<u64>], ended: OnEnd) -> Request {
        if is_lasting(path) {
            // some of it may be cached
            let request = Request::ready(self.read_ranges(path, ranges));
            ended();
            return request;
        }
        self.files.begin_read(path, ranges, ended)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        let mut unknown = Vec::new();
        let looked: Vec<CachedRange> = paths
            .iter()
            .map(|path| {
                let listed = self.listed(path);
                let known = match listed {
                    Some(listed) => self.look(path, listed, &(0..listed.size)),
                    None => CachedRange::Unknown,
                };
                if matches!(known, CachedRange::Unknown) {
                    unknown.push((*path, listed));
                }
                known
            })
            .collect();
        // while other requests are pending
        let mut read = self.read_and_keep(&unknown).into_iter();
        let mut lost = Vec::new();
        let reads: Vec<Option<Result<Bytes>>> = looked
            .into_iter()
            .zip(paths)
            .map(|(known, path)| {
                if matches!(known, CachedRange::Unknown) {
                    return read.next();
                }
                let known_bytes = arrived(known).transpose();
                if known_bytes.is_none() {
                    lost.push((*path, self.listed(path)));
                }
                known_bytes
            })
            .collect();
        let mut read = self.read_and_keep(&lost).into_iter();
        let all = reads.into_iter();
        all.filter_map(|read_result| read_result.or_else(|| read.next()))
            .collect()
    }

    fn memory(&self) -> Option<&Remembered> {
        (memory::budget() > 0).then_some(self)
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        self.files.head(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.put_new(path, bytes)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.forget(path);
        self.files.put(path, bytes)
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        self.files.list_below(directory, enter)
    }

    fn copy(&self, from: &str, to: &str) -> Result<bool> {
        self.forget(to);
        self.files.copy(from, to)
    }

    fn put_pieces(
        &self,
        path: &str,
        pieces: &mut dyn FnMut() -> Result<Option<Bytes>>,
    ) -> Result<bool> {
        self.forget(path);
        self.files.put_pieces(path, pieces)
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        paths.iter().for_each(|path| self.forget(path));
        self.files.delete(paths)
    }
}
